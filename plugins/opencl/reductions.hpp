// Sums, extremes and means over any dimensions.
#pragma once

#include <vector>

#include "opencl/operands.hpp"

namespace tenon_opencl {

enum class Reduction { sum, largest, smallest };

// Over the dimensions that are chosen, times a factor; undefined where kernels do not. Of no elements:
// sums alone.
tenon::Tensor reduced(Reduction reduction, const tenon::Tensor& input,
                      const std::vector<bool>& chosen, bool keepdim, double factor = 1);

}  // namespace tenon_opencl
