// Tensors of a file by their names.
#include <algorithm>
#include <set>

#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

#include "model_file.hpp"
#include "tensor_data.hpp"

// `tenon convert` reads files of these endings with this op.
TENON_CONVERSIONS(weights, "weights.read", R"(
onnx = onnx.read_weights
pb = onnx.read_weights
)")

namespace {

using tenon::Tensor;

// Tensors of a file, in its order: initializers, and what Constant nodes have of weights. A name that two graphs
// have is numbered.
class Weights {
 public:
  explicit Weights(onnx::ModelFile& file) : file_(file) {}

  void add(const onnx::Graph& graph) {
    for (const onnx::TensorData& data : graph.initializers) add(data, data.name);
    for (const onnx::Node& node : graph.nodes) {
      for (const onnx::Attribute& attribute : node.attributes) {
        if (attribute.graph) add(*attribute.graph);
        if (attribute.tensor && node.type == "Constant" && node.domain.empty() &&
            !node.outputs.empty() && is_weight(*attribute.tensor))
          add(*attribute.tensor, node.outputs[0]);
      }
    }
  }
  std::vector<std::string> names;
  std::vector<Tensor> tensors;

 private:
  // Floating, of two elements and more: the others are sizes, axes and numbers.
  static bool is_weight(const onnx::TensorData& data) {
    return tenon::is_floating(onnx::dtype_of_type(data.type)) &&
           std::any_of(data.dims.begin(), data.dims.end(), [](int64_t size) { return size > 1; });
  }
  void add(const onnx::TensorData& data, std::string_view wished) {
    std::string name(wished);
    for (int count = 1; !taken_.insert(name).second; ++count)
      name = std::string(wished) + "_" + std::to_string(count);
    names.push_back(std::move(name));
    tensors.push_back(file_.tensor(data));
  }

  onnx::ModelFile& file_;
  std::set<std::string> taken_;
};

struct ReadWeights {
  static constexpr auto schema = "onnx.read_weights(str path) -> (str[] names, Tensor[] tensors)";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "onnx.write_tensor", "path": {"file": "a.pb"}, "input": {"shape": [2, 3]}}],
       "path": {"file": "a.pb"}}])";
  static constexpr auto doc =
      "The initializers of an ONNX file with their names, and the floating tensors of its Constant "
      "nodes by the names of their outputs, those of graphs inside of nodes too; of a file that "
      "ends in .pb its one TensorProto.";
  static std::tuple<std::vector<std::string>, std::vector<Tensor>> forward(std::string_view path) {
    std::vector<std::string> names;
    std::vector<Tensor> tensors;
    if (path.size() > 3 && path.substr(path.size() - 3) == ".pb") {
      names.emplace_back("tensor");
      tensors.push_back(onnx::read_tensor_file(std::string(path)));
      return {std::move(names), std::move(tensors)};
    }
    onnx::ModelFile file{std::string(path)};
    Weights weights(file);
    weights.add(file.data().graph);
    return {std::move(weights.names), std::move(weights.tensors)};
  }
};

}  // namespace
TENON_OP(ReadWeights)
