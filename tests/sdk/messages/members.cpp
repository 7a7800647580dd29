// expect: drop composite, or the backward
// expect: drop composite, or the jvp
// expect: composite contradicts once_differentiable, zero_gradient
// expect: a composite op has a forward made of ops, without element, saves or setup_context
// expect: an op has one of `element` and `forward`
// expect: both 'backward' and 'vjp' are given
// expect: once_differentiable and twice_differentiable contradict each other
// expect: zero_gradient says that there is no gradient: drop it, or the backward
// expect: need a backward; none is defined
// expect: clear_saved_tensors_on_access needs a backward; none is defined
// expect: jvp_once_differentiable needs a jvp; none is defined
// expect: jvp = pointwise needs a backward; none is defined
// expect: saves keeps tensors for a backward or a jvp, and there is neither
// expect: promotion, dtypes and costly are about element
// expect: backward takes one gradient for each result of the schema

#include <tenon/plugin.hpp>

using tenon::Context, tenon::Tensor;

struct CompositeBackward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};
TENON_OP(CompositeBackward)

struct CompositeJvp {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor jvp(Context&, const Tensor& t) { return t; }
};
TENON_OP(CompositeJvp)

struct CompositeOnce {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool composite = true;
  static constexpr bool once_differentiable = true;
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(CompositeOnce)

struct CompositeSaves {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool composite = true;
  static constexpr auto saves = "x";
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(CompositeSaves)

struct ElementForward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr auto element = [](auto a) { return a; };
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(ElementForward)

struct BackwardVjp {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
  static Tensor vjp(Context&, const Tensor& g) { return g; }
};
TENON_OP(BackwardVjp)

struct OnceTwice {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool once_differentiable = true;
  static constexpr bool twice_differentiable = true;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};
TENON_OP(OnceTwice)

struct ZeroBackward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};
TENON_OP(ZeroBackward)

struct TwiceWithoutBackward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool twice_differentiable = true;
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(TwiceWithoutBackward)

struct ClearWithoutBackward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool clear_saved_tensors_on_access = true;
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(ClearWithoutBackward)

struct JvpOnceWithoutJvp {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool jvp_once_differentiable = true;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};
TENON_OP(JvpOnceWithoutJvp)

struct PointwiseWithoutBackward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr auto jvp = tenon::pointwise;
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(PointwiseWithoutBackward)

struct SavesWithoutRule {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr auto saves = "x";
  static Tensor forward(const Tensor& x) { return x; }
};
TENON_OP(SavesWithoutRule)

struct DtypesWithForward {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr auto dtypes = tenon::floating_dtypes;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};
TENON_OP(DtypesWithForward)

struct ElementBackwardCount {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr auto element = [](auto a) { return a; };
  static Tensor backward(Context&, const Tensor& g, const Tensor&) { return g; }
};
TENON_OP(ElementBackwardCount)
