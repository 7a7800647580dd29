// New tensors of one value, and the identity matrix.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

Tensor filled(IntList size, const Scalar& value, DType dtype) {
  const Tensor result = empty_tensor(size, dtype);
  fill_elements(result, value);
  return result;
}
DType choose(DType asked, DType otherwise) { return asked == DType::none ? otherwise : asked; }
DType dtype_for(const Scalar& value) {
  return value.is_floating() ? f32 : value.is_bool() ? boolean : i64;
}

// `like` is an example: its tensor type is asked to make the tensor. Of a plain one nothing is
// read.
struct Empty {
  static constexpr auto schema =
      "empty(int[] size, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto samples = R"([{"size": [2, 3], "check": {"deterministic": false}}])";
  static constexpr auto doc = "A tensor whose elements are whatever the memory held.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(IntList size, DType dtype, const Tensor&) {
    return empty_tensor(size, choose(dtype, f32));
  }
};

struct Zeros {
  static constexpr auto schema =
      "zeros(int[] size, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc = "A tensor of zeros.";
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(IntList size, DType dtype, const Tensor&) {
    return empty_tensor(size, choose(dtype, f32));
  }
  static Tensor forward(IntList size, DType dtype, const Tensor&) {
    return filled(size, 0, choose(dtype, f32));
  }
};

struct Ones {
  static constexpr auto schema =
      "ones(int[] size, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc = "A tensor of ones.";
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(IntList size, DType dtype, const Tensor&) {
    return empty_tensor(size, choose(dtype, f32));
  }
  static Tensor forward(IntList size, DType dtype, const Tensor&) {
    return filled(size, 1, choose(dtype, f32));
  }
};

struct Full {
  static constexpr auto schema =
      "full(int[] size, Scalar value, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc = "A tensor of one value; its dtype is the value's: bool, i64 or f32.";
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(IntList size, const Scalar& value, DType dtype, const Tensor&) {
    return empty_tensor(size, choose(dtype, dtype_for(value)));
  }
  static Tensor forward(IntList size, const Scalar& value, DType dtype, const Tensor&) {
    return filled(size, value, choose(dtype, dtype_for(value)));
  }
};

// Tensors like another take its shape and dtype; never its history.
struct ZerosLike {
  static constexpr auto schema = "zeros_like(Tensor input, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "Zeros in the shape and dtype of input.";
  static constexpr bool any_dtype = true;
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(const Tensor& input, DType dtype) {
    return empty_tensor(input.shape(), choose(dtype, input.dtype()));
  }
  static Tensor forward(const Tensor& input, DType dtype) {
    return filled(input.shape(), 0, choose(dtype, input.dtype()));
  }
};

struct OnesLike {
  static constexpr auto schema = "ones_like(Tensor input, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "Ones in the shape and dtype of input.";
  static constexpr bool any_dtype = true;
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(const Tensor& input, DType dtype) {
    return empty_tensor(input.shape(), choose(dtype, input.dtype()));
  }
  static Tensor forward(const Tensor& input, DType dtype) {
    return filled(input.shape(), 1, choose(dtype, input.dtype()));
  }
};

struct FullLike {
  static constexpr auto schema =
      "full_like(Tensor input, Scalar value, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "One value in the shape and dtype of input.";
  static constexpr bool any_dtype = true;
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(const Tensor& input, const Scalar&, DType dtype) {
    return empty_tensor(input.shape(), choose(dtype, input.dtype()));
  }
  static Tensor forward(const Tensor& input, const Scalar& value, DType dtype) {
    return filled(input.shape(), value, choose(dtype, input.dtype()));
  }
};

struct Eye {
  static constexpr auto schema =
      "eye(int n, int? m=None, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc =
      "A matrix of n rows and m (or n) columns, ones on its diagonal, zeros elsewhere.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(int64_t n, std::optional<int64_t> m, DType dtype, const Tensor&) {
    const int64_t size[] = {n, m.value_or(n)};
    const Tensor result = filled({size, 2}, 0, choose(dtype, f32));
    if (result.numel() == 0) return result;  // its row may be as long as numbers go
    const int64_t length[] = {size[0] < size[1] ? size[0] : size[1]}, stride[] = {size[1] + 1};
    fill_elements(alias_tensor(result, {length, 1}, {stride, 1}, 0), 1);
    return result;
  }
};

}  // namespace

TENON_OPS(Empty, Zeros, Ones, Full, ZerosLike, OnesLike, FullLike, Eye)
