// tenon ops: every op that a plugin declares, or those of one namespace.
#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

[[noreturn]] void refuse_namespace(const std::string& name) {
  std::vector<std::string> known;
  const tenon::Json all = tenon::listing::ops();
  for (int64_t i = 0; i < all.size(); ++i) {
    const std::string known_name = all[i]["namespace"].text();
    if (!known_name.empty() && std::find(known.begin(), known.end(), known_name) == known.end())
      known.push_back(known_name);
  }
  throw tenon::ValueError(format_text("no namespace is named '{}'{}; there are {} and the root",
                                      name, tenon::suggestion(name, known), join(known, ", ")));
}

}  // namespace

int list_ops(const ListOptions& options) {
  if (options.names_only) {
    const std::vector<std::string> names = tenon::listing::op_names(options.name);
    if (names.empty() && !options.name.empty()) refuse_namespace(options.name);
    for (const std::string& name : names) print(format_text("{}\n", name));
    return kFine;
  }
  const tenon::Json ops = tenon::listing::ops(options.name);
  if (ops.size() == 0 && !options.name.empty()) refuse_namespace(options.name);
  if (options.json) {
    print_json(ops);
    return kFine;
  }
  Table table({{"OP"}, {"SIGNATURE", Align::left, true}, {"PLUGIN"}, {"GRADIENT"}});
  for (int64_t i = 0; i < ops.size(); ++i) {
    table.add({ops[i]["name"].text(), ops[i]["signature"].text(), ops[i]["provider"].text(),
               gradient_text(ops[i])});
  }
  print(table.empty() ? "no plugin declares an op; see `tenon plugins`\n" : table.text());
  return kFine;
}

}  // namespace cli
