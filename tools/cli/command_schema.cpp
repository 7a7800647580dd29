// tenon schema: the JSON Schema of configs, with what is installed, for editors.
#include <tenon/config/config.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>

#include "commands.hpp"
#include "json.hpp"

namespace cli {

int print_schema(const SchemaOptions& options) {
  if (!options.config.empty())
    tenon::config::apply(tenon::training::read_config(options.config), tenon::EagerPlugins::wait);
  print_json(tenon::training::config_schema(!options.open));
  return kFine;
}

}  // namespace cli
