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

int list_ops(const ListOptions& options) {
  const tenon::Json ops = tenon::listing::ops(options.name);
  if (ops.size() == 0 && !options.name.empty()) {
    std::vector<std::string> known;
    const tenon::Json all = tenon::listing::ops();
    for (int64_t i = 0; i < all.size(); ++i) {
      const std::string name = all[i]["namespace"].text();
      if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
        known.push_back(name);
      }
    }
    throw tenon::ValueError(format_text("no namespace is named '{}'{}; there are {} and the root",
                                        options.name, tenon::suggestion(options.name, known),
                                        join(known, ", ")));
  }
  if (options.names_only) {
    std::string last;
    for (int64_t i = 0; i < ops.size(); ++i) {
      const std::string name = ops[i]["name"].text();
      if (name != last) print(format_text("{}\n", name));
      last = name;
    }
    return kFine;
  }
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
