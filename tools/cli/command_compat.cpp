// tenon compat: what callers of one build of a plugin would notice of another.
#include <tenon/listing/compatibility.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "listing.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

struct CompatOptions {
  std::string before, now;  // plugins, by id or by file
  bool json = false;
};

std::string plugin_text(const Json& plugin) {
  return format_text("{} {}", plugin["id"].text(), plugin["version"].text());
}

Cell effect_cell(const Json& change) {
  return change["breaks"].as_bool() ? Cell("breaks", Style::red) : Cell("adds", Style::green);
}

int compare_plugins(const CompatOptions& options) {
  const Json found = tenon::listing::compatibility(options.before, options.now);
  const bool breaks = found["breaks"].as_bool();
  const int code = breaks ? kFault : kFine;
  if (options.json) {
    print_json(found);
    return code;
  }
  const Json changes = found["changes"];
  int64_t broken = 0;
  for (int64_t i = 0; i < changes.size(); ++i) broken += changes[i]["breaks"].as_bool() ? 1 : 0;
  print(format_text("{} -> {}: ", plugin_text(found["old"]), plugin_text(found["new"])));
  if (changes.size() > 0)
    print(format_text("{}, {}\n\n", breaks ? counted(broken, "break") : "nothing breaks",
                      counted(changes.size() - broken, "addition")));
  print_rows(changes,
             {{"", effect_cell},
              {"KIND", member("kind")},
              {"NAME", member("name")},
              {"CHANGE", member("what"), Align::left, true}},
             "callers notice nothing\n");
  if (breaks && !found["version_allows"].as_bool()) {
    print_fitted(
        format_text("\nVersion {} promises callers of {} that nothing breaks: raise the first "
                    "number, or below 1.0.0 the second.\n",
                    found["new"]["version"].text(), found["old"]["version"].text()));
  }
  return code;
}

}  // namespace

void define_compat(Commands& commands) {
  auto [command, options] = commands.add(
      compare_plugins, "compat",
      "Print what callers of one build of a plugin would notice of another",
      "  tenon compat old/hello.so build/hello.so\n"
      "  tenon compat hello build/hello.so --json\n"
      "Ends with 1 when something breaks: an op, a parameter, a default or a gradient that is "
      "gone or another one. Declarations are compared; no code of the plugins runs.");
  command.argument(options.before, "OLD", "The old plugin, by id or by its file");
  command.argument(options.now, "NEW", "The new one");
  command.json(options.json);
}

}  // namespace cli
