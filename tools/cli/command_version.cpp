// tenon version: of the program, the runtime and the boundary, and how the runtime is set up.
#include <tenon/abi/version.h>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"

namespace cli {

namespace {

struct VersionOptions {
  bool json = false;
};

int print_version(const VersionOptions& options) {
  const tenon::Json runtime = tenon::listing::runtime();
  if (options.json) {
    print_json(runtime);
    return kFine;
  }
  print(format_text("tenon {}\n", runtime["version"].text()));
  Table table = Table::of_facts();
  table.add(
      {"boundary", format_text("{}.{}", runtime["abi"][0].integer(), runtime["abi"][1].integer())});
  table.add({"instructions", runtime["isa"].text()});
  table.add({"threads", std::to_string(runtime["threads"].integer())});
  const tenon::Json folders = runtime["folders"];
  for (int64_t i = 0; i < folders.size(); ++i) {
    table.add({i == 0 ? "plugin folders" : "",
               format_text("{} ({})", folders[i]["path"].text(), folders[i]["origin"].text())});
  }
  print(table.text());
  return kFine;
}

}  // namespace

void define_version(Commands& commands) {
  auto [command, options] =
      commands.add(print_version, "version", "Print versions, and how the runtime is set up",
                   "  tenon version --json");
  command.json(options.json);
}

}  // namespace cli
