// Stages "create" and "call" of modules: attributes that it is made with, inputs that it takes.
#include <algorithm>
#include <optional>

#include <tenon/detail/arguments.hpp>

#include "format.hpp"
#include "module_check.hpp"

namespace cli {

using tenon::Module;

namespace {

// The inputs of an instance with its own forward schema, all of which are tensors.
std::vector<DeclaredType> inputs_of(const Module& module) {
  const std::string schema = module.forward_schema();
  std::vector<DeclaredType> inputs;
  tenon::detail::each_item(schema, schema.find('('),
                           [&](int, std::string_view type, std::string_view name) {
                             DeclaredType input;
                             input.base = "Tensor";
                             input.optional = input.has_default = type == "Tensor?";
                             input.default_text = input.has_default ? "None" : "";
                             input.name = name;
                             inputs.push_back(std::move(input));
                           });
  return inputs;
}

// The shapes that modules take: rows, sequences, images and volumes, of few features.
const std::vector<std::vector<int64_t>> kBases = {
    {2, 3},       {2, 2},          {2, 1},    {1, 2},    {1, 2, 8, 8}, {1, 1, 8, 8},
    {1, 3, 8, 8}, {1, 4, 8, 8},    {2, 2, 8}, {2, 2, 1}, {2, 2, 2},    {2, 2, 4},
    {1, 4, 1},    {1, 2, 8, 8, 8}, {3},       {}};

// The search of inputs for instances of one module.
class Inputs {
 public:
  explicit Inputs(ModuleCheck& check) : check_(check) {}

  void run() {
    for (const Sample& attributes : check_.samples) {
      std::optional<Sample> inputs = find_inputs(check_.make(attributes), attributes);
      if (inputs) check_.calls.push_back({attributes, std::move(*inputs)});
      if (ended_) return;
    }
    if (check_.calls.empty())
      check_.listener.skip(format_text(
          "no input that it takes could be generated ({}); it was made, not called", refusal_));
  }

 private:
  // The first ones that the instance takes.
  std::optional<Sample> find_inputs(const Module& made, const Sample& attributes) {
    std::vector<DeclaredType> inputs = check_.module.inputs;
    try {
      if (check_.module.own_forward) inputs = inputs_of(made);
    } catch (const tenon::TypeError& error) {  // it keeps modules, and runs nothing
      refusal_ = error.what();
      return std::nullopt;
    }
    if (attributes.inputs.defined()) return read_inputs(made, inputs, attributes);
    const Generated generated = generate_samples(
        inputs,
        [&](const Sample& sample) {
          return accepts(made, {attributes, sample});
        },
        &refusal_, kBases);
    if (generated.samples.empty() || ended_) return std::nullopt;
    return generated.samples[0];
  }

  // The module must accept the author's inputs.
  std::optional<Sample> read_inputs(const Module& made, const std::vector<DeclaredType>& inputs,
                                    const Sample& attributes) {
    try {
      Sample given = parse_samples(format_text("[{}]", attributes.inputs.dump()), inputs)[0];
      given.files = attributes.files;
      if (accepts(made, {attributes, given})) return given;
    } catch (const tenon::Error& error) {
      refusal_ = error.what();
    }
    if (!ended_)
      check_.find("samples", format_text("its inputs are refused: {}", refusal_), &attributes);
    ended_ = true;
    return std::nullopt;
  }

  bool accepts(const Module& made, const ModuleCall& tried) {
    if (ended_) return false;
    const Sample report = tried.report();
    check_.listener.trying(report);
    try {
      const SampleCall call = check_.call_of(made, tried);
      return !tensors_of(call(call.tensors)).empty();
    } catch (const tenon::Error& error) {
      refusal_ = error.what();
      ended_ = error.kind() == TENON_ERROR_INTERNAL;
      if (ended_) check_.find("module", error.what(), &report);
      return false;
    }
  }

  ModuleCheck& check_;
  std::string refusal_;  // the last one
  bool ended_ = false;   // by what no other sample says more about
};

}  // namespace

void find_module_samples(ModuleCheck& check) {
  std::string refusal;
  const auto accepts = [&](const Sample& attributes) {
    check.listener.trying(attributes);
    try {
      check.make(attributes).text();
      return true;
    } catch (const tenon::Error& error) {
      refusal = error.what();
      return false;
    }
  };
  if (check.module.samples.empty()) {
    Generated generated = generate_samples(check.module.attributes, accepts, &refusal);
    if (generated.samples.empty()) check.listener.skip(generated.reason);
    check.samples = std::move(generated.samples);
    return;
  }
  try {
    check.samples = parse_module_samples(check.module.samples, check.module.attributes);
    for (size_t i = 0; i < check.samples.size(); ++i)
      prepare_sample(check.samples[i],
                     format_text("{}/{}/{}", check.settings.folder, check.module.name, i),
                     check.settings.seed);
  } catch (const tenon::Error& error) {
    check.find("samples", error.what(), nullptr);
    check.samples.clear();
  }
  const auto refused = std::find_if_not(check.samples.begin(), check.samples.end(), accepts);
  if (refused == check.samples.end()) return;
  check.find("samples", format_text("it is refused: {}", refusal), &*refused);
  check.samples.clear();
}

void find_module_calls(ModuleCheck& check) { Inputs(check).run(); }

}  // namespace cli
