// Checks of one module: it is made, called, saved and loaded, and its parameters get gradients.
#include <tenon/autograd.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>

#include "check_item.hpp"
#include "format.hpp"

namespace cli {

using tenon::Module;
using tenon::Tensor;

CheckedModule checked_module(const tenon::Json& declaration) {
  CheckedModule module;
  module.name = declaration["name"].text();
  module.attributes = declared_types(declaration["parameters"]);
  module.samples = declaration["samples"].text();
  module.mode = declaration["mode"].as_bool();
  return module;
}

namespace {

Module create(const CheckedModule& module, const Sample& sample, uint64_t seed) {
  tenon::seed_generator(seed);
  tenon::JsonObject object;
  object.set("type", module.name);
  for (const SampleValue& value : sample.values) object.set(value.name, value.json());
  return tenon::create_module(object.json());
}

Tensor input_of(const std::vector<int64_t>& shape, tenon::DType dtype) {
  const Tensor input =
      tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
  for (int64_t i = 0; i < input.numel(); ++i) {
    if (dtype == tenon::f32)
      input.data<float>()[i] = 0.05f * static_cast<float>((i * 37) % 41) - 1.01f;
    else
      input.data<int64_t>()[i] = i % 2;
  }
  return input;
}

Tensor call(const Module& module, const Tensor& input) {
  tenon::seed_generator(1);
  return module(input);
}

class ModuleCheck {
 public:
  ModuleCheck(const CheckedModule& module, uint64_t seed, const std::string& folder,
              CheckListener& listener)
      : module_(module), seed_(seed), folder_(folder), listener_(listener) {}

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
      create(module_, sample, seed_);
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
      samples_ = parse_samples(module_.samples, module_.attributes);
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
    Module made = create(module_, sample, seed_);
    made.text();
    listener_.stage("call");
    Tensor input;
    const Tensor output = first_output(made, sample, input);
    if (!output.defined()) return false;
    try {
      listener_.stage("gradient");
      check_gradient(made, output, sample);
      listener_.stage("state");
      check_state(made, input, sample);
    } catch (const tenon::Error& error) {
      find("module", "state", error.what(), sample);
    }
    return true;
  }

  // Of the first input that the module takes; undefined when it takes none.
  Tensor first_output(Module& made, const Sample& sample, Tensor& input) {
    const std::vector<std::vector<int64_t>> shapes = {
        {2, 3}, {2, 2}, {2, 1}, {1, 2}, {1, 2, 8, 8}, {1, 1, 8, 8}, {1, 3, 8, 8}, {2, 2, 8}, {3}};
    for (const tenon::DType dtype : {tenon::f32, tenon::i64}) {
      for (const std::vector<int64_t>& shape : shapes) {
        try {
          input = input_of(shape, dtype);
          return call(made, input);
        } catch (const tenon::Error& error) {
          if (error.kind() == TENON_ERROR_INTERNAL) {
            find("module", "call", error.what(), sample);
            ended_ = true;
            return {};
          }
          refusal_ = error.what();
        }
      }
    }
    return {};
  }

  void check_gradient(Module& made, const Tensor& output, const Sample& sample) {
    if (!tenon::is_floating(output.dtype()) || !output.requires_grad()) return;
    const Tensor seed_gradient = tenon::empty_tensor(output.shape(), output.dtype());
    tenon::fill_elements(seed_gradient, 1);
    output.backward(seed_gradient);
    for (const auto& [name, parameter] : made.named_parameters()) {
      if (!parameter.defined() || !parameter.requires_grad() || parameter.grad().defined())
        continue;
      find("unreached-parameter", "gradient",
           format_text("backward from the output leaves the parameter '{}' without a gradient",
                       name),
           sample);
    }
  }

  void check_state(Module& made, const Tensor& input, const Sample& sample) {
    const std::string file = format_text("{}/state.safetensors", folder_);
    made.eval();
    const Tensor expected = call(made, input).detach();
    made.save(file);
    Module other = create(module_, sample, seed_ + 1);
    other.load(file);
    other.eval();
    if (call(other, input).detach().to_vector<double>() != expected.to_vector<double>())
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

void check_module(const CheckedModule& module, uint64_t seed, const std::string& folder,
                  CheckListener& listener) {
  ModuleCheck(module, seed, folder, listener).run();
}

}  // namespace cli
