// prod.
#include <tenon/kernel/complex.hpp>

#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

template <class T>
struct ProductPolicy {
  using In = T;
  using Lane = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  struct Total {
    Lane value = 1;
  };
  static constexpr int64_t block_elements = 4096;
  static constexpr bool separates_nan = false;
  static constexpr Lane identity() { return 1; }
  template <class V, class X>
  TENON_INLINE static void step(V& lanes, const X& elements) {
    V converted;
    kernel::convert(converted, elements);
    lanes *= converted;
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {
    lanes *= others;
  }
  TENON_INLINE static void add(Total& total, Lane lane) { total.value *= lane; }
  static void merge(Total& total, const Total& other) { total.value *= other.value; }
};

// For each element the product of those before it along `dim`, by doubling; ops only.
Tensor product_before(const Tensor& input, int64_t dim) {
  const int64_t size = input.shape()[dim];
  const Tensor first = ones_like(input.narrow(dim, 0, 1));
  if (size == 1) return first;
  Tensor result = cat({first, input.narrow(dim, 0, size - 1)}, dim);
  for (int64_t step = 1; step < size; step *= 2) {
    const Tensor shifted =
        cat({ones_like(input.narrow(dim, 0, step)), result.narrow(dim, 0, size - step)}, dim);
    result = result * shifted;
  }
  return result;
}

// The derivative of the product by each element: the product of all others.
Tensor product_of_others(const Tensor& given, std::optional<int64_t> dim, bool keepdim,
                         const Tensor& result) {
  const Tensor input = given.to(result.dtype());
  if (input.numel() == 0) return input;
  const Tensor source = dim && input.dim() != 0 ? input : input.reshape({-1});
  const int64_t along = dim ? wrap_dimension("prod", *dim, input.dim()) : 0;
  bool has_zero;
  {
    const NoGrad scope;
    has_zero = eq(input, 0).any().item<bool>();
  }
  if (!has_zero) {
    const bool dropped = dim && input.dim() != 0 && !keepdim;
    return (dropped ? result.unsqueeze(along) : result) / input;
  }
  // Division would lose what a zero hides.
  const auto of_others = [&](const Tensor& factors) {
    const Tensor after = product_before(factors.flip({along}), along).flip({along});
    return product_before(factors, along) * after;
  };
  const Tensor others = of_others(source), lost = ne(others, others);
  if (!lost.any().item<bool>() || !isfinite(source).all().item<bool>())
    return others.reshape(input.shape());
  // One side has overflown beside a zero on the other.
  const Tensor hidden = eq(of_others(ne(source, 0).to(source.dtype())), 0);
  return masked_fill(others, logical_and(lost, hidden), 0).reshape(input.shape());
}

Tensor complex_product(const Tensor& input, const Reduction& plan) {
  // The reduced dimension last.
  Shape shape, strides;
  const int64_t rank = input.dim();
  for (const bool reduced : {false, true}) {
    for (int64_t i = 0; i < rank; ++i) {
      if (((plan.mask >> i & 1) != 0) != reduced) continue;
      shape.push(input.shape()[i]);
      strides.push(input.strides()[i]);
    }
  }
  const Tensor rows = contiguous_as(alias_tensor(input, shape, strides, 0), input.dtype());
  const Tensor result = empty_tensor(plan.shape, input.dtype());
  kernel::visit_complex(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = kernel::elements<const T>(rows);
    T* to = kernel::elements<T>(result);
    for (int64_t i = 0; i < result.numel(); ++i, from += plan.extent) {
      std::complex<double> product = 1;
      for (int64_t k = 0; k < plan.extent; ++k) product *= std::complex<double>(from[k]);
      to[i] = T(product);
    }
  });
  return result;
}

struct Prod {
  static constexpr auto schema =
      "prod(Tensor input, int? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "The product along a dimension, or of all elements. Integers and bools give i64.";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, std::optional<int64_t> dim, bool keepdim,
                        DType dtype) {
    std::optional<IntList> dims;
    if (dim) dims = IntList(&*dim, 1);
    const Reduction plan = plan_reduction("prod", input, dims, keepdim);
    const DType natural = is_differentiable(input.dtype()) ? input.dtype() : i64;
    const DType result_dtype = dtype == DType::none ? natural : dtype;
    if (is_complex(natural) || is_complex(result_dtype))
      return complex_product(contiguous_as(input, result_dtype), plan);
    const Tensor source =
        result_dtype == natural ? input : contiguous_as(input, compute_dtype(result_dtype));
    const DType computed = is_floating(result_dtype) ? compute_dtype(result_dtype) : i64;
    const Tensor result = empty_tensor(plan.shape, computed);
    void* to = result.view_record().data;
    kernel::visit<computed_dtypes>(source.dtype(), [&](auto zero) {
      using T = decltype(zero);
      using Kernel = kernel::LaneKernel<ProductPolicy<T>>;
      using Out = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
      kernel::reduce<Kernel>(source, plan, [=](int64_t at, const typename Kernel::Total& total) {
        static_cast<Out*>(to)[at] = static_cast<Out>(total.value);
      });
    });
    return contiguous_as(result, result_dtype);
  }
  static Tensor backward(ContextOf<Prod>& c, const Tensor& g) {
    const auto dim = c["dim"_arg];
    std::optional<IntList> dims;
    if (dim) dims = IntList(&*dim, 1);
    return keep_dimensions("prod", g, c["input"_arg], dims, c["keepdim"_arg]) *
           conjugate(product_of_others(c["input"_arg], dim, c["keepdim"_arg], c.result()));
  }
  static Tensor jvp(ContextOf<Prod>& c, TensorList tangents) {
    const Tensor result = c.result();
    if (!is_differentiable(result.dtype())) return {};
    const auto dim = c["dim"_arg];
    const bool keepdim = c["keepdim"_arg];
    return (tangents[0] * product_of_others(c["input"_arg], dim, keepdim, result))
        .sum(dim, keepdim);
  }
};

}  // namespace

TENON_OP(Prod)
