// The sections of a config that a training reads: data, split, model, loss, metrics, optimizer,
// training, output. The host checks their keys, the schemas of ops and modules what these take.
#pragma once

#include <string>
#include <vector>

#include "tenon/training/dataset.hpp"
#include "tenon/training/declared_type.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// Reads and checks a config with these sections; every fault is in the one error, with its place.
// Runs no plugin code. Installs the load guard of tenon::trust, unless the process has one: configs may
// pin and restrict plugins. For the file of a model, the config that has this model alone.
Json read_config(const std::string& path);
// Whether a path is that of a model, whose format a plugin declares (state/model_format.hpp), and not of a
// config. ValueError for a binary file that no plugin opens.
bool is_model_file(const std::string& path);

// JSON Schema of such configs, for editors. `installed`: with the ops and modules of all plugins
// that are found, and their arguments.
Json config_schema(bool installed);

// An installed op or module that a section of a config may name; a config may name others as well.
struct ConfigChoice {
  std::vector<std::string> names;        // values that "type" may have, the shortest first
  std::string plugin, schema, doc;       // doc: of the provider that a call takes
  std::vector<DeclaredType> parameters;  // parameters that are keys of the section
};
// Choices for a definition of the schema: "data", "module", "loss", "metric", "optimizer",
// "schedule", "clip", "sampler", "transform"; none for any other. From plugin facts: runs no plugin code.
std::vector<ConfigChoice> config_choices(const std::string& definition);

// A plugin that a training needs, and what for.
struct Purpose {
  std::string plugin, what;  // id, and what it is used for
};
struct Layer {                                 // a module of the model
  std::string name, type, attributes, plugin;  // as texts
  int depth = 0;                               // 0: the model
};

// Everything that a training by an applied config would use, and everything that is wrong with it
// as far as plugin facts show, and the data where they are read. Only the reader's code runs, and
// only then.
struct Outline {
  std::vector<Purpose> purposes;    // why plugins are loaded
  std::vector<Layer> layers;        // parents first
  DataOutline data;                 // shapes of samples
  int64_t data_bytes = 0;           // size of its file
  std::string reader;               // the op that reads the data
  std::vector<std::string> faults;  // messages; empty: none
};
enum class DataFiles { read, skip };  // whether files of data are read
// Plugins, layers and shapes of a config. Trains nothing.
Outline outline(const TrainingConfig& config, DataFiles files = DataFiles::read);

// ConfigError with all faults of the outline, data files left out: a run reads them itself.
void require_sound(const TrainingConfig& config);

// Why a run must not write this file: it is the config, or a file that the config reads; empty: it
// may.
std::string overwrite_fault(const TrainingConfig& config, const std::string& path);

// The keys that a config needs to be run, and has not: "\"data\", no \"model\"".
std::string missing_keys(const TrainingConfig& config, bool training);

}  // namespace training

TENON_NAMESPACE_END
