// Elementwise ops: functions of one and two operands, changes in place, fills.
#include "opencl/elementwise.hpp"

#include <optional>
#include <string>

#include <tenon/plugin.hpp>

#include "opencl/runtime.hpp"

namespace {

using namespace tenon_opencl;
using tenon::Argument;
using tenon::Results;
using tenon::Scalar;
using tenon::Tensor;

Results unary(const char* kernel, const Tensor& input) {
  if (!is_simple(input)) return tenon::not_implemented;
  const Tensor result = empty_like(input, input.shape());
  if (input.numel() > 0) {
    instance_of(input).run(kernel, {loop_items(input.numel())}, {kLoopGroup}, memory_of(input),
                           memory_of(result), static_cast<cl_ulong>(input.numel()));
  }
  return result;
}

// An operand of a binary op: a tensor of the device, or a number.
struct Operand {
  Tensor tensor;  // undefined: a number
  float number = 0;

  // None where it is neither.
  static std::optional<Operand> of(const Argument& argument) {
    const tenon_value& value = argument.value();
    Operand operand;
    if (value.tag != TENON_VALUE_TENSOR) {
      operand.number = Scalar(value).to<float>();
      return operand;
    }
    operand.tensor = Tensor::borrow(value.as.tensor);
    if (is_simple(operand.tensor)) return operand;
    if (tenon::is<OpenclTensor>(operand.tensor) || operand.tensor.dim() != 0 ||
        operand.tensor.dtype() != tenon::f32)
      return std::nullopt;
    operand.number = operand.tensor.item<float>();
    operand.tensor = Tensor();
    return operand;
  }
};

// Whether the smaller shape is the end of the larger one, so that its elements repeat.
bool repeats_in(const Tensor& small, const Tensor& large) {
  if (small.numel() == 1) return small.dim() <= large.dim();
  if (small.dim() > large.dim() || small.numel() == 0) return false;
  for (int64_t d = 1; d <= small.dim(); ++d) {
    if (small.shape()[small.dim() - d] != large.shape()[large.dim() - d]) return false;
  }
  return true;
}

// Whether a kernel that writes `into` would read what it has written, of another place of `operand`.
bool overlaps(const Tensor& into, const Tensor& operand) {
  if (!into.defined() || !operand.defined() || operand.numel() == 0) return false;
  const auto* a = static_cast<const float*>(tenon::device::elements(into));
  const auto* b = static_cast<const float*>(tenon::device::elements(operand));
  if (a == b && into.numel() == operand.numel()) return false;
  return b < a + into.numel() && a < b + operand.numel();
}

// Into `into`, or a new tensor where that is undefined.
Results binary(const std::string& kernel, const Argument& left, const Argument& right, float alpha,
               const Tensor& into) {
  const std::optional<Operand> a = Operand::of(left), b = Operand::of(right);
  if (!a || !b || (!a->tensor.defined() && !b->tensor.defined())) return tenon::not_implemented;
  if (into.defined() && !is_simple(into)) return tenon::not_implemented;
  const Tensor &x = a->tensor, &y = b->tensor;
  if (overlaps(into, x) || overlaps(into, y)) return tenon::not_implemented;
  const Tensor& like = !x.defined() ? y : !y.defined() || repeats_in(y, x) ? x : y;
  if (x.defined() && y.defined() &&
      (!(repeats_in(x, like) && repeats_in(y, like)) ||
       tenon::device::index_of<OpenclTensor>(x) != tenon::device::index_of<OpenclTensor>(y)))
    return tenon::not_implemented;
  if (into.defined() && into.sizes() != like.sizes()) return tenon::not_implemented;
  const Tensor result = into.defined() ? into : empty_like(like, like.shape());
  const int64_t count = result.numel();
  if (count == 0) return result;
  Instance& device = instance_of(like);
  const auto n = static_cast<cl_ulong>(count);
  const auto run = [&](const char* suffix, const auto&... operands) {
    device.run((kernel + suffix).c_str(), {loop_items(count)}, {kLoopGroup}, operands...,
               memory_of(result), n, alpha);
  };
  if (!y.defined()) {
    run("_number", memory_of(x), b->number);
  } else if (!x.defined()) {
    run("_of_number", a->number, memory_of(y));
  } else if (x.numel() == count && y.numel() == count) {
    run("", memory_of(x), memory_of(y));
  } else {
    run("_repeated", memory_of(x), memory_of(y), static_cast<cl_ulong>(x.numel()),
        static_cast<cl_ulong>(y.numel()));
  }
  return result;
}

#define OPENCL_UNARY(kernel, op, expression)                                               \
  struct Unary_##kernel {                                                                  \
    static constexpr auto schema = op "(Tensor input) -> Tensor";                          \
    static constexpr auto types = "opencl";                                                \
    static Results forward(const Tensor& input) { return unary("unary_" #kernel, input); } \
  };
OPENCL_UNARY_OPS(OPENCL_UNARY)
#undef OPENCL_UNARY

#define OPENCL_BINARY(kernel, op, expression)                                                 \
  struct Binary_##kernel {                                                                    \
    static constexpr auto schema = op "(Tensor|Scalar input, Tensor|Scalar other) -> Tensor"; \
    static constexpr auto types = "opencl";                                                   \
    static Results forward(Argument input, Argument other) {                                  \
      return binary("binary_" #kernel, input, other, 1, Tensor());                            \
    }                                                                                         \
  };
OPENCL_BINARY_OPS(OPENCL_BINARY)
#undef OPENCL_BINARY

// ---- with a factor, and in place ----

struct Add {
  static constexpr auto schema =
      "add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(Argument input, Argument other, Scalar alpha) {
    return binary("binary_add", input, other, alpha.to<float>(), Tensor());
  }
};
struct Sub {
  static constexpr auto schema =
      "sub(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(Argument input, Argument other, Scalar alpha) {
    return binary("binary_sub", input, other, alpha.to<float>(), Tensor());
  }
};
struct AddInPlace {
  static constexpr auto schema =
      "add_(Tensor(a!) input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Argument other, Scalar alpha) {
    return binary("binary_add", Argument(input), other, alpha.to<float>(), input);
  }
};
struct SubInPlace {
  static constexpr auto schema =
      "sub_(Tensor(a!) input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Argument other, Scalar alpha) {
    return binary("binary_sub", Argument(input), other, alpha.to<float>(), input);
  }
};
struct MulInPlace {
  static constexpr auto schema = "mul_(Tensor(a!) input, Tensor|Scalar other) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Argument other) {
    return binary("binary_mul", Argument(input), other, 1, input);
  }
};

