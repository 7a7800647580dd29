// Derivatives by backward: gradients of functions, and vector-Jacobian products.
//
//   const auto loss = [](const Tensor& w, const Tensor& x) { return sum(tanh(matmul(x, w))); };
//   const Tensor g = grad(loss)(w, x);                               // of the first argument
//   const auto [gw, gx] = grad(loss, argnums<0, 1>)(w, x);
//   const auto [value, gradient] = value_and_grad(loss)(w, x);
//   const auto [y, pullback] = vjp(f, x);   const Tensor gx = pullback(cotangent);
//
// Transforms take and return functions, so they are composed as functions are: grad(grad(f)) is the
// second derivative, and any of them may run inside of another one's function. Arguments and results
// are tensors, or lists, tuples and maps of them (structure.hpp). Whether an argument requires grad does
// not matter, and none of their .grad changes. Any thread may call what they return, several at once.
#pragma once

#include "tenon/transforms/derivative.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

struct GradOptions {    // options of grad
  bool strict = false;  // RuntimeError where the result does not depend on an argument, not zeros
};

namespace derived {

template <class Function, class Nums, class Aux, bool kValue>
class Gradient {
 public:
  Gradient(Function function, const GradOptions& options)
      : function_(std::move(function)), options_(options) {}

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    constexpr const char* who = kValue ? "value_and_grad" : "grad";
    std::tuple<std::decay_t<Arguments>...> own(arguments...);
    const auto selected = Selection<Nums>::of(own);
    RecordedScope recording(who, tensors_of(selected));
    Selection<Nums>::put(own, recording.arguments());
    auto outcome = derived::run<Aux>(function_, own);
    const Tensors results = tensors_of(outcome.result);
    check_scalar(who, results);
    const Pullback pullback = recording.end(results);
    auto gradient = with_tensors(selected, pullback({Tensor()}, true, options_.strict));
    if constexpr (kValue) {
      auto value = with_aux(with_tensors(outcome.result, {recording.value(results[0])}),
                            std::move(outcome.aux));
      return std::pair<decltype(value), decltype(gradient)>(std::move(value), std::move(gradient));
    } else {
      return with_aux(std::move(gradient), std::move(outcome.aux));
    }
  }

 private:
  Function function_;
  GradOptions options_;
};

}  // namespace derived

// The gradient of a function of one real number, with respect to the first argument or to those of
// `argnums`: an argument's gradient has its structure and shapes; those of several are a tuple. With
// `has_aux` a pair of gradient and aux. Calls throw TypeError where an argument is integer or the result
// complex, ValueError where the result has other than one element, and what the function throws.
template <class Function, class Nums = Argnums<0>>
derived::Gradient<std::decay_t<Function>, Nums, NoAux, false> grad(Function&& function, Nums = {},
                                                                   GradOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}
// Functions that return a pair: its second part is returned as it is.
template <class Function, class Nums>
derived::Gradient<std::decay_t<Function>, Nums, HasAux, false> grad(Function&& function, Nums,
                                                                    HasAux,
                                                                    GradOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}
// The gradient with the value in front: a pair of value and gradient. With `has_aux` the value is a pair of
// value and aux.
template <class Function, class Nums = Argnums<0>>
derived::Gradient<std::decay_t<Function>, Nums, NoAux, true> value_and_grad(
    Function&& function, Nums = {}, GradOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}
// Functions that return a pair: its second part is returned as it is.
template <class Function, class Nums>
derived::Gradient<std::decay_t<Function>, Nums, HasAux, true> value_and_grad(
    Function&& function, Nums, HasAux, GradOptions options = {}) {
  return {static_cast<Function&&>(function), options};
}

// The transposed derivative at one point: maps a cotangent of the results' structure and shapes to one
// of the arguments', as often as it is called.
template <class Result, class Arguments>
class VectorJacobian {
 public:
  // From a run that was recorded.
  VectorJacobian(derived::Pullback pullback, Arguments arguments)
      : pullback_(std::move(pullback)), arguments_(std::move(arguments)) {}
  Arguments operator()(const Result& cotangent) const {  // as often as it is called
    return with_tensors(arguments_, pullback_(tensors_of(cotangent)));
  }
  const derived::Pullback& pullback() const { return pullback_; }  // gradients of the run

 private:
  derived::Pullback pullback_;
  Arguments arguments_;  // for its structure
};

namespace derived {
template <class Aux, class Nums, class Function, class... Arguments>
auto vjp(const char* who, Nums, const Function& function, const Arguments&... arguments) {
  std::tuple<std::decay_t<Arguments>...> own(arguments...);
  auto selected = Selection<Nums>::of(own);
  RecordedScope recording(who, tensors_of(selected));
  Selection<Nums>::put(own, recording.arguments());
  auto outcome = derived::run<Aux>(function, own);
  using Result = decltype(outcome.result);
  const Tensors results = tensors_of(outcome.result);
  Pullback pullback = recording.end(results);
  Tensors values;
  for (const Tensor& result : results) values.push_back(recording.value(result));
  Result value = with_tensors(std::move(outcome.result), values);
  VectorJacobian<Result, decltype(selected)> back(std::move(pullback), std::move(selected));
  if constexpr (std::is_same_v<Aux, HasAux>)
    return std::make_tuple(std::move(value), std::move(back), std::move(outcome.aux));
  else
    return std::make_pair(std::move(value), std::move(back));
}
template <size_t... I>
Argnums<I...> all_of(std::index_sequence<I...>);
}  // namespace derived

// A pair of the function's value and its VectorJacobian, with respect to all arguments: what one returns
// is the gradient of the argument, or a tuple where there are several. With `has_aux` in front of the
// function a tuple of value, VectorJacobian and aux.
template <class Function, class... Arguments,
          std::enable_if_t<!std::is_same_v<std::decay_t<Function>, HasAux>, int> = 0>
auto vjp(const Function& function, const Arguments&... arguments) {
  using Nums = decltype(derived::all_of(std::index_sequence_for<Arguments...>{}));
  return derived::vjp<NoAux>("vjp", Nums{}, function, arguments...);
}
// Functions that return a pair: its second part is returned as it is.
template <class Function, class... Arguments>
auto vjp(HasAux, const Function& function, const Arguments&... arguments) {
  using Nums = decltype(derived::all_of(std::index_sequence_for<Arguments...>{}));
  return derived::vjp<HasAux>("vjp", Nums{}, function, arguments...);
}

}  // namespace transforms
TENON_NAMESPACE_END
