// The sections of a config that a training reads, as structs. They are filled once, from a document
// that training::read_config has checked; nothing else reads a key of it or has a default.
//
// Each struct keeps its `section`, for places in messages and for the arguments of ops. A struct is
// made of its section where one is expected: load_dataset(config["data"], config["split"]).
// ValueError for a section whose defaults were not filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct DataConfig {                 // the section "data"
  DataConfig(const Json& section);  // a section that was checked
  // This section with another file.
  DataConfig with_path(const Json& path) const;

  Json section;                // with the arguments of the reader
  Json path_node;              // undefined: the reader needs none
  std::string type, path;      // type: the op that reads; empty: it follows from the path
  double scale = 1;            // samples are multiplied by it
  std::vector<int64_t> shape;  // of one sample; empty: as it is read
  bool normalize = false;      // by mean and deviation
};

struct SplitConfig {  // the section "split"
  // Undefined: all samples are for training, in the order of the file.
  SplitConfig(const Json& section);

  Json section;                              // undefined: none
  double test = 0, validation = 0;           // fractions of the samples of the data's own file
  Json test_path, validation_path;           // undefined: none
  bool stratified = false, shuffle = false;  // by class; in random order
};

// One input that a model is called with.
struct InputConfig {
  explicit InputConfig(const Json& section);  // an element of "inputs"

  Json section;                // as it was read
  std::vector<int64_t> shape;  // without the dimension of the batch
  Json dtype;                  // undefined: f32
};

struct MonitorConfig {                          // the key "monitor"
  explicit MonitorConfig(const Json& section);  // a section that was checked

  Json section;                              // as it was read
  Json metric;                               // "loss" or the name of one
  bool maximize = false, keep_best = false;  // higher is better; restore the best weights
  int64_t patience = 0;                      // 0: never stops
  double minimum_change = 0;                 // least improvement that counts
};

// "training".
struct LoopConfig {
  explicit LoopConfig(const Json& section);  // a section that was checked

  Json section;                                    // as it was read
  int64_t epochs = 0, batch_size = 0;              // from 1
  bool drop_last = false;                          // no batch that is smaller than the others
  Json sampler;                                    // an op; undefined: shuffled for each epoch
  std::vector<Json> schedules, clips, transforms;  // ops
  std::optional<MonitorConfig> monitor;            // none: no monitor
  int64_t checkpoint_epochs = 0;                   // 0: checkpoints follow minutes alone
  double checkpoint_minutes = 0;                   // 0: they follow epochs alone
  bool detect_anomaly = false;                     // ends at the first NaN
  std::string device;                              // empty: plain memory
  Json device_node;                                // its place in the config
};

struct DistributedConfig {  // the section "distributed"
  // Undefined: one rank.
  DistributedConfig(const Json& section);

  Json section;               // undefined: one rank
  std::string engine, check;  // name of the engine; what ranks compare
  int64_t bucket_bytes = 0;   // size of the gradients that are sent together
  double timeout = 0;         // in seconds
  bool deterministic = false, shard_optimizer = false;  // sums in a fixed order; shared states
  int64_t parts = 0;                                    // parts of a batch; 0: not deterministic
};

struct OutputConfig {                          // the section "output"
  explicit OutputConfig(const Json& section);  // a section that was checked

  Json section;                                         // as it was read
  std::string weights, plot, history, log, checkpoint;  // paths; empty: not written
};

struct TrainingConfig {  // a whole config
  // From a document that read_config returned; sections that are missing are undefined or empty.
  TrainingConfig(const Json& document);

  Json document;                             // as it was read
  uint64_t seed = 0;                         // seed of the random generator
  int32_t threads = 0;                       // 0: all
  std::string lock_file;                     // "frozen"; empty: none
  DataConfig data;                           // section "data"
  SplitConfig split;                         // section "split"
  Json model;                                // undefined: none
  std::vector<InputConfig> inputs;           // names and dtypes
  Json loss;                                 // undefined: none
  std::optional<std::vector<Json>> metrics;  // ops; none: the accuracy where labels are classes
  Json optimizer;                            // undefined: none
  std::optional<LoopConfig> training;        // none: the model is only evaluated
  DistributedConfig distributed;             // section "distributed"
  OutputConfig output;                       // section "output"
};

// The ops of a section that is one op, a list of them, or undefined.
std::vector<Json> section_list(const Json& section);

}  // namespace training

TENON_NAMESPACE_END
