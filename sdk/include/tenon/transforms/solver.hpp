// Derivatives of solutions of equations, by the implicit function theorem: whatever finds the solution
// is not differentiated, and may be any code.
//
//   // x with cos(a x) = x
//   const Tensor x = fixed_point([](const Tensor& y, const Tensor& a) { return cos(a * y); },
//                                zeros({3}, f64), {}, a);
//   // x with x^3 = a, which other code finds
//   const Tensor r = custom_root([](const Tensor& y, const Tensor& a) { return y * y * y - a; },
//                                [](const Tensor& a) { return my_cube_root(a); }, {}, a);
//
// The solution gets one correction x - F'(x)^-1 F(x, a) for each order of derivative, with the matrix
// F'(x) as a constant: after k of them all derivatives up to order k are those of the solution, in
// forward mode, backward and any nesting of both. A further one is a NotImplementedError.
#pragma once

#include <functional>

#include "tenon/transforms/jacobian.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

struct SolverOptions {            // when a solver ends
  double tolerance = 1e-10;       // largest change of an element that ends fixed_point
  int64_t max_iterations = 1000;  // iterations that fixed_point may take
  int64_t order = 2;              // derivatives that can be taken of the result
};

namespace derived {

using OfUnknown = std::function<Tensor(const Tensor&)>;

// `residual` without the history and the tangents of arguments is `constant`.
Tensor corrected_root(const char* who, const Tensor& found, const OfUnknown& residual,
                      const OfUnknown& constant, int64_t order);
// Iterates until nothing changes. RuntimeError where that does not end.
Tensor iterate(const OfUnknown& function, Tensor x, const SolverOptions& options);
// The arguments without history and tangents.
template <class... Arguments>
std::tuple<std::decay_t<Arguments>...> constants_of(const Arguments&... arguments) {
  std::tuple<std::decay_t<Arguments>...> own(arguments...);
  Structure<decltype(own)>::visit(own, [](Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.detach();
  });
  return own;
}

template <class Residual, class Solve, class... Arguments>
Tensor root(const char* who, const Residual& residual, const Solve& solve,
            const SolverOptions& options, const Arguments&... arguments) {
  const auto constants = constants_of(arguments...);
  const OfUnknown with_arguments = [&](const Tensor& x) { return residual(x, arguments...); };
  const OfUnknown with_constants = [&](const Tensor& x) {
    return std::apply([&](const auto&... each) { return residual(x, each...); }, constants);
  };
  Tensor found;
  {
    const NoGrad off;
    found = std::apply(solve, constants);
  }
  return corrected_root(who, found, with_arguments, with_constants, options.order);
}

}  // namespace derived

// x with residual(x, arguments...) = 0, where solve(arguments...) finds it: a floating point tensor; the
// residual has its shape and dtype. What depends on other tensors than the arguments counts as constant
// in `solve`, not in `residual`. ValueError where shapes do not fit; what linalg.solve throws where the
// matrix of derivatives is singular. Its size is the square of the number of unknowns.
template <class Residual, class Solve, class... Arguments>
Tensor custom_root(const Residual& residual, const Solve& solve, const SolverOptions& options,
                   const Arguments&... arguments) {
  return derived::root("custom_root", residual, solve, options, arguments...);
}

// x with function(x, arguments...) = x, by iteration from `start`. RuntimeError where the iteration does
// not settle; else as custom_root.
template <class Function, class... Arguments>
Tensor fixed_point(const Function& function, const Tensor& start, const SolverOptions& options,
                   const Arguments&... arguments) {
  const auto residual = [&](const Tensor& x, const auto&... each) {
    return x - function(x, each...);
  };
  const auto solve = [&](const auto&... each) {
    return derived::iterate([&](const Tensor& x) { return function(x, each...); }, start.detach(),
                            options);
  };
  return derived::root("fixed_point", residual, solve, options, arguments...);
}

}  // namespace transforms
TENON_NAMESPACE_END
