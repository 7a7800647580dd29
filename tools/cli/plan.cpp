// Plans: plugins by the config's list and by what the training uses, faults, shapes.
#include "plan.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>

#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/batch_check.hpp>

#include "format.hpp"
#include "given_inputs.hpp"
#include "lock_file.hpp"
#include "views.hpp"

namespace cli {

namespace training = tenon::training;

using tenon::Json;

namespace {

// Summary of the model of a file, called with the given inputs.
std::vector<tenon::Tensor> given_inputs(const tenon::Module& model, const PlanOptions& options) {
  GivenInputs inputs(options.config, model);
  for (const std::string& input : options.inputs) inputs.give(input);
  return inputs.tensors(GivenInputs::Elements::zero);
}

training::ModelSummary summarize_file(const Json& document, const PlanOptions& options) {
  training::ModelSummary summary;
  try {
    tenon::Module model;
    {
      const tenon::ShapesOnly shapes;
      model = tenon::state::create_module(document);
    }
    model.eval();
    training::summarize_call(model, given_inputs(model, options), summary, options.providers);
  } catch (const tenon::Error& error) {
    summary.faults.emplace_back(error.what());
  }
  return summary;
}

tenon::PreparedList prepare_file(const Json& document, const PlanOptions& options) {
  const tenon::Module model = tenon::state::create_module(document);
  model.eval();
  return tenon::prepare(model, {given_inputs(model, options)}).lists().front();
}

// Memory of a training step: of the model as it is trained.
training::BackwardMemory memory_of(const Json& document, const std::vector<tenon::Tensor>& inputs,
                                   const tenon::Module& model) {
  if (inputs.empty())
    throw tenon::ConfigError(format_text(
        R"({}: neither "data" nor "input" says what the model is called with)", document.place()));
  tenon::Module(model).train();
  return training::backward_memory(model, inputs);
}

class Planner {
 public:
  explicit Planner(const PlanOptions& options)
      : plan_{options.config,
              training::TrainingConfig(training::read_config(options.config)),
              {},
              {},
              {},
              {},
              {},
              {},
              false} {
    const Json& document = plan_.config.document;
    plan_.of_model = training::is_model_file(options.config);
    if (!plan_.of_model) refuse_inputs(options.inputs, options.config);
    if (plan_.of_model && !std::filesystem::exists(options.config))
      throw tenon::Error(TENON_ERROR_IO, format_text("cannot read '{}': No such file or directory",
                                                     options.config));
    if (options.frozen)
      freeze(document, lock_file_of(plan_.path));
    else
      tenon::config::apply(document, tenon::EagerPlugins::wait);
    known_ = tenon::listing::plugins();
    plan_config_plugins();
    plan_.outline = training::outline(
        plan_.config, options.shapes ? training::DataFiles::read : training::DataFiles::skip);
    for (const training::Purpose& purpose : plan_.outline.purposes)
      use_plugin(purpose.plugin, purpose.what);
    plan_.faults.insert(plan_.faults.end(), plan_.outline.faults.begin(),
                        plan_.outline.faults.end());
    if (!options.shapes || !plan_.config.model.defined() || !plan_.faults.empty()) return;
    plan_.summary = plan_.of_model ? summarize_file(plan_.config.model, options)
                                   : training::summarize_model(plan_.config, plan_.outline.data,
                                                               options.providers);
    plan_.faults = plan_.summary.faults;
    if (plan_.faults.empty()) plan_.faults = training::batch_faults(plan_.config, contents());
    if (options.prepared && plan_.faults.empty())
      plan_.prepared = plan_.of_model ? prepare_file(plan_.config.model, options)
                                      : training::prepare_model(plan_.config, plan_.outline.data);
    if (options.memory && plan_.faults.empty()) {
      const tenon::Module model = tenon::state::create_module(plan_.config.model);
      plan_.memory =
          memory_of(plan_.config.model,
                    plan_.of_model ? given_inputs(model, options)
                                   : training::model_inputs(plan_.config, plan_.outline.data),
                    model);
    }
  }
  Plan take() { return std::move(plan_); }

