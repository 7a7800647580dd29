// Tensors of files with one TensorProto, as the test data of models has them.
#include <tenon/plugin.hpp>

#include "model_file.hpp"

namespace {

struct ReadTensor {
  static constexpr auto schema = "onnx.read_tensor(str path) -> Tensor";
  static constexpr auto doc = "The tensor of a file with one TensorProto, such as input_0.pb.";
  static tenon::Tensor forward(std::string_view path) {
    return onnx::read_tensor_file(std::string(path));
  }
};

}  // namespace
TENON_OP(ReadTensor)
