// The module onnx.Model: a model file whose nodes call Tenon's ops.
#include <deque>
#include <memory>
#include <set>

#include <tenon/plugin.hpp>
#include <tenon/module_definition.hpp>
#include <tenon/shapes_only.hpp>

#include "builder.hpp"
#include "weight.hpp"

namespace {

using onnx::Weight;
using tenon::ModuleOf, tenon::Tensor, tenon::Value;

// A name that a schema takes: letters, digits and '_', each once.
std::string identifier(std::string_view name, std::set<std::string>& taken) {
  std::string text;
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    text += fits ? c : '_';
  }
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) text.insert(0, "_");
  const std::string base = text;
  for (int i = 2; !taken.insert(text).second; ++i) text = base + "_" + std::to_string(i);
  return text;
}

const char* type_of(const onnx::ValueInfo& info, bool result) {
  using Kind = onnx::ValueInfo::Kind;
  if (info.kind == Kind::sequence) return "Tensor[]";
  if (info.kind == Kind::optional)
    return !result ? "any" : info.of_sequence ? "Tensor[]?" : "Tensor?";
  return "Tensor";
}

struct Model final : ModuleOf<Model>, onnx::Members {
  static constexpr auto schema =
      "onnx.Model(str path, *, str[] outputs=[], str[] prefer=[], str? like=None)";
  static constexpr bool own_forward_schema = true;
  static constexpr auto doc =
      "The model of an ONNX file, whose nodes call ops that plugins declare for its operators. Its "
      "weights are parameters. `outputs` names those to compute, `prefer` the plugins whose "
      "conversions come first, `like` an engine whose answers it gives where they differ from the "
      "standard's (onnxruntime); onnx.changes lists the nodes where they may.";

  Model(std::string_view path, const std::vector<std::string_view>& outputs,
        const std::vector<std::string_view>& prefer, std::optional<std::string_view> like) {
    const tenon::ComputeElements constants;  // shapes of calls depend on them
    onnx::ModelFile file{std::string(path)};
    onnx::Operators operators(prefer, like.value_or(""));
    onnx::BuiltModel built;
    try {
      built = onnx::build_model(file, operators, outputs);
      set_schema(built);
    } catch (const tenon::Error& cause) {
      throw tenon::Error(cause.kind(), file.path() + ": " + cause.what());
    }
    onnx::WeightPaths paths;
    for (const onnx::NamedTensor& one : built.parameters)
      parameters_.emplace_back(module(), paths, one.name, Weight::Kind::parameter, one.tensor);
    for (const onnx::NamedTensor& one : built.buffers)
      buffers_.emplace_back(module(), paths, one.name, Weight::Kind::buffer, one.tensor);
    for (const onnx::NamedTensor& one : built.constants)
      constants_.emplace_back(module(), paths, one.name, Weight::Kind::constant, one.tensor);
    for (const onnx::ValueInfo& one : built.inputs)
      inputs_.push_back({std::string(one.name), one.has_shape, one.shape});
    program_ = std::make_shared<onnx::Program>(std::move(built.program));
    file.release_pages();
  }

  Model(const Model& other)
      : ModuleOf<Model>(other),
        onnx::Members(other),
        inputs_(other.inputs_),
        program_(other.program_) {
    for (const Weight& one : other.parameters_) parameters_.emplace_back(module(), one);
    for (const Weight& one : other.buffers_) buffers_.emplace_back(module(), one);
    for (const Weight& one : other.constants_) constants_.emplace_back(module(), one);
  }

  std::vector<Value> forward(const tenon_value* arguments) const {
    std::vector<Value> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      check_input(inputs_[i], arguments[i]);
      inputs.push_back(onnx::share(arguments[i]));
    }
    return onnx::run_program(*program_, *this, std::move(inputs));
  }

  tenon_tensor* parameter(uint32_t index) const override { return parameters_[index].handle(); }
  tenon_tensor* buffer(uint32_t index) const override { return buffers_[index].handle(); }
  tenon_tensor* constant(uint32_t index) const override { return constants_[index].handle(); }

 private:
  void set_schema(const onnx::BuiltModel& built) {
    if (built.outputs.empty()) throw tenon::ValueError("it has no outputs");
    if (built.outputs.size() > tenon::detail::max_results) {
      throw tenon::ValueError("it has " + std::to_string(built.outputs.size()) +
                              " outputs; from 1 to 8 are possible, name them in `outputs`");
    }
    std::set<std::string> taken;
    std::string parameters, results;
    for (const onnx::ValueInfo& input : built.inputs) {
      parameters += parameters.empty() ? "" : ", ";
      parameters += type_of(input, false);
      parameters += " " + identifier(input.name, taken);
    }
    for (const onnx::ValueInfo& output : built.outputs) {
      results += results.empty() ? "" : ", ";
      results += type_of(output, true);
      if (built.outputs.size() > 1) results += " " + identifier(output.name, taken);
    }
    set_forward_schema("forward(" + parameters + ") -> " +
                       (built.outputs.size() > 1 ? "(" + results + ")" : results));
  }

  struct Input {
    std::string name;
    bool has_shape;
    std::vector<int64_t> shape;
  };
  // The sizes that the model declares.
  static void check_input(const Input& info, const tenon_value& value) {
    if (value.tag != TENON_VALUE_TENSOR || !info.has_shape) return;
    const Tensor tensor = Tensor::borrow(value.as.tensor);
    bool fits = tensor.dim() == static_cast<int64_t>(info.shape.size());
    for (size_t i = 0; fits && i < info.shape.size(); ++i)
      fits = info.shape[i] < 0 || info.shape[i] == tensor.shape()[static_cast<int64_t>(i)];
    if (fits) return;
    const auto text = [](const auto& sizes) {
      std::string list;
      for (const int64_t size : sizes)
        list += (list.empty() ? "" : ", ") + (size < 0 ? "?" : std::to_string(size));
      return "[" + list + "]";
    };
    throw tenon::ValueError("the input '" + info.name + "' has shape " + text(tensor.sizes()) +
                            ", the model takes " + text(info.shape));
  }

  std::deque<Weight> parameters_, buffers_, constants_;
  std::vector<Input> inputs_;
  std::shared_ptr<const onnx::Program> program_;
};

}  // namespace
TENON_MODULE(Model)
