// The inputs of a model's file, for programs that make them before they make the model.
#include <set>

#include <tenon/plugin.hpp>
#include <tenon/json.hpp>

#include "model_file.hpp"
#include "tensor_data.hpp"

namespace {

struct Inputs {
  static constexpr auto schema = "onnx.inputs(str path) -> str";
  static constexpr auto doc =
      "The inputs of a model's file in their order, as JSON: [{\"name\", \"dtype\", \"shape\"}]. A "
      "size that "
      "the model leaves open is its symbol, or '?'; a shape or dtype that it does not declare is "
      "null.";
  static constexpr auto samples = R"([
      {"prepare": [{"file": "a.onnx", "hex": "08083a0312016142021011"}],
       "path": {"file": "a.onnx"}}])";

  static std::string forward(std::string_view path) {
    const onnx::ModelFile file{std::string(path)};
    const onnx::Graph& graph = file.data().graph;
    std::set<std::string_view> initialized;  // before version 4 each was an input as well
    for (const onnx::TensorData& one : graph.initializers) initialized.insert(one.name);
    tenon::JsonArray inputs;
    for (const onnx::ValueInfo& input : graph.inputs) {
      if (initialized.count(input.name) == 0) inputs.add(describe(input));
    }
    return inputs.json().dump();
  }

 private:
  static tenon::Json describe(const onnx::ValueInfo& input) {
    tenon::JsonObject object;
    object.set("name", input.name);
    const tenon::DType dtype = onnx::dtype_of_type(input.element);
    object.set("dtype", dtype == tenon::DType::none ? tenon::JsonValue()
                                                    : tenon::JsonValue(tenon::dtype_text(dtype)));
    if (!input.has_shape) return object.set("shape", tenon::none).json();
    tenon::JsonArray shape;
    for (size_t i = 0; i < input.shape.size(); ++i) {
      if (input.shape[i] >= 0)
        shape.add(input.shape[i]);
      else
        shape.add(input.symbols[i].empty() ? "?" : input.symbols[i]);
    }
    return object.set("shape", shape.json()).json();
  }
};

}  // namespace
TENON_OP(Inputs)
