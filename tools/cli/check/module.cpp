// Checks of one module: it is made, called, saved and loaded, and its parameters get gradients.
#include <algorithm>
#include <cmath>
#include <optional>

#include <tenon/autograd.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>

#include "format.hpp"
#include "item.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Module;
using tenon::Tensor;

CheckedModule checked_module(const tenon::Json& declaration) {
  CheckedModule module;
  module.name = declaration["name"].text();
  module.attributes = declared_types(declaration["parameters"]);
  module.samples = declaration["samples"].text();
  module.inputs = declared_types(declaration["forward"]["parameters"]);
  module.own_forward = declaration["forward"].is_null();
  module.mode = declaration["mode"].as_bool();
  return module;
}

namespace {

// The inputs of an instance with its own forward schema, all of which are tensors.
std::vector<DeclaredType> inputs_of(const Module& module) {
  const std::string schema = module.forward_schema();
  std::vector<DeclaredType> inputs;
  const size_t end = schema.find(')');
  for (size_t at = schema.find('(') + 1; at < end;) {
    const size_t comma = std::min(schema.find(", ", at), end);
    const std::string part = schema.substr(at, comma - at);
    at = comma + 2;
    const size_t space = part.find(' '), equals = part.find('=');
    DeclaredType input;
    input.base = "Tensor";
    input.has_default = equals != std::string::npos;
    input.optional = input.has_default;
    input.default_text = input.has_default ? "None" : "";
    input.name = part.substr(space + 1, equals - space - 1);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// The shapes that modules take: rows, sequences, images and volumes, of few features.
const std::vector<std::vector<int64_t>> kBases = {
    {2, 3},       {2, 2},          {2, 1},    {1, 2},    {1, 2, 8, 8}, {1, 1, 8, 8},
    {1, 3, 8, 8}, {1, 4, 8, 8},    {2, 2, 8}, {2, 2, 1}, {2, 2, 2},    {2, 2, 4},
    {1, 4, 1},    {1, 2, 8, 8, 8}, {3},       {}};

// Numbers that are equal where the others are, NaN to NaN as well.
std::vector<double> without_nan(std::vector<double> numbers) {
  for (double& number : numbers) {
    if (std::isnan(number)) number = HUGE_VAL;
  }
  return numbers;
}

class ModuleCheck {
 public:
  ModuleCheck(const CheckedModule& module, const CheckSettings& settings, CheckListener& listener)
      : module_(module), seed_(settings.seed), folder_(settings.folder), listener_(listener) {}

  void run() {
    if (module_.mode) return listener_.skip("it is a mode: what it does depends on what is called");
    listener_.stage("create");
    if (!gather_samples()) return;
    int64_t called = 0;
    for (const Sample& sample : samples_) {
      if (check(sample)) ++called;
      if (ended_) return;
    }
    if (called == 0)
      return listener_.skip(format_text(
          "no input that it takes could be generated ({}); it was made, not called", refusal_));
    listener_.samples(called);
  }

 private:
  void find(const std::string& kind, const std::string& stage, const std::string& message,
            const Sample& sample) {
    listener_.finding({kind, stage, message, sample.dump()});
  }

  bool accepts(const Sample& sample) {
    try {
      make_module(module_.name, sample, seed_);
      return true;
    } catch (const tenon::Error& error) {
      refusal_ = error.what();
      return false;
    }
  }

  bool gather_samples() {
    if (module_.samples.empty()) {
      Generated generated = generate_samples(
          module_.attributes, [this](const Sample& sample) { return accepts(sample); }, &refusal_);
      if (generated.samples.empty()) listener_.skip(generated.reason);
      samples_ = std::move(generated.samples);
      return !samples_.empty();
    }
    try {
      samples_ = parse_module_samples(module_.samples, module_.attributes);
      for (size_t i = 0; i < samples_.size(); ++i)
        prepare_sample(samples_[i], format_text("{}/{}/{}", folder_, module_.name, i), seed_);
    } catch (const tenon::Error& error) {
      listener_.finding({"samples", "create", error.what(), ""});
      return false;
    }
    for (const Sample& sample : samples_) {
      if (accepts(sample)) continue;
      find("samples", "create", format_text("it is refused: {}", refusal_), sample);
      return false;
    }
    return true;
  }

  // Whether some input could be given to the module.
  bool check(const Sample& sample) {
    Module made = make_module(module_.name, sample, seed_);
    made.text();
    listener_.stage("call");
    const std::optional<Sample> inputs = find_inputs(made, sample);
    if (!inputs) return false;
    const SampleCall call(made, *inputs, seed_);
    try {
      const std::vector<Tensor> outputs = readable(tensors_of(call(call.tensors)));
      listener_.stage("gradient");
      check_gradient(made, outputs, sample);
      listener_.stage("state");
      check_state(made, *inputs, sample);
    } catch (const tenon::Error& error) {
      find("module", "state", error.what(), sample);
    }
    return true;
  }

  // The first inputs that the module takes.
  std::optional<Sample> find_inputs(const Module& made, const Sample& sample) {
    const auto accepts_inputs = [&](const Sample& inputs) {
      if (ended_) return false;
      try {
        const SampleCall call(made, inputs, seed_);
        return !tensors_of(call(call.tensors)).empty();
      } catch (const tenon::Error& error) {
        if (error.kind() == TENON_ERROR_INTERNAL) {
          find("module", "call", error.what(), sample);
          ended_ = true;
        }
        refusal_ = error.what();
        return false;
      }
    };
    std::vector<DeclaredType> inputs = module_.inputs;
    try {
      if (module_.own_forward) inputs = inputs_of(made);
    } catch (const tenon::TypeError& error) {  // it keeps modules, and runs nothing
      refusal_ = error.what();
      return std::nullopt;
    }
    if (sample.inputs.defined()) return read_inputs(inputs, accepts_inputs, sample);
    const Generated generated = generate_samples(inputs, accepts_inputs, &refusal_, kBases);
    if (generated.samples.empty() || ended_) return std::nullopt;
    return generated.samples[0];
  }

  // Those that the author gives have to be taken.
  template <class Accepts>
  std::optional<Sample> read_inputs(const std::vector<DeclaredType>& inputs,
                                    const Accepts& accepts_inputs, const Sample& sample) {
    try {
      Sample given = parse_samples(format_text("[{}]", sample.inputs.dump()), inputs)[0];
      given.files = sample.files;
      if (accepts_inputs(given)) return given;
    } catch (const tenon::Error& error) {
      refusal_ = error.what();
    }
    if (!ended_)
      find("samples", "call", format_text("its inputs are refused: {}", refusal_), sample);
    ended_ = true;
    return std::nullopt;
  }

  void check_gradient(Module& made, const std::vector<Tensor>& outputs, const Sample& sample) {
    bool any = false;
    for (const Tensor& output : outputs) {
      if (!output.defined() || !tenon::is_floating(output.dtype()) || !output.requires_grad())
        continue;
      any = true;
      const Tensor seed_gradient = tenon::empty_tensor(output.shape(), output.dtype());
      tenon::fill_elements(seed_gradient, 1);
      output.backward(seed_gradient, true);
    }
    if (!any) return;
    for (const auto& [name, parameter] : made.named_parameters()) {
      if (!parameter.defined() || !parameter.requires_grad() || parameter.grad().defined())
        continue;
      find("unreached-parameter", "gradient",
           format_text("backward from the output leaves the parameter '{}' without a gradient",
                       name),
           sample);
    }
  }

  void check_state(Module& made, const Sample& inputs, const Sample& sample) {
    const auto values = [&](const Module& module) {
      const SampleCall call(module, inputs, seed_);
      std::vector<std::vector<double>> list;
      for (const Tensor& output : readable(tensors_of(call(call.tensors)))) {
        if (output.defined()) list.push_back(without_nan(output.detach().to_vector<double>()));
      }
      return list;
    };
    const std::string file = format_text("{}/state.safetensors", folder_);
    made.eval();
    const std::vector<std::vector<double>> expected = values(made);
    made.save(file);
    Module other = make_module(module_.name, sample, seed_ + 1);
    other.load(file);
    other.eval();
    if (values(other) != expected)
      find("state", "state",
           "saved, and loaded into another instance, it gives another result for the same input",
           sample);
  }

  const CheckedModule& module_;
  const uint64_t seed_;
  const std::string& folder_;
  CheckListener& listener_;
  std::vector<Sample> samples_;
  std::string refusal_;  // the last one
  bool ended_ = false;   // by an internal error: no other sample says more
};

}  // namespace

void check_module(const CheckedModule& module, const CheckSettings& settings,
                  CheckListener& listener) {
  ModuleCheck(module, settings, listener).run();
}

}  // namespace cli
