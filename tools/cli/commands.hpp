// The commands: what each is asked with, and the function that does it and returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/options.hpp"
#include "exit_code.hpp"

namespace cli {

struct RunOptions {
  std::string config;
  std::string evaluate;  // weights to evaluate instead of training
  std::string plot;
  std::string log;
  std::optional<int64_t> epochs;
  std::optional<uint64_t> seed;
  int threads = 0;  // 0: what the config says
  bool resume = false;
  bool frozen = false;  // refuse what differs from the lock file
  bool watch = false;   // reload plugins that are built again
  bool detect_anomaly = false;
  bool quiet = false;
  bool json = false;
};

struct PredictOptions {
  std::string config, data;
  std::string weights;  // empty: those of the config's output
  std::string output;   // .csv, .npy or .json
  bool frozen = false;
};

struct SchemaOptions {
  std::string config;  // whose plugins are installed as well; empty: none
  bool open = false;   // without the ops and modules that are installed
};

struct PlanOptions {
  std::string config;
  bool shapes = true;      // calls the model with shapes, which runs plugin code
  bool providers = false;  // lists the plugin that each op of these calls would get
  bool frozen = false;
  bool json = false;
};

struct TuneOptions {
  std::string config;
  int64_t steps = 10;     // training steps that are recorded
  int64_t rounds = 5;     // in which providers take turns
  double least_gain = 5;  // percent of the time that a rule has to save
  std::string clock;      // an op whose result is the time; empty: the process's clock
  int threads = 0;        // 0: what the config says
  bool write = false;     // change the config; else the change is printed
  bool quiet = false;
  bool json = false;
};

// A listing, of everything or of what a name chooses.
struct ListOptions {
  std::string name;
  int64_t first = 0;        // only so many; 0: all
  bool names_only = false;  // for completion
  bool json = false;
};

struct PluginsOptions {
  std::string retry;  // id of a plugin that is taken out of quarantine; empty: list them
  bool json = false;
};

struct OpenPluginOptions {};

struct CoverageOptions {
  std::string type;
  std::string config;    // its settings of the type narrow the list
  std::string baseline;  // JSON of an earlier coverage: what it lost since is a fault
  bool json = false;
};

struct AmbiguityOptions {
  std::string config;  // whose plugins and preferences to look at; empty: none
  bool json = false;
};

struct WhyOptions {
  std::string op;
  std::vector<std::string> operands;  // a type for each, in order or by name
  std::string config;                 // whose plugins and preferences are active
  bool json = false;
};

struct NewOptions {
  bool c = false;       // in C instead of C++
  bool config = false;  // a config instead of a project; `name` is its file, or the folder of it
  std::string data;     // data file of the config; empty: a file of samples is written beside it
  std::string name;
  std::string folder;
};

struct DocsOptions {
  std::string config;  // whose plugins are installed as well; empty: none
  bool json = false;
};

struct WrappersOptions {
  std::string plugin;   // id or path
  std::string output;   // empty: standard output
  std::string methods;  // the file for declarations of class Tensor; empty: none
};

struct LockOptions {
  std::string config;
  std::string output;  // empty: tenon.lock beside the config
  bool check = false;  // compare alone
};

struct CompatOptions {
  std::string before, now;  // plugins, by id or by file
  bool json = false;
};

int run_config(const RunOptions& options);
int predict_outputs(const PredictOptions& options);
int print_schema(const SchemaOptions& options);
int plan_config(const PlanOptions& options);
int tune_config(const TuneOptions& options);
int check_plugin(const CheckOptions& options);
int lock_config(const LockOptions& options);
int compare_plugins(const CompatOptions& options);
int list_plugins(const PluginsOptions& options);
int open_plugin(const OpenPluginOptions& options);
int list_ops(const ListOptions& options);
int list_modules(const ListOptions& options);
int list_types(const ListOptions& options);
int print_coverage(const CoverageOptions& options);
int explain_call(const WhyOptions& options);
int list_ambiguities(const AmbiguityOptions& options);
int list_overridable(const ListOptions& options);
int list_ignored(const ListOptions& options);
int print_signature(const ListOptions& options);
int show_name(const ListOptions& options);
int create_project(const NewOptions& options);
int create_config(const NewOptions& options);
int print_docs(const DocsOptions& options);
int write_wrappers(const WrappersOptions& options);
int print_version(const ListOptions& options);

}  // namespace cli
