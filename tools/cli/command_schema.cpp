// tenon schema: the JSON Schema of configs, with what is installed, for editors.
#include <tenon/config/config.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>

#include "commands.hpp"
#include "json.hpp"

namespace cli {

namespace {

struct SchemaOptions {
  std::string config;  // whose plugins are installed as well; empty: none
  bool open = false;   // without the ops and modules that are installed
};

int print_schema(const SchemaOptions& options) {
  if (!options.config.empty())
    tenon::config::apply(tenon::training::read_config(options.config), tenon::EagerPlugins::wait);
  print_json(tenon::training::config_schema(!options.open));
  return kFine;
}

}  // namespace

void define_schema(Commands& commands) {
  auto [command, options] = commands.add(
      print_schema, "schema",
      "Print the JSON Schema of configs with the ops and modules that are installed, for editors",
      "  tenon schema > config.schema.json\n"
      "  tenon schema digits.json    # with the plugins that this config names\n"
      "A config that begins with \"$schema\": \"config.schema.json\" is completed and checked.");
  command.optional_argument(options.config, "CONFIG",
                            "A config whose plugins are installed as well");
  command.flag("--open", options.open, "Without what is installed");
}

}  // namespace cli
