// tenon version: of the program, the runtime and the boundary, and how the runtime is set up; tenon --version --json:
// what an installation has inside.
#include <tenon/abi/version.h>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/trust/sha256.hpp>

#include "commands.hpp"
#include "commit.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"

namespace cli {

namespace {

struct VersionOptions {
  bool json = false;
};

// The compiler that made this program, in the words of the facts of plugins.
std::string compiler_text() {
#if defined(__clang__)
  return format_text("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return format_text("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

tenon::Json plugins_inside() {
  tenon::JsonArray list;
  const tenon::Json plugins = tenon::listing::plugins();
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const tenon::Json plugin = plugins[i];
    const std::string path = plugin["path"].text();
    std::string hash;
    try {
      hash = tenon::trust::sha256_file(path);
    } catch (const tenon::Error&) {  // refused because it cannot be read, for example
    }
    list.add(tenon::JsonObject()
                 .set("id", plugin["id"].text())
                 .set("version", plugin["version"].text())
                 .set("state", plugin["state"].text())
                 .set("path", path)
                 .set("sha256", text_or_null(hash))
                 .json());
  }
  return list.json();
}

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

void print_inside() {
  const tenon::Json runtime = tenon::listing::runtime();
  print_json(tenon::JsonObject()
                 .set("version", runtime["version"].text())
                 .set("boundary", runtime["abi"])
                 .set("compiler", compiler_text())
                 .set("commit", text_or_null(TENON_COMMIT))
                 .set("instructions", runtime["isa"].text())
                 .set("plugins", plugins_inside()));
}

void define_version(Commands& commands) {
  auto [command, options] =
      commands.add(print_version, "version", "Print versions, and how the runtime is set up",
                   "  tenon version --json");
  command.json(options.json);
}

}  // namespace cli
