// The exact function of each elementwise op that computes floating point numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dual.hpp"

namespace accuracy {

template <class Number>
using OperandsOf = std::vector<DualOf<Number>>;
using Numbers = std::vector<double>;

// Scale of a result: an error is counted in units of the last place of the larger of both. For
// functions with zeros that no operand hits: beside one of these the rounding of the operand alone
// outweighs the result. `largest` and `smallest` are the largest and the smallest normal number of
// the dtype. An infinite scale leaves the operands out.
struct Range {
  double largest, smallest;
};
using Scale = double (*)(const Numbers& operands, const Range& range);

struct Function {
  std::string op;
  size_t operands;
  DualOf<Real> (*exact)(const OperandsOf<Real>&);
  DualOf<Quick> (*quick)(const OperandsOf<Quick>&);
  Scale scale = nullptr, slope_scale = nullptr;
  // The share of operands that is tried: a function of MPFR may be slow.
  double share = 1;
};

const std::vector<Function>& functions();

}  // namespace accuracy
