// Second names of ops, as PyTorch and the array API have them: each calls the op, so that
// overrides, handlers and gradients are those of the op. A row is the struct, the name and the op.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

#define MATH_UNARY_ALIAS(Struct, name, op)                                                    \
  struct Struct {                                                                             \
    static constexpr auto schema = #name "(Tensor input, *, Tensor(a!)? out=None) -> Tensor"; \
    static constexpr auto doc = "Another name of " #op ".";                                   \
    static constexpr bool composite = true;                                                   \
    static Tensor forward(const Tensor& input, const Tensor& out) { return op(input, out); }  \
  };
#define MATH_BINARY_ALIAS(Struct, name, op)                                                    \
  struct Struct {                                                                              \
    static constexpr auto schema =                                                             \
        #name "(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor"; \
    static constexpr auto doc = "Another name of " #op ".";                                    \
    static constexpr bool composite = true;                                                    \
    static Tensor forward(const Argument& input, const Argument& other, const Tensor& out) {   \
      return op(input, other, out);                                                            \
    }                                                                                          \
  };

MATH_UNARY_ALIAS(Absolute, absolute, abs)
MATH_UNARY_ALIAS(Arccos, arccos, acos)
MATH_UNARY_ALIAS(Arccosh, arccosh, acosh)
MATH_UNARY_ALIAS(Arcsin, arcsin, asin)
MATH_UNARY_ALIAS(Arcsinh, arcsinh, asinh)
MATH_UNARY_ALIAS(Arctan, arctan, atan)
MATH_UNARY_ALIAS(Arctanh, arctanh, atanh)
MATH_UNARY_ALIAS(BitwiseInvert, bitwise_invert, bitwise_not)
MATH_UNARY_ALIAS(Fix, fix, trunc)
MATH_UNARY_ALIAS(Negative, negative, neg)

MATH_BINARY_ALIAS(Arctan2, arctan2, atan2)
MATH_BINARY_ALIAS(Divide, divide, div)
MATH_BINARY_ALIAS(Greater, greater, gt)
MATH_BINARY_ALIAS(GreaterEqual, greater_equal, ge)
MATH_BINARY_ALIAS(Less, less, lt)
MATH_BINARY_ALIAS(LessEqual, less_equal, le)
MATH_BINARY_ALIAS(Multiply, multiply, mul)
MATH_BINARY_ALIAS(NotEqual, not_equal, ne)
MATH_BINARY_ALIAS(TrueDivide, true_divide, div)

struct Subtract {
  static constexpr auto schema =
      "subtract(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!)? out=None) "
      "-> Tensor";
  static constexpr auto doc = "Another name of sub.";
  static constexpr bool composite = true;
  static Tensor forward(const Argument& input, const Argument& other, const Scalar& alpha,
                        const Tensor& out) {
    static const Op op("sub");
    return op.call<Tensor>(input, other, alpha, out);
  }
};

struct Clip {
  static constexpr auto schema =
      "clip(Tensor input, Scalar? min=None, Scalar? max=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}, "min": -0.5, "max": 0.5}])";
  static constexpr auto doc = "Another name of clamp.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max,
                        const Tensor& out) {
    return clamp(input, min, max, out);
  }
};

struct Concat {
  static constexpr auto schema =
      "concat(Tensor[] tensors, int dim=0, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Another name of cat.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList tensors, int64_t dim) {
    static const Op op("cat");
    return op.call<Tensor>(tensors, dim);
  }
};

struct Concatenate : Concat {
  static constexpr auto schema =
      "concatenate(Tensor[] tensors, int dim=0, *, Tensor(a!)? out=None) -> Tensor";
};

struct Swapaxes {
  static constexpr auto schema = "swapaxes(Tensor(a) input, int axis0, int axis1) -> Tensor(a)";
  static constexpr auto doc = "Another name of transpose.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t axis0, int64_t axis1) {
    return transpose(input, axis0, axis1);
  }
};

struct Swapdims {
  static constexpr auto schema = "swapdims(Tensor(a) input, int dim0, int dim1) -> Tensor(a)";
  static constexpr auto doc = "Another name of transpose.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t dim0, int64_t dim1) {
    return transpose(input, dim0, dim1);
  }
};

struct Moveaxis {
  static constexpr auto schema =
      "moveaxis(Tensor(a) input, int[] source, int[] destination) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 2]}, "source": [0], "destination": [-1]}])";
  static constexpr auto doc = "Another name of movedim.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList source, IntList destination) {
    return movedim(input, source, destination);
  }
};

struct Astype {
  static constexpr auto schema = "astype(Tensor(a) input, dtype dtype) -> Tensor(a)";
  static constexpr auto doc = "Another name of to.";
  static constexpr bool composite = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& input, DType dtype) { return to(input, dtype); }
};

}  // namespace

TENON_OPS(BitwiseInvert, Concat, Concatenate, Swapaxes, Swapdims, Moveaxis, Astype)
TENON_OPS_WITH_IN_PLACE(Absolute, Arccos, Arccosh, Arcsin, Arcsinh, Arctan, Arctanh, Fix, Negative,
                        Arctan2, Divide, Greater, GreaterEqual, Less, LessEqual, Multiply)
TENON_OPS_WITH_IN_PLACE(NotEqual, TrueDivide, Subtract, Clip)
