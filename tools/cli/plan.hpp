// The plan of a config, which is what a run would do: made by plan.cpp, printed by plan_text.cpp
// and plan_json.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/training/backward_memory.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/model_summary.hpp>

namespace cli {

struct PlanOptions {
  std::string config;               // or the file of a model
  std::vector<std::string> inputs;  // of a model's file, see GivenInputs
  bool shapes = true;               // calls the model with shapes, which runs plugin code
  bool providers = false;           // lists the plugin that each op of these calls would get
  bool prepared = false;            // lists the calls of the prepared model, which runs it once
  bool memory = false;              // measures what backward keeps, which runs the model once
  bool frozen = false;
  bool json = false;
};

struct PlannedPlugin {
  std::string id, version, state, path, load;
  std::vector<std::string> purposes;
};

struct Plan {
  std::string path;
  tenon::training::TrainingConfig config;
  std::vector<PlannedPlugin> plugins;
  tenon::training::Outline outline;
  tenon::training::ModelSummary summary;                  // without layers: there is none
  std::optional<tenon::PreparedList> prepared;            // where it is asked for
  std::optional<tenon::training::BackwardMemory> memory;  // where it is asked for
  std::vector<std::string> faults;
  bool of_model = false;  // made of the file of a model, without a config

  // Sections that a run needs and the config lacks, "\"data\", no \"model\""; empty: nothing.
  std::string missing() const { return tenon::training::missing_keys(config, true); }
  // Bytes by device, those that are known: of the model, and kept for backward, where the training is, and
  // of the samples, which stay on the CPU.
  struct DeviceBytes {
    std::string device, what;
    int64_t bytes;
  };
  std::vector<DeviceBytes> bytes_by_device() const;
  // Members whose values plugin code checks, too: that takes a run.
  std::vector<std::string> checked_by_run() const;
};

// Applies the config. The model alone is made and called, with shapes and no values.
Plan make_plan(const PlanOptions& options);
void print_plan(const Plan& plan);
tenon::Json plan_json(const Plan& plan);
// One list of a prepared model, as a part of a plan.
void print_prepared_list(const tenon::PreparedList& list);
tenon::Json prepared_json(const tenon::PreparedList& list);

}  // namespace cli
