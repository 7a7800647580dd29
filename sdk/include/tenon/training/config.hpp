// The sections of a config that a training reads: data, split, model, loss, metrics, optimizer,
// training, output. The host checks their keys, the schemas of ops and modules what these take.
#pragma once

#include <string>
#include <vector>

#include "tenon/training/dataset.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// Reads and checks a config with these sections; every fault is in the one error, with its place.
// Runs no plugin code.
Json read_config(const std::string& path);

// JSON Schema of such configs, for editors. `installed`: with the ops and modules of all plugins
// that are found, and their arguments.
Json config_schema(bool installed);

// A plugin that a training needs, and what for.
struct Purpose {
  std::string plugin, what;
};
struct Layer {
  std::string name, type, attributes, plugin;
  int depth = 0;
};

// What a training by a config that has been applied would use, and everything that is wrong with it
// as far as files and plugin facts show. Runs no plugin code.
struct Outline {
  std::vector<Purpose> purposes;
  std::vector<Layer> layers;
  DataOutline data;
  std::string reader;  // the op that reads the data
  std::vector<std::string> faults;
};
enum class DataFiles { read, skip };
Outline outline(const Json& config, DataFiles files = DataFiles::read);

// ConfigError with all faults of the outline, data files left out: a run reads them itself.
void require_sound(const Json& config);

// Why a run must not write this file: it is the config, or a file that the config reads; empty: it
// may.
std::string overwrite_fault(const Json& config, const std::string& path);
// Why the file cannot be a plot; empty: it can.
std::string plot_fault(const std::string& path);

// The keys that a config needs to be run, and has not: "\"data\", no \"model\"".
std::string missing_keys(const Json& config, bool training);

}  // namespace training

TENON_NAMESPACE_END
