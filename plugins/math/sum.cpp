// sum, mean and sum_to_size.
#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

// The total as a number: unsigned ones stand for wrapped integers.
double number(double total) { return total; }
int64_t number(uint64_t total) { return static_cast<int64_t>(total); }

// Sums `input` into `result`, whose dtype is f32, f64 or i64; divides by the extent for a mean.
void sum_into(const Tensor& input, const Reduction& plan, bool average, const Tensor& result) {
  void* data = result.view_record().data;
  const auto divisor = static_cast<double>(plan.extent);
  kernel::visit<computed_dtypes>(input.dtype(), [&](auto zero) {
    using Kernel = kernel::LaneKernel<kernel::SumPolicy<decltype(zero)>>;
    using Total = typename Kernel::Total;
    const auto run = [&](auto* to) {
      using Out = std::remove_pointer_t<decltype(to)>;
      if (average) {
        kernel::reduce<Kernel>(input, plan, [=](int64_t at, const Total& total) {
          to[at] = static_cast<Out>(static_cast<double>(number(total)) / divisor);
        });
      } else {
        kernel::reduce<Kernel>(input, plan, [=](int64_t at, const Total& total) {
          to[at] = static_cast<Out>(number(total));
        });
      }
    };
    if (result.dtype() == f32)
      run(static_cast<float*>(data));
    else if (result.dtype() == f64)
      run(static_cast<double*>(data));
    else
      run(static_cast<int64_t*>(data));
  });
}

// A contiguous complex tensor as its parts, [..., 2].
Tensor parts_of(const Tensor& input) {
  Shape shape(input.shape()), strides(input.strides());
  for (int64_t i = 0; i < strides.rank; ++i) strides[i] *= 2;
  shape.push(2);
  strides.push(1);
  return alias_tensor_as(input, real_dtype(input.dtype()), shape, strides, 0);
}
// Sums of complex numbers are those of their parts.
void sum_complex(const Tensor& input, Reduction plan, bool average, const Tensor& result) {
  plan.mask &= (1u << input.dim()) - 1;
  plan.shape.push(2);
  sum_into(parts_of(input), plan, average, parts_of(result));
}

Tensor complex_sum_or_mean(const char* op, const Tensor& input, const Reduction& plan, DType dtype,
                           const Tensor& out, bool average) {
  const DType result_dtype = dtype == DType::none ? input.dtype() : dtype;
  kernel::check_dtype(op, "dtype", result_dtype, complex_dtypes);
  const Tensor target = reduction_result(op, plan, result_dtype, out);
  const Tensor source = input.dtype() == result_dtype ? input : contiguous_as(input, result_dtype);
  const Tensor result = empty_tensor(plan.shape, result_dtype);
  sum_complex(source, plan, average, result);
  if (!out.defined()) return result;
  return deliver(result, target);
}

Tensor sum_or_mean(const char* op, const Tensor& input, std::optional<IntList> dim, bool keepdim,
                   DType dtype, const Tensor& out, bool average) {
  if (is_complex(input.dtype()) || is_complex(dtype)) {
    kernel::check_rank(op, input.dim() + 1);
    return complex_sum_or_mean(op, input, plan_reduction(op, input, dim, keepdim), dtype, out,
                               average);
  }
  const DType natural = is_floating(input.dtype()) ? input.dtype() : average ? f32 : i64;
  const DType result_dtype = dtype == DType::none ? natural : dtype;
  if (average && !is_floating(result_dtype)) {
    throw TypeError(std::string(op) + "(): a mean has a floating dtype, not " +
                    dtype_text(result_dtype) + ": ask for f32 or f64");
  }
  const Reduction plan = plan_reduction(op, input, dim, keepdim);
  const Tensor target = reduction_result(op, plan, result_dtype, out);
  // Elements are converted before they are added, as that dtype may hold more, or only truth.
  Tensor converted;
  if (result_dtype != natural) converted = contiguous_as(input, compute_dtype(result_dtype));
  const DType computed = is_floating(result_dtype) ? compute_dtype(result_dtype) : i64;
  const bool direct =
      computed == result_dtype &&
      (!out.defined() || (out.is_contiguous() &&
                          service::tensors().shares_storage(out.handle(), input.handle()) == 0));
  const Tensor result = direct ? target : empty_tensor(plan.shape, computed);
  sum_into(converted.defined() ? converted : input, plan, average, result);
  return deliver(result, target);
}

struct Sum {
  static constexpr auto schema =
      "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor(a!)? "
      "out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The sum over the given dimensions, or over all. Integers and bools give i64.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype,
                        const Tensor& out) {
    return sum_or_mean("sum", input, dim, keepdim, dtype, out, false);
  }
  static Tensor backward(ContextOf<Sum>& c, const Tensor& g) {
    return restore_dimensions("sum", g, c["input"_arg], c["dim"_arg], c["keepdim"_arg]);
  }
};

struct Mean {
  static constexpr auto schema =
      "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor(a!)? "
      "out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The mean over the given dimensions, or over all. Integers and bools give f32.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype,
                        const Tensor& out) {
    return sum_or_mean("mean", input, dim, keepdim, dtype, out, true);
  }
  static Tensor backward(ContextOf<Mean>& c, const Tensor& g) {
    const Tensor& input = c["input"_arg];
    const auto dim = c["dim"_arg];
    const bool keepdim = c["keepdim"_arg];
    const Reduction plan = plan_reduction("mean", input, dim, keepdim);
    return restore_dimensions("mean", g / plan.extent, input, dim, keepdim);
  }
};

struct SumToSize {
  static constexpr auto schema = "sum_to_size(Tensor input, int[] size) -> Tensor";
  static constexpr auto doc =
      "Sums over the dimensions that broadcasting from `size` would have repeated. Sums of "
      "integers "
      "and bools are i64.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList size) {
    const IntList shape = input.shape();
    const int64_t leading = shape.size() - size.size();
    Reduction plan;
    bool fits = leading >= 0;
    for (int64_t i = 0; fits && i < shape.size(); ++i) {
      if (i >= leading && size[i - leading] == shape[i]) continue;
      fits = i < leading || size[i - leading] == 1;
      plan.mask |= 1u << i;
      plan.extent *= shape[i];
    }
    if (!fits) {
      throw ValueError("sum_to_size(): shape " + shape_text(shape) +
                       " does not come from broadcasting " + shape_text(size));
    }
    plan.shape = Shape(size);
    const bool sums = plan.mask != 0 && !is_differentiable(input.dtype());
    const Tensor result = empty_tensor(size, sums ? i64 : input.dtype());
    if (plan.mask == 0)
      copy_elements(result, input);
    else if (is_complex(input.dtype()))
      sum_complex(input, plan, false, result);
    else
      sum_into(input, plan, false, result);
    return result;
  }
  static Tensor backward(ContextOf<SumToSize>& c, const Tensor& g) {
    return g.expand(c["input"_arg].shape());
  }
};

}  // namespace

TENON_OPS(Sum, Mean, SumToSize)
