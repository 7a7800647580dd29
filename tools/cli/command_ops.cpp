// tenon ops: every op that a plugin declares, or those of one namespace.
#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "listing.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

struct OpsOptions {
  std::string name;         // namespace; empty: all
  bool names_only = false;  // for completion
  bool json = false;
};

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

int list_ops(const OpsOptions& options) {
  if (options.names_only) {
    const std::vector<std::string> names = tenon::listing::op_names(options.name);
    if (names.empty() && !options.name.empty()) refuse_namespace(options.name);
    for (const std::string& name : names) print(format_text("{}\n", name));
    return kFine;
  }
  const tenon::Json ops = tenon::listing::ops(options.name);
  if (ops.size() == 0 && !options.name.empty()) refuse_namespace(options.name);
  print_listing(ops,
                {{"OP", member("name")},
                 {"SIGNATURE", member("signature"), Align::left, true},
                 {"PLUGIN", member("provider")},
                 {"GRADIENT", gradient_text}},
                "no plugin declares an op; see `tenon plugins`\n", options.json);
  return kFine;
}

}  // namespace

void define_ops(Commands& commands) {
  auto [command, options] =
      commands.add(list_ops, "ops", "List every op: signature, provider, differentiability",
                   "  tenon ops\n"
                   "  tenon ops nn.functional\n"
                   "  tenon ops --json");
  command.optional_argument(options.name, "NAMESPACE", "Only the ops of this namespace");
  command.flag("--names", options.names_only, "");
  command.json(options.json);
}

}  // namespace cli
