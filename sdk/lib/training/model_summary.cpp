// Summaries of models, from calls that compute shapes alone.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <tenon/autograd.hpp>
#include <tenon/module_watch.hpp>
#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/trace.hpp>
#include <tenon/training/model_summary.hpp>
#include <tenon/training/op_choice.hpp>
#include <tenon/training/roles.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// Layers as they are called: what is between the begin and the end of one is its own, or of those below it.
class CallRecorder : public ModuleWatch {
 public:
  CallRecorder(const Module& model, ModelSummary& summary, const ShapesOnly& shapes, bool with_ops)
      : summary_(summary), shapes_(shapes) {
    if (with_ops)
      trace_.emplace(TraceFormat::json, [this](std::string_view line) { hear(Json::parse(line)); });
    for (const auto& [name, module] : model.named_modules()) {
      const size_t layer = layers_.size();
      layers_.emplace(module.handle(), layer);
      summary.layers.push_back({name, module.type(), {}, 0, 0, 0});
    }
  }

  // Modules that the model calls and does not contain count for their caller.
  void begins(const Module& module, const HookValues& /*arguments*/) override {
    const auto layer = layers_.find(module.handle());
    if (layer == layers_.end()) return;
    failed_.reset();  // a failure before was caught
    calls_.push_back({layer->second, shapes_.multiply_adds(), 0});
  }
  void failed(const Module& module) override {
    if (layers_.count(module.handle()) == 0) return;
    if (!failed_) failed_ = calls_.back().layer;
    calls_.pop_back();
  }
  void ended(const Module& module, const HookValues& results) override {
    if (layers_.count(module.handle()) == 0) return;
    failed_.reset();
    const Running call = calls_.back();
    calls_.pop_back();
    const int64_t all = shapes_.multiply_adds() - call.start;
    if (!calls_.empty()) calls_.back().below += all;
    LayerSummary& layer = summary_.layers[call.layer];
    layer.multiply_adds += all - call.below;
    layer.outputs.clear();
    for (int64_t i = 0; i < results.size(); ++i) {
      const tenon_value value = results[i].value();
      if (value.tag == TENON_VALUE_TENSOR)
        layer.outputs.push_back(Tensor::borrow(value.as.tensor).sizes());
    }
  }

  // The innermost layer of a call that failed; null: none was called.
  const LayerSummary* innermost() const { return failed_ ? &summary_.layers[*failed_] : nullptr; }

 private:
  struct Running {
    size_t layer;
    int64_t start;
    int64_t below;  // multiply-adds of layers that it called
  };

  // Providers that decline are heard of before the one that answers.
  void hear(const Json& event) {
    const std::string kind = event["event"].text(), op = event["op"].text();
    const std::string provider = event["provider"].text();
    if (kind == "declined" && event["reason"].defined())
      declined_[op].emplace_back(provider, event["reason"].text());
    if (kind != "shapes" || calls_.empty()) return;
    ProvidedOp call{summary_.layers[calls_.back().layer].name, op, provider, {}};
    std::swap(call.declined, declined_[op]);
    const auto known = std::find_if(summary_.ops.begin(), summary_.ops.end(),
                                    [&](const ProvidedOp& other) { return other.is_same(call); });
    if (known == summary_.ops.end())
      summary_.ops.push_back(std::move(call));
    else
      ++known->calls;
  }

  ModelSummary& summary_;
  const ShapesOnly& shapes_;
  std::unordered_map<const tenon_module*, size_t> layers_;
  std::vector<Running> calls_;
  std::optional<size_t> failed_;  // the innermost layer that fails
  std::unordered_map<std::string, std::vector<std::pair<std::string, std::string>>> declined_;
  std::optional<TraceScope> trace_;
  const ModuleWatchScope scope_{*this};
};

void count_tensors(const Module& model, ModelSummary& summary) {
  std::unordered_set<const tenon_tensor*> seen;
  size_t i = 0;
  for (const Module& module : model.modules()) {
    LayerSummary& layer = summary.layers[i++];
    const auto add = [&](const Tensor& tensor, bool parameter) {
      if (!seen.insert(tensor.handle()).second) return;
      layer.bytes += tensor.numel() * element_size(tensor.dtype());
      if (!parameter) return;
      layer.parameters += tensor.numel();
      summary.trainable += tensor.requires_grad() ? tensor.numel() : 0;
    };
    for (const Tensor& parameter : module.parameters(false)) add(parameter, true);
    for (const Tensor& buffer : module.buffers(false)) add(buffer, false);
    summary.parameters += layer.parameters;
    summary.bytes += layer.bytes;
  }
}

