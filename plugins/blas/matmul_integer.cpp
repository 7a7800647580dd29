// matmul_integer: products of quantized matrices, less their zero points.
#include "product.hpp"

namespace {

using tenon::Tensor;

// The elements less their zero point: one, or one for each row of the left or column of the right.
Tensor without_zero(const char* name, const Tensor& x, const Tensor& zero_point, bool rows) {
  constexpr auto op = "matmul_integer";
  tenon::kernel::check_dtype(op, name, x.dtype(), tenon::integer_dtypes);
  const Tensor numbers = x.to(tenon::i32);
  if (!zero_point.defined()) return numbers;
  tenon::kernel::check_same_dtype(op, name, x, "its zero point", zero_point);
  const Tensor zero = zero_point.to(tenon::i32);
  if (zero.numel() == 1) return numbers - zero.reshape(tenon::IntList());
  const Tensor each = rows && zero.dim() == 1 ? zero.unsqueeze(-1) : zero;
  // Zero points never make more numbers of those that there are.
  bool fits = each.dim() <= x.dim();
  for (int64_t i = 1; fits && i <= each.dim(); ++i)
    fits = each.size(-i) == 1 || each.size(-i) == x.size(-i);
  if (!fits) {
    throw tenon::ValueError("matmul_integer(): the zero point of '" + std::string(name) +
                            "' must be one number, or one for each " + (rows ? "row" : "column") +
                            " of shape " + tenon::kernel::shape_text(x) + ", got shape " +
                            tenon::kernel::shape_text(zero));
  }
  return numbers - each;
}

struct MatmulInteger {
  static constexpr auto schema =
      "matmul_integer(Tensor input, Tensor other, Tensor? input_zero_point=None, Tensor? "
      "other_zero_point=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "u8"}, "other": {"shape": [3, 4], "dtype": "i8"}},
          {"input": {"shape": [2, 3], "dtype": "u8"}, "other": {"shape": [3, 2], "dtype": "u8"},
           "input_zero_point": {"values": [1, 2], "dtype": "u8"},
           "other_zero_point": {"values": [3], "dtype": "u8"}}])";
  static constexpr auto doc =
      "(input - input_zero_point) @ (other - other_zero_point) of integers, in i32, which wraps "
      "around. A zero point is one number, or one for each row of input or column of other (ONNX' "
      "MatMulInteger).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& other, const Tensor& input_zero_point,
                        const Tensor& other_zero_point) {
    static const tenon::Op matmul("matmul");
    return matmul.call<Tensor>(without_zero("input", input, input_zero_point, true),
                               without_zero("other", other, other_zero_point, false));
  }
};

}  // namespace
TENON_OP(MatmulInteger)
