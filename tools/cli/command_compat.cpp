// tenon compat: what callers of one build of a plugin would notice of another.
#include <tenon/listing/compatibility.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

std::string plugin_text(const Json& plugin) {
  return format_text("{} {}", plugin["id"].text(), plugin["version"].text());
}

}  // namespace

int compare_plugins(const CompatOptions& options) {
  const Json found = tenon::listing::compatibility(options.before, options.now);
  const bool breaks = found["breaks"].as_bool();
  const int code = breaks ? kFault : kFine;
  if (options.json) {
    print_json(found);
    return code;
  }
  const Json changes = found["changes"];
  Table table({{""}, {"KIND"}, {"NAME"}, {"CHANGE", Align::left, true}});
  int64_t broken = 0;
  for (int64_t i = 0; i < changes.size(); ++i) {
    const Json change = changes[i];
    const bool one = change["breaks"].as_bool();
    broken += one ? 1 : 0;
    table.add({{one ? "breaks" : "adds", one ? Style::red : Style::green},
               change["kind"].text(),
               change["name"].text(),
               change["what"].text()});
  }
  print(format_text("{} -> {}: ", plugin_text(found["old"]), plugin_text(found["new"])));
  if (table.empty()) {
    print("callers notice nothing\n");
    return code;
  }
  print(format_text("{}, {}\n\n{}", breaks ? counted(broken, "break") : "nothing breaks",
                    counted(changes.size() - broken, "addition"), table.text()));
  if (breaks && !found["version_allows"].as_bool()) {
    print(
        format_text("\nVersion {} promises callers of {} that nothing breaks: raise the first "
                    "number, or below 1.0.0 the second.\n",
                    found["new"]["version"].text(), found["old"]["version"].text()));
  }
  return code;
}

}  // namespace cli
