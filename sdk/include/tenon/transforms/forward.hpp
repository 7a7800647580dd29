// Derivatives forward: Jacobian-vector products, linear maps of derivatives, and products of Hessians
// and vectors.
//
//   const auto [y, tangent] = jvp(f, x, direction);
//   const auto [z, t] = jvp(g, std::tuple(x, y), std::tuple(dx, dy));
//   const auto [value, derivative] = linearize(f, x);   const Tensor t = derivative(direction);
//   const Tensor product = hvp(loss, x, direction);
#pragma once

#include "tenon/ops.hpp"
#include "tenon/transforms/grad.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {
namespace derived {

template <class T>
struct AsTuple {
  using Type = std::tuple<T>;
  static Type of(const T& value) { return Type(value); }
};
template <class... T>
struct AsTuple<std::tuple<T...>> {
  using Type = std::tuple<T...>;
  static Type of(const Type& value) { return value; }
};

template <class Aux, class Function, class Primals, class Tangents>
auto jvp(const Function& function, const Primals& primals, const Tangents& tangents) {
  auto own = AsTuple<Primals>::of(primals);
  const Carrying carrying("jvp", tensors_of(own), tensors_of(tangents));
  auto outcome = derived::run<Aux>(function, with_tensors(std::move(own), carrying.arguments()));
  using Result = decltype(outcome.result);
  Tensors values, derivatives;
  for (const Tensor& result : tensors_of(outcome.result)) {
    Dual parts = carrying.open(result);
    values.push_back(std::move(parts.primal));
    derivatives.push_back(std::move(parts.tangent));
  }
  Result value = with_tensors(outcome.result, values);
  Result tangent = with_tensors(std::move(outcome.result), derivatives);
  if constexpr (std::is_same_v<Aux, HasAux>)
    return std::make_tuple(std::move(value), std::move(tangent), std::move(outcome.aux));
  else
    return std::make_pair(std::move(value), std::move(tangent));
}

}  // namespace derived

// A pair of the function's value and of its derivative in the direction of the tangents, which have the
// structure, shapes and dtypes of the primals: one argument, or a tuple of all. With `has_aux` in front
// of the function a tuple of value, tangent and aux. TypeError and ValueError where tangents do not
// fit; NotImplementedError names an op without a jvp.
template <class Function, class Primals, class Tangents,
          std::enable_if_t<!std::is_same_v<std::decay_t<Function>, HasAux>, int> = 0>
auto jvp(const Function& function, const Primals& primals, const Tangents& tangents) {
  return derived::jvp<NoAux>(function, primals, tangents);
}
// Functions that return a pair: its second part is returned as it is.
template <class Function, class Primals, class Tangents>
auto jvp(HasAux, const Function& function, const Primals& primals, const Tangents& tangents) {
  return derived::jvp<HasAux>(function, primals, tangents);
}

// The derivative at one point: maps tangents of the arguments to that of the results, as often as it is
// called, without running the function again.
template <class Result, class Arguments>
class LinearMap {
 public:
  // From a run that was recorded.
  LinearMap(derived::Pullback transposed, Result structure)
      : transposed_(std::move(transposed)), structure_(std::move(structure)) {}
  // `tangents`: for one argument its tangent, for several a tuple.
  Result operator()(const Arguments& tangents) const {
    return with_tensors(structure_, transposed_(tensors_of(tangents)));
  }

 private:
  derived::Pullback transposed_;
  Result structure_;
};

// A pair of the function's value and its LinearMap. The map is the transposition of the function's
// VectorJacobian, so ops of the function need a backward that can be differentiated.
template <class Function, class... Arguments>
auto linearize(const Function& function, const Arguments&... arguments) {
  using Nums = decltype(derived::all_of(std::index_sequence_for<Arguments...>{}));
  auto [value, pullback] = derived::vjp<NoAux>("linearize", Nums{}, function, arguments...);
  using Result = decltype(value);
  using Selected = decltype(pullback(value));
  derived::Tensors cotangents;
  for (const Tensor& result : tensors_of(value)) cotangents.push_back(zeros_like(result));
  derived::RecordedScope recording("linearize", cotangents);
  derived::Pullback transposed = recording.end(pullback.pullback()(recording.arguments()));
  LinearMap<Result, Selected> map(std::move(transposed), value);
  return std::make_pair(std::move(value), std::move(map));
}

// The product of the Hessian of a function of one real number with a direction, of the structure of the
// primals: forward mode over backward, without the Hessian. For one argument, or a tuple of all.
template <class Function, class Primals, class Tangents>
auto hvp(const Function& function, const Primals& primals, const Tangents& tangents) {
  using Tuple = typename derived::AsTuple<Primals>::Type;
  using Nums = decltype(derived::all_of(std::make_index_sequence<std::tuple_size_v<Tuple>>{}));
  return jvp(grad(function, Nums{}), primals, tangents).second;
}

}  // namespace transforms
TENON_NAMESPACE_END
