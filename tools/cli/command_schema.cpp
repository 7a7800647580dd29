// tenon schema: the JSON Schema of configs, with what is installed, for editors.
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>

#include "commands.hpp"
#include "json.hpp"

namespace cli {

int print_schema(const SchemaOptions& options) {
  if (!options.config.empty())
    tenon::apply_config_lazily(tenon::training::read_config(options.config));
  print_json(tenon::training::config_schema(!options.open));
  return kFine;
}

}  // namespace cli
