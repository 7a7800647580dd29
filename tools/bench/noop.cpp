// The plugin that is measured: ops that do nothing, so that a call of them takes what a call costs,
// an elementwise op as its author writes it, and the Functions and tensor types of the peer's
// benchmark.
#include <array>
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/override_definition.hpp>
#include <tenon/type_definition.hpp>

namespace {

using tenon::Argument;
using tenon::Context;
using tenon::ContextOf;
using tenon::Tensor;
using namespace tenon::literals;

struct First {
  static constexpr auto schema = "bench.first(Tensor input, Tensor other) -> Tensor";
  static constexpr auto doc = "The first operand.";
  static Tensor forward(const Tensor& input, const Tensor&) { return input; }
};
struct Nothing {
  static constexpr auto schema = "bench.nothing(Tensor input, Tensor other) -> ()";
  static constexpr auto doc = "No result.";
  static void forward(const Tensor&, const Tensor&) {}
};
struct Fresh {
  static constexpr auto schema = "bench.fresh(Tensor input, Tensor other) -> Tensor";
  static constexpr auto doc = "A new result that is left uninitialized.";
  static Tensor forward(const Tensor& input, const Tensor&) {
    return tenon::empty_tensor(input.shape(), input.dtype());
  }
};
struct Mish {
  static constexpr auto schema = "bench.mish(Tensor input) -> Tensor";
  static constexpr auto doc = "input * tanh(softplus(input)).";
  static constexpr auto promotion = tenon::promote_float;
  static constexpr auto element = [](auto x) { return x * std::tanh(std::log1p(std::exp(x))); };
};
struct MulConstant {
  static constexpr auto schema = "bench.mul_constant(Tensor x, float c) -> Tensor";
  static constexpr auto doc = "x * c.";
  static Tensor forward(Context&, const Tensor& x, double c) { return x * c; }
  static Tensor backward(ContextOf<MulConstant>& context, const Tensor& g) {
    return g * context["c"_arg];
  }
};
struct LinearFunction {
  static constexpr auto schema =
      "bench.linear_function(Tensor input, Tensor weight, Tensor bias) -> Tensor";
  static constexpr auto doc = "input times the transposed weight, plus bias.";
  static Tensor forward(Context& context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    context.save_for_backward({input, weight, bias});
    const Tensor output = tenon::mm(input, weight.t());
    output.add_(bias);
    return output;
  }
  static std::array<Tensor, 3> backward(Context& context, const Tensor& g) {
    return {tenon::mm(g, context.saved(1)), tenon::mm(g.t(), context.saved(0)), g.sum(0)};
  }
};

// A table of overrides for a type unrelated to Tensor.
struct ScalarTensor {
  static constexpr auto name = "BenchScalarTensor";
  static constexpr auto doc = "value times the identity matrix of order n.";
  static constexpr bool partial = true;
  int64_t n = 0;
  double value = 0;
  std::array<int64_t, 2> shape() const { return {n, n}; }
  Tensor to_tensor() const { return tenon::eye(n) * value; }
};
struct AddScalarTensors {
  static constexpr auto schema = "add(Tensor|Scalar input, Tensor|Scalar other) -> Tensor";
  static constexpr auto types = "BenchScalarTensor";
  static Tensor forward(const Argument& input, const Argument& other) {
    const ScalarTensor* a = scalar_tensor(input);
    const ScalarTensor* b = scalar_tensor(other);
    if (a == nullptr || b == nullptr)
      return tenon::ensure_tensor(input) + tenon::ensure_tensor(other);
    if (a->n != b->n) throw tenon::ValueError("Shape mismatch!");
    return tenon::make<ScalarTensor>(a->n, a->value + b->value);
  }
  // Null when it is something else.
  static const ScalarTensor* scalar_tensor(const Argument& value) {
    if (value.value().tag != TENON_VALUE_TENSOR) return nullptr;
    return tenon::try_as<ScalarTensor>(Tensor::borrow(value.value().as.tensor));
  }
};
struct MeanOfScalarTensor {
  static constexpr auto schema = "mean(Tensor input) -> float";
  static constexpr auto types = "BenchScalarTensor";
  static double forward(const Tensor& input) {
    const auto& self = tenon::as<ScalarTensor>(input);
    return self.value / static_cast<double>(self.n);
  }
};
// Subclasses of Tensor: the default handler, and a handler that only forwards.
struct SubTensor {
  static constexpr auto name = "BenchSubTensor";
  static constexpr auto parent = "Tensor";
};
struct ForwardingTensor {
  static constexpr auto name = "BenchForwardingTensor";
  static constexpr auto parent = "Tensor";
  static tenon::Results tenon_function(const tenon::Call& call) { return call.call_parent(); }
};
struct MakeTyped {
  static constexpr auto schema = "bench.make_typed(str type) -> Tensor";
  static constexpr auto doc = "An object of one of the types, of one element or order 5.";
  static Tensor forward(std::string_view type) {
    if (type == ScalarTensor::name) return tenon::make<ScalarTensor>(int64_t{5}, 2.0);
    const Tensor one = tenon::ones({1});
    return type == SubTensor::name ? tenon::wrap<SubTensor>(one)
                                   : tenon::wrap<ForwardingTensor>(one);
  }
};

}  // namespace

TENON_OP(First)
TENON_OP(Nothing)
TENON_OP(Fresh)
TENON_OP(Mish)
TENON_OP(MulConstant)
TENON_OP(LinearFunction)

TENON_OP(MakeTyped)
TENON_TYPE(ScalarTensor)
TENON_TYPE(SubTensor)
TENON_TYPE(ForwardingTensor)
TENON_OVERRIDE(AddScalarTensors)
TENON_OVERRIDE(MeanOfScalarTensor)

TENON_PLUGIN(bench, "1.0.0")
