// Jacobians and Hessians.
//
//   const Tensor j = jacrev(f)(x);                  // [results..., inputs...], by its rows
//   const Tensor k = jacfwd(f)(x);                  // the same, by its columns
//   const auto [jx, jy] = jacrev(f, argnums<0, 1>)(x, y);
//   const Tensor h = hessian(loss)(x);              // [inputs..., inputs...]
//
// jacrev suits functions with fewer results than inputs, jacfwd those with fewer inputs.
#pragma once

#include <functional>

#include "tenon/transforms/forward.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

struct JacobianOptions {   // options of jacrev and jacfwd
  int64_t chunk_size = 0;  // rows or columns that one vmap computes; 0: all; 1: no vmap
};

namespace derived {

// The Jacobian of each result with respect to each input, computed from its rows.
std::vector<Tensors> jacobian_rows(const Pullback& pullback, const Tensors& inputs,
                                   const JacobianOptions& options);
// The Jacobian of each result with respect to each input, computed from its columns:
// `derivative(tangents)` are the tangents of all results.
std::vector<Tensors> jacobian_columns(const std::function<Tensors(const Tensors&)>& derivative,
                                      const Tensors& inputs, const JacobianOptions& options);

// The structure of results, with the structure of inputs in the place of each tensor.
template <class Result, class Selected>
auto arrange(const Result& result, const Selected& selected, const std::vector<Tensors>& parts) {
  size_t next = 0;
  return Structure<Result>::template replace<Selected>(
      result, [&](const Tensor&) { return with_tensors(selected, parts[next++]); });
}

template <class Function, class Nums, class Aux, bool kForward>
class JacobianFunction {
 public:
  JacobianFunction(Function function, const JacobianOptions& options)
      : function_(std::move(function)), options_(options) {}

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    std::tuple<std::decay_t<Arguments>...> own(arguments...);
    const auto selected = Selection<Nums>::of(own);
    const Tensors inputs = tensors_of(selected);
    if constexpr (kForward) {
      using Run = decltype(derived::run<Aux>(function_, own));
      std::optional<Run> outcome;
      const auto derivative = [&](const Tensors& tangents) {
        const Carrying carrying("jacfwd", inputs, tangents);
        auto given = own;
        Selection<Nums>::put(given, carrying.arguments());
        outcome.emplace(derived::run<Aux>(function_, given));
        Tensors derivatives;
        for (const Tensor& result : tensors_of(outcome->result))
          derivatives.push_back(carrying.open(result).tangent);
        return derivatives;
      };
      const std::vector<Tensors> parts = jacobian_columns(derivative, inputs, options_);
      // An aux of a vmap would be batched.
      if constexpr (std::is_same_v<Aux, HasAux>) outcome.emplace(derived::run<Aux>(function_, own));
      return with_aux(arrange(outcome->result, selected, parts), std::move(outcome->aux));
    } else {
      RecordedScope recording("jacrev", inputs);
      Selection<Nums>::put(own, recording.arguments());
      auto outcome = derived::run<Aux>(function_, own);
      const Pullback pullback = recording.end(tensors_of(outcome.result));
      const std::vector<Tensors> parts = jacobian_rows(pullback, inputs, options_);
      return with_aux(arrange(outcome.result, selected, parts), std::move(outcome.aux));
    }
  }

 private:
  Function function_;
  JacobianOptions options_;
};

}  // namespace derived

// The Jacobian with respect to the first argument, or to those of `argnums`: for one result and one
// argument a tensor of the result's shape followed by the argument's. Several arguments make a tuple of
// these, and several results the structure of the results with one of these for each. With `has_aux` a
// pair of Jacobian and aux. Calls throw TypeError where an argument or result is integer or complex.
template <class Function, class Nums = Argnums<0>>
derived::JacobianFunction<std::decay_t<Function>, Nums, NoAux, false> jacrev(
    Function&& function, Nums = {}, JacobianOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}
// Functions that return a pair: its second part is returned as it is.
template <class Function, class Nums>
derived::JacobianFunction<std::decay_t<Function>, Nums, HasAux, false> jacrev(
    Function&& function, Nums, HasAux, JacobianOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}
// The Jacobian by forward mode, which runs the function once for each input, or chunk of inputs.
template <class Function, class Nums = Argnums<0>>
derived::JacobianFunction<std::decay_t<Function>, Nums, NoAux, true> jacfwd(
    Function&& function, Nums = {}, JacobianOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}
// Functions that return a pair: its second part is returned as it is.
template <class Function, class Nums>
derived::JacobianFunction<std::decay_t<Function>, Nums, HasAux, true> jacfwd(
    Function&& function, Nums, HasAux, JacobianOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}

// The Hessian of a function, as the Jacobian by forward mode of the Jacobian by backward. For one
// result of one element and one argument a tensor of the argument's shape twice, behind the result's.
template <class Function, class Nums = Argnums<0>>
auto hessian(Function&& function, Nums nums = {}, JacobianOptions options = {}) {
  return jacfwd(jacrev(static_cast<Function&&>(function), nums, options), nums, options);
}

}  // namespace transforms
TENON_NAMESPACE_END
