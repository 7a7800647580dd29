// Products of matrices, conversions of dtypes.
#include <limits>

#include "common.hpp"

namespace {

using namespace onnx;

struct Gemm {
  static constexpr auto schema =
      "onnx.gemm(Tensor A, Tensor B, Tensor? C=None, *, float alpha=1.0, float beta=1.0, bool "
      "transA=False, bool transB=False) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 3]}, "B": {"shape": [4, 3]}, "C": {"shape": [4]}, "transB": true}])";
  static constexpr auto doc =
      "alpha * A @ B + beta * C, A and B transposed where the flags say so.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& a, const Tensor& b, const Tensor& c, double alpha,
                        double beta, bool trans_a, bool trans_b) {
    if (a.dim() != 2 || b.dim() != 2)
      throw tenon::ValueError("onnx.gemm(): A and B have " + std::to_string(a.dim()) + " and " +
                              std::to_string(b.dim()) + " dimensions, expected 2");
    const Tensor left = trans_a ? a.t() : a;
    const bool vector = c.defined() && c.dim() == 1 && c.numel() == b.size(trans_b ? 0 : 1);
    if (trans_b && alpha == 1 && beta == 1 && tenon::is_floating(a.dtype()) &&
        (!c.defined() || vector))
      return functional::linear(left, b, c);
    Tensor product = tenon::matmul(left, trans_b ? b.t() : b);
    if (alpha != 1) product = (product * alpha).to(a.dtype());
    if (!c.defined() || beta == 0) return product;
    return product + (beta == 1 ? c : (c * beta).to(a.dtype()));
  }
};

struct Cast {
  static constexpr auto schema =
      "onnx.cast(Tensor(a) input, *, dtype to, bool saturate=True) -> Tensor(a)";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}, "to": "i32"},
          {"input": {"shape": [2, 3], "dtype": "i64"}, "to": "i64"},
          {"input": {"shape": [2, 3], "dtype": "f64"}, "to": "f64"}])";
  static constexpr auto doc =
      "The tensor in another dtype. Numbers beyond a small integer type wrap around, as in C; "
      "those "
      "beyond a floating type of 8 bits become its largest, or NaN in f8_e4m3 without saturate.";
  static constexpr bool composite = true;
  static constexpr bool any_dtype = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& given, DType to, bool saturate) {
    if (to == DType::f8_e8m0)
      throw tenon::NotImplementedError(
          "onnx.cast(): numbers are not converted to float8e8m0, whose rounding is a choice; "
          "compute the scales of blocks with block_quantize");
    const Tensor input =
        tenon::is_narrow(given.dtype()) && to != given.dtype() ? given.to(tenon::f32) : given;
    if (!saturate && to == DType::f8_e5m2 && to != given.dtype())
      throw tenon::NotImplementedError(
          "onnx.cast(): to float8e5m2 without saturate is not converted, since to() saturates "
          "infinities");
    if (!saturate && to == DType::f8_e4m3 && to != given.dtype()) return unsaturated(input).to(to);
    const bool number = tenon::is_differentiable(input.dtype());
    const bool small = to == tenon::u8 || to == tenon::i8 || to == tenon::i16 || to == tenon::u16 ||
                       to == tenon::i32 || to == tenon::u32;
    return number && small ? input.to(tenon::i64).to(to) : input.to(to);
  }

 private:
  // Numbers that round to more than the largest one, 448, become NaN; 464 is half way to the next, and even here.
  static Tensor unsaturated(const Tensor& input) {
    const Tensor x = input.to(tenon::f32);
    return tenon::where(tenon::gt(tenon::abs(x), 464),
                        number_like(x, std::numeric_limits<double>::quiet_NaN()), x);
  }
};

struct CastLike {
  static constexpr auto schema =
      "onnx.cast_like(Tensor(a) input, Tensor target_type, *, bool saturate=True) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target_type": {"shape": [1]}},
          {"input": {"shape": [2, 3]}, "target_type": {"shape": [1], "dtype": "i64"}}])";
  static constexpr auto doc =
      "The tensor in the dtype of another one, converted as onnx.cast does.";
  static constexpr bool composite = true;
  static constexpr bool any_dtype = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& input, const Tensor& target, bool saturate) {
    return Cast::forward(input, target.dtype(), saturate);
  }
};

}  // namespace
TENON_OP(Gemm)
TENON_OP(Cast)
TENON_OP(CastLike)
