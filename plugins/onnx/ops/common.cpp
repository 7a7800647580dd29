#include "common.hpp"

namespace onnx {

namespace {

bool is_stored_only(DType dtype) {
  return dtype == tenon::u16 || dtype == tenon::u32 || dtype == tenon::u64;
}

}  // namespace

std::optional<double> plain_number(const Tensor& tensor) {
  constexpr uint32_t seen = TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_TYPED | TENON_TENSOR_SHAPE_ONLY;
  if (tensor.numel() != 1 || tensor.dim() != 0 || !tenon::is_floating(tensor.dtype())) return {};
  if ((tensor.view_record().flags & seen) != 0 || tensor.requires_grad()) return {};
  return tensor.item<double>();
}

Tensor computable(const Tensor& tensor) {
  if (!is_stored_only(tensor.dtype())) return tensor;
  if (tensor.dtype() == tenon::u64) {
    for (const uint64_t number : tensor.to_vector<uint64_t>()) {
      if (number > static_cast<uint64_t>(INT64_MAX))
        throw tenon::NotImplementedError("it computes with " + std::to_string(number) +
                                         ", a number of u64 beyond those of i64");
    }
  }
  return tensor.to(tenon::i64);
}

Tensor in_dtype(const Tensor& result, DType dtype) {
  if (!is_stored_only(dtype) || result.dtype() != tenon::i64) return result;
  if (dtype == tenon::u64) {
    for (const int64_t number : result.to_vector<int64_t>()) {
      if (number < 0)
        throw tenon::NotImplementedError("a result is a number of u64 beyond those of i64");
    }
    return result.to(dtype);
  }
  const int64_t mask = dtype == tenon::u16 ? 0xffff : 0xffffffff;
  return tenon::bitwise_and(result, mask).to(dtype);
}

}  // namespace onnx
