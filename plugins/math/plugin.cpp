// The math plugin: elementwise ops, tensor creation, reductions and shape ops.
#include <tenon/plugin.hpp>

#include "elementwise_ops.hpp"
#include "reduction_ops.hpp"
#include "shape_ops.hpp"

#define MATH(op, module)       \
  MATH_ELEMENTWISE(op, module) \
  MATH_CREATION(op, module)    \
  MATH_REDUCTIONS(op, module)  \
  MATH_SHAPES(op, module)
TENON_PLUGIN(math, "0.1.0", MATH)
