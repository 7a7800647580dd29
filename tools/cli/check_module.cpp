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

}  // namespace

void check_module(const CheckedModule& module, uint64_t seed, const std::string& folder,
                  CheckListener& listener) {
  if (module.mode) return listener.skip("it is a mode: what it does depends on what is called");
  const auto find = [&](const std::string& kind, const std::string& stage,
                        const std::string& message, const Sample& sample) {
    listener.finding({kind, stage, message, sample.dump()});
  };
  listener.stage("create");
  std::vector<Sample> samples;
  std::string refusal;
  const auto accepts = [&](const Sample& sample) {
    try {
      create(module, sample, seed);
      return true;
    } catch (const tenon::Error& error) {
      refusal = error.what();
      return false;
    }
  };
  if (!module.samples.empty()) {
    try {
      samples = parse_samples(module.samples, module.attributes);
    } catch (const tenon::Error& error) {
      return listener.finding({"samples", "create", error.what(), ""});
    }
    for (const Sample& sample : samples) {
      if (!accepts(sample))
        return find("samples", "create", format_text("it is refused: {}", refusal), sample);
    }
  } else {
    Generated generated = generate_samples(module.attributes, accepts, &refusal);
    if (generated.samples.empty()) return listener.skip(generated.reason);
    samples = std::move(generated.samples);
  }

  int64_t called = 0;
  for (const Sample& sample : samples) {
    Module made = create(module, sample, seed);
    made.text();
    listener.stage("call");
    Tensor input;
    Tensor output;
    const std::vector<std::vector<int64_t>> shapes = {
        {2, 3}, {2, 2}, {2, 1}, {1, 2}, {1, 2, 8, 8}, {1, 1, 8, 8}, {1, 3, 8, 8}, {2, 2, 8}, {3}};
    for (const tenon::DType dtype : {tenon::f32, tenon::i64}) {
      for (const std::vector<int64_t>& shape : shapes) {
        if (output.defined()) break;
        try {
          input = input_of(shape, dtype);
          output = call(made, input);
        } catch (const tenon::Error& error) {
          if (error.kind() == TENON_ERROR_INTERNAL)
            return find("module", "call", error.what(), sample);
          refusal = error.what();
        }
      }
    }
    if (!output.defined()) continue;
    ++called;
    try {
      listener.stage("gradient");
      if (tenon::is_floating(output.dtype()) && output.requires_grad()) {
        const Tensor seed_gradient = tenon::empty_tensor(output.shape(), output.dtype());
        tenon::fill_elements(seed_gradient, 1);
        output.backward(seed_gradient);
        for (const auto& [name, parameter] : made.named_parameters()) {
          if (parameter.defined() && parameter.requires_grad() && !parameter.grad().defined())
            find("unreached-parameter", "gradient",
                 format_text(
                     "backward from the output leaves the parameter '{}' without a gradient", name),
                 sample);
        }
      }
      listener.stage("state");
      const std::string file = format_text("{}/state.safetensors", folder);
      made.eval();
      const Tensor expected = call(made, input).detach();
      made.save(file);
      Module other = create(module, sample, seed + 1);
      other.load(file);
      other.eval();
      if (call(other, input).detach().to_vector<double>() != expected.to_vector<double>())
        find("state", "state",
             "saved, and loaded into another instance, it gives another result for the same input",
             sample);
    } catch (const tenon::Error& error) {
      find("module", "state", error.what(), sample);
    }
  }
  if (called == 0)
    return listener.skip(format_text(
        "no input that it takes could be generated ({}); it was made, not called", refusal));
  listener.samples(called);
}

}  // namespace cli
