// Tensors of a file by their names.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

#include "model_file.hpp"

// `tenon convert` reads files of these endings with this op.
TENON_CONVERSIONS(weights, "weights.read", R"(
onnx = onnx.read_weights
pb = onnx.read_weights
)")

namespace {

using tenon::Tensor;

struct ReadWeights {
  static constexpr auto schema = "onnx.read_weights(str path) -> (str[] names, Tensor[] tensors)";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "onnx.write_tensor", "path": {"file": "a.pb"}, "input": {"shape": [2, 3]}}],
       "path": {"file": "a.pb"}}])";
  static constexpr auto doc =
      "The initializers of the graph of an ONNX file, with their names, without those of inner "
      "graphs; of a file that ends in .pb its one TensorProto.";
  static std::tuple<std::vector<std::string>, std::vector<Tensor>> forward(std::string_view path) {
    std::vector<std::string> names;
    std::vector<Tensor> tensors;
    if (path.size() > 3 && path.substr(path.size() - 3) == ".pb") {
      names.emplace_back("tensor");
      tensors.push_back(onnx::read_tensor_file(std::string(path)));
      return {std::move(names), std::move(tensors)};
    }
    onnx::ModelFile file{std::string(path)};
    for (const onnx::TensorData& data : file.data().graph.initializers) {
      names.emplace_back(data.name);
      tensors.push_back(file.tensor(data));
    }
    return {std::move(names), std::move(tensors)};
  }
};

}  // namespace
TENON_OP(ReadWeights)