 private:
  // Contents of the training part; no samples where their number is not known.
  training::BatchContents contents() const {
    const training::DataOutline& data = plan_.outline.data;
    const bool known = data.samples > 0 && !data.has_parts;
    return {data.shape, data.targets, data.whole_targets,
            known ? training::part_counts(plan_.config.split, data.samples).train : 0};
  }
  void fault(const Json& node, const std::string& text) {
    plan_.faults.push_back(format_text("{}: {}", node.place(), text));
  }
  PlannedPlugin& plugin_row(const Json& plugin) {
    const std::string path = plugin["path"].text();
    for (PlannedPlugin& row : plan_.plugins) {
      if (row.path == path) return row;
    }
    plan_.plugins.push_back({plugin["id"].text("-"),
                             plugin["version"].text("-"),
                             plugin["state"].text(),
                             path,
                             "lazy",
                             {}});
    return plan_.plugins.back();
  }

  void use_plugin(const std::string& id, const std::string& purpose) {
    for (int64_t i = 0; i < known_.size(); ++i) {
      const std::string state = known_[i]["state"].text();
      if (known_[i]["id"].text() != id || state == "shadowed" || is_refused(state)) continue;
      std::vector<std::string>& purposes = plugin_row(known_[i]).purposes;
      if (std::find(purposes.begin(), purposes.end(), purpose) == purposes.end()) {
        purposes.push_back(purpose);
      }
      return;
    }
  }

  void plan_config_plugins() {
    const Json entries = plan_.config.document["plugins"];
    for (int64_t i = 0; i < entries.size(); ++i) {
      const std::string name = entries[i]["name"].text(), path = entries[i]["path"].text();
      bool known = false;
      for (int64_t p = 0; p < known_.size(); ++p) {
        const std::string state = known_[p]["state"].text();
        const std::string id = known_[p]["id"].text();
        const bool meant =
            id == name || name == format_text("{}@{}", id, known_[p]["version"].text());
        const bool named =
            path.empty() ? meant && state != "shadowed" : known_[p]["path"].text() == path;
        if (!named) continue;
        known = true;
        PlannedPlugin& row = plugin_row(known_[p]);
        row.load = entries[i]["load"].text();
        row.purposes.emplace_back("config");
        if (is_refused(state)) fault(entries[i], known_[p]["reason"].text());
        break;
      }
      // It is not required, or the config would have been refused.
      if (!known)
        plan_.plugins.push_back({name.empty() ? "-" : name, "-", "missing", path, "-", {"config"}});
    }
  }

  Plan plan_;
  Json known_;  // every plugin that is found
};

}  // namespace

std::vector<std::string> Plan::checked_by_run() const {
  std::vector<std::string> members;
  const std::pair<const char*, bool> keys[] = {
      {"data", outline.data.samples >= 0}, {"model", !summary.layers.empty()}, {"loss", false}};
  for (const auto& [key, checked] : keys) {
    if (config.document[key].defined() && !checked) members.emplace_back(format_text("/{}", key));
  }
  return members;
}

std::vector<Plan::DeviceBytes> Plan::bytes_by_device() const {
  std::vector<DeviceBytes> list;
  const std::string device =
      config.training && !config.training->device.empty() ? config.training->device : "cpu";
  if (!summary.layers.empty()) list.push_back({device, "model", summary.bytes});
  if (memory) list.push_back({device, "backward", memory->peak_bytes});
  if (outline.data.samples <= 0) return list;
  const auto elements = [](const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  };
  const int64_t target = outline.data.whole_targets ? 8 : 4;
  list.push_back({"cpu", "samples",
                  outline.data.samples * (elements(outline.data.shape) * 4 +
                                          elements(outline.data.targets) * target)});
  return list;
}

Plan make_plan(const PlanOptions& options) { return Planner(options).take(); }

}  // namespace cli
