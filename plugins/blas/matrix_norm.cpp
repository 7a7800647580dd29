// linalg.matrix_norm and linalg.cond.
#include <algorithm>
#include <limits>

#include <tenon/call.hpp>

#include "linalg.hpp"

namespace {

using tenon::Argument;
using tenon::DType;
using tenon::IntList;
using tenon::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t last_two[] = {-2, -1};

struct Order {
  enum Kind { frobenius, nuclear, number } kind;
  double value;  // 1, 2 or infinity, or the negative of one
};
std::string text_of(const tenon_value& value) {
  tenon::Value text;
  tenon::detail::check(tenon::service::values().text, &value, text.slot());
  return text.text();
}
Order order_of(const char* op, const char* name, const Argument& ord) {
  const tenon_value& value = ord.value();
  if (value.tag == TENON_VALUE_STRING) {
    const std::string_view text(value.as.string, value.length);
    if (text == "fro") return {Order::frobenius, 0};
    if (text == "nuc") return {Order::nuclear, 0};
  }
  if (value.tag == TENON_VALUE_INT || value.tag == TENON_VALUE_FLOAT) {
    const auto number = tenon::Scalar(value).to<double>();
    for (const double known : {1.0, 2.0, infinity}) {
      if (std::fabs(number) == known) return {Order::number, number};
    }
  }
  throw tenon::ValueError(std::string(op) + "(): '" + name + "' is " + text_of(value) +
                          ", expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf");
}

// The norm over the last two dimensions.
Tensor norm_of(const Tensor& a, const Order& order) {
  if (order.kind == Order::frobenius) return tenon::vector_norm(a, 2.0, IntList(last_two, 2));
  if (order.kind == Order::nuclear) return tenon::linalg::svdvals(a).sum(-1);
  const bool spectral = std::fabs(order.value) == 2;
  const Tensor lengths =
      spectral ? tenon::linalg::svdvals(a) : a.abs().sum(std::fabs(order.value) == 1 ? -2 : -1);
  return order.value > 0 ? lengths.amax(-1) : lengths.amin(-1);
}

struct MatrixNorm {
  static constexpr auto schema =
      "linalg.matrix_norm(Tensor A, any ord='fro', int[2] dim=[-2, -1], bool keepdim=False, *, "
      "dtype? dtype=None, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 3]}}, {"A": {"shape": [3, 2, 2]}, "ord": "nuc"},
          {"A": {"shape": [2, 3]}, "ord": 1}, {"A": {"shape": [2, 3]}, "ord": -2},
          {"A": {"shape": [3, 2, 2]}, "ord": 2, "dim": [0, 2], "keepdim": true},
          {"A": {"shape": [2, 3], "dtype": "c128"}, "ord": "nuc"}])";
  static constexpr auto doc =
      "The norm of the matrices in two dimensions. ord is 'fro': the root of the sum of squares; "
      "'nuc': the sum of the singular values; 1 and inf: the largest sum of magnitudes of a column "
      "and of a row, -1 and -inf: the smallest; 2 and -2: the largest and the smallest singular "
      "value. Without elements the first two are 0 and the others an error.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& a, const Argument& ord, IntList dim, bool keepdim,
                        DType dtype) {
    const Order order = order_of("matrix_norm", "ord", ord);
    blas::check_matrices("matrix_norm", "A", a);
    const int64_t row = a.wrap_dimension(dim[0]), column = a.wrap_dimension(dim[1]);
    if (row == column) {
      throw tenon::ValueError("matrix_norm(): dim names dimension " + std::to_string(row) +
                              " twice; name two dimensions");
    }
    const Tensor x = dtype == DType::none ? a : a.to(dtype);
    const Tensor norm = norm_of(x.movedim({row, column}, IntList(last_two, 2)), order);
    if (!keepdim) return norm;
    return norm.unsqueeze(std::min(row, column)).unsqueeze(std::max(row, column));
  }
};

struct Cond {
  static constexpr auto schema =
      "linalg.cond(Tensor A, any p=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"A": {"shape": [2, 3]}}, {"A": {"shape": [2, 2], "values": [2, 0.5, -0.3, 1.5]}, "p": "fro"},
          {"A": {"shape": [2, 2, 2], "values": [2, 0.5, -0.3, 1.5, 1, 0.2, 0.4, -2]}, "p": 1}])";
  static constexpr auto doc =
      "The condition numbers of matrices [..., m, n]: [...]. p is None, 2 or -2: the ratio of the "
      "largest and the smallest singular value, or its inverse; or another ord of matrix_norm(): "
      "the norm of A times that of its inverse, for square matrices, inf where A is singular.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& a, const Argument& p) {
    const bool plain = p.value().tag == TENON_VALUE_NONE;
    const Order order = plain ? Order{Order::number, 2} : order_of("cond", "p", p);
    if (order.kind == Order::number && std::fabs(order.value) == 2) {
      blas::check_matrices("cond", "A", a);
      const Tensor values = tenon::linalg::svdvals(a);
      const Tensor largest = values.amax(-1), smallest = values.amin(-1);
      return order.value > 0 ? largest / smallest : smallest / largest;
    }
    blas::check_square("cond", "A", a);
    const Tensor singular = std::get<0>(tenon::linalg::slogdet(a.detach())).eq(0);
    const Tensor regular = tenon::where(singular.unsqueeze(-1).unsqueeze(-1),
                                        tenon::eye(a.size(-1), tenon::none, a.dtype()), a);
    const Tensor number = norm_of(regular, order) * norm_of(tenon::linalg::inv(regular), order);
    return number.masked_fill(singular, infinity);
  }
};

}  // namespace
TENON_OPS(MatrixNorm, Cond)