Results fill(const Tensor& input, float value) {
  if (!is_simple(input)) return tenon::not_implemented;
  if (input.numel() > 0) {
    instance_of(input).run("fill", {loop_items(input.numel())}, {kLoopGroup}, memory_of(input),
                           static_cast<cl_ulong>(input.numel()), value);
  }
  return input;
}
struct Fill {
  static constexpr auto schema = "fill_(Tensor(a!) input, Scalar value) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Scalar value) {
    return fill(input, value.to<float>());
  }
};
struct Zero {
  static constexpr auto schema = "zero_(Tensor(a!) input) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input) { return fill(input, 0); }
};

struct Sgd {
  static constexpr auto schema =
      "optim.sgd_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!)? momentum_buffer=None, *, "
      "float learning_rate, float momentum=0.0, float dampening=0.0, float weight_decay=0.0, bool "
      "nesterov=False) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& parameter, const Tensor& gradient, const Tensor&,
                         double learning_rate, double momentum, double, double weight_decay, bool) {
    if (momentum != 0 || !is_simple(parameter) || !is_simple(gradient) ||
        parameter.sizes() != gradient.sizes() || overlaps(parameter, gradient))
      return tenon::not_implemented;
    if (parameter.numel() > 0) {
      instance_of(parameter).run(
          "sgd", {loop_items(parameter.numel())}, {kLoopGroup}, memory_of(parameter),
          memory_of(gradient), static_cast<cl_ulong>(parameter.numel()),
          static_cast<float>(learning_rate), static_cast<float>(weight_decay));
    }
    return parameter;
  }
};

}  // namespace

#define OPENCL_REGISTER(kernel, op, expression) TENON_OVERRIDE(Unary_##kernel)
OPENCL_UNARY_OPS(OPENCL_REGISTER)
#undef OPENCL_REGISTER
#define OPENCL_REGISTER(kernel, op, expression) TENON_OVERRIDE(Binary_##kernel)
OPENCL_BINARY_OPS(OPENCL_REGISTER)
#undef OPENCL_REGISTER
TENON_OVERRIDE(Add)
TENON_OVERRIDE(Sub)
TENON_OVERRIDE(AddInPlace)
TENON_OVERRIDE(SubInPlace)
TENON_OVERRIDE(MulInPlace)
TENON_OVERRIDE(Fill)
TENON_OVERRIDE(Zero)
TENON_OVERRIDE(Sgd)
