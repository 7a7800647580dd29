// tenon modules: every module type that a config can build a model of.
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "json.hpp"
#include "table.hpp"

namespace cli {

int list_modules(const ListOptions& options) {
  const tenon::Json modules = tenon::listing::modules();
  if (options.json) {
    print_json(modules);
    return kFine;
  }
  Table table({{"MODULE"}, {"ATTRIBUTES", Align::left, true}, {"PLUGIN"}});
  for (int64_t i = 0; i < modules.size(); ++i) {
    table.add(
        {modules[i]["name"].text(), modules[i]["signature"].text(), modules[i]["provider"].text()});
  }
  print(table.empty() ? "no plugin declares a module; see `tenon plugins`\n" : table.text());
  return kFine;
}

}  // namespace cli
