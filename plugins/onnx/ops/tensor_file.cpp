// Tensors in files with one TensorProto, as the test data of models has them.
#include <protozero/pbf_writer.hpp>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/state/atomic_file.hpp>

#include "model_file.hpp"
#include "tensor_data.hpp"

namespace {

using tenon::Tensor;

struct ReadTensor {
  static constexpr auto schema = "onnx.read_tensor(str path) -> Tensor";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "onnx.write_tensor", "path": {"file": "a.pb"}, "input": {"shape": [2, 3]}}],
       "path": {"file": "a.pb"}}])";
  static constexpr auto doc = "The tensor of a file with one TensorProto, such as input_0.pb.";
  static Tensor forward(std::string_view path) { return onnx::read_tensor_file(std::string(path)); }
};

struct WriteTensor {
  static constexpr auto schema = "onnx.write_tensor(str path, Tensor input, *, str name='') -> ()";
  static constexpr auto samples = R"([{"path": {"file": "a.pb"}, "input": {"shape": [2, 3]}}])";
  static constexpr auto doc = "Writes a file with one TensorProto, replaced as a whole.";
  static constexpr bool any_dtype = true;
  static void forward(std::string_view path, const Tensor& input, std::string_view name) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    for (const int64_t size : input.shape()) writer.add_int64(1, size);
    writer.add_int64(2, onnx::type_of_dtype(input.dtype()));
    if (!name.empty()) writer.add_bytes(8, name.data(), name.size());
    const Tensor dense = input.contiguous();
    writer.add_bytes(9, static_cast<const char*>(dense.view_record().data),
                     static_cast<size_t>(dense.numel() * tenon::element_size(dense.dtype())));
    tenon::state::write_file(std::string(path), bytes);
  }
};

}  // namespace
TENON_OP(ReadTensor)
TENON_OP(WriteTensor)