// The text between two others; empty where they are not there.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t found = text.find(before);
  if (found == std::string::npos) return {};
  const size_t begin = found + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

// An error of a call as "PLACE: layer 'NAME' (Type): what". The host and Graph add the innermost
// place in a further line.
std::string call_fault(const std::string& what, const LayerSummary* layer) {
  const size_t module_line = what.find("\n  in "), node_line = what.find("\n  at node ");
  const size_t end = std::min(module_line, node_line);
  std::string place, owner;
  if (end != std::string::npos) {
    const std::string line = what.substr(end, what.find('\n', end + 1) - end);
    const std::string found =
        end == node_line ? between(line, "' (", ")") : between(line + "\n", " at ", "\n");
    if (!found.empty()) place = found;
    if (end == node_line)
      owner = lib::format_text("node {}: ", between(line + " ", "at node ", " "));
  }
  if (layer != nullptr && !layer->name.empty())
    owner = lib::format_text("layer '{}' ({}): {}", layer->name, layer->type, owner);
  return lib::format_text("{}{}{}{}", place, place.empty() ? "" : ": ", owner, what.substr(0, end));
}

// A batch of such samples; f32 where no dtype is given.
Tensor make_input(const TrainingConfig& config, const Json& section, std::vector<int64_t> shape,
                  const Json& dtype = {}) {
  shape.insert(shape.begin(), config.training ? config.training->batch_size : 1);
  static const Op zeros("zeros");
  return at_place(section, [&] {
    return dtype.defined() ? zeros.call<Tensor>(shape, arg("dtype") = dtype)
                           : zeros.call<Tensor>(shape);
  });
}

}  // namespace

std::vector<Tensor> model_inputs(const TrainingConfig& config, const DataOutline& outline) {
  std::vector<Tensor> inputs;
  for (const InputConfig& input : config.inputs)
    inputs.push_back(make_input(config, input.section, input.shape, input.dtype));
  const DataConfig& data = config.data;
  if (!inputs.empty() || !data.section.defined()) return inputs;
  if (!data.shape.empty()) return {make_input(config, data.section, data.shape)};
  const DataOutline known = outline.samples < 0 ? outline_data(data) : outline;
  if (!known.faults.empty()) throw ConfigError(known.faults.front());
  return {make_input(config, data.section, known.shape)};
}

void summarize_call(const Module& model, const std::vector<Tensor>& inputs, ModelSummary& summary,
                    bool with_ops) {
  const ShapesOnly shapes;
  const NoGrad no_grad;
  const CallRecorder recorder(model, summary, shapes, with_ops);
  count_tensors(model, summary);
  for (const Tensor& input : inputs) summary.inputs.push_back(input.sizes());
  if (inputs.empty()) return;
  std::vector<tenon_value> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(Argument(input).value());
  tenon_value results[detail::max_results]{};
  tenon_error* error = nullptr;
  const tenon_status status =
      service::modules().call(model.handle(), values.data(), static_cast<int64_t>(values.size()),
                              nullptr, nullptr, 0, results, -1, &error);
  for (tenon_value& result : results) service::values().release(&result);
  summary.multiply_adds = shapes.multiply_adds();
  if (status == TENON_OK) return;
  try {
    detail::throw_error(status, error);
  } catch (const NotImplementedError& refused) {
    summary.unknown = call_fault(refused.what(), recorder.innermost());
  } catch (const Error& failure) {
    summary.faults.push_back(call_fault(failure.what(), recorder.innermost()));
  }
}

namespace {
constexpr const char* no_input = R"(neither "data" nor "input" says what the model is called with)";
}  // namespace

PreparedList prepare_model(const TrainingConfig& config, const DataOutline& data) {
  const Module model = state::create_module(config.model);
  const std::vector<Tensor> inputs = model_inputs(config, data);
  if (inputs.empty()) throw ConfigError(no_input);
  model.eval();
  return prepare(model, {inputs}).lists().front();
}

ModelSummary summarize_model(const TrainingConfig& config, const DataOutline& data, bool with_ops) {
  ModelSummary summary;
  try {
    Module model;
    {
      const ShapesOnly shapes;
      model = state::create_module(config.model);
    }
    const std::vector<Tensor> inputs = model_inputs(config, data);
    model.eval();
    if (inputs.empty()) summary.unknown = no_input;
    summarize_call(model, inputs, summary, with_ops);
  } catch (const Error& error) {
    summary.faults.emplace_back(error.what());
  }
  return summary;
}

}  // namespace training

TENON_NAMESPACE_END
