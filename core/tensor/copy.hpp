// Moving elements: copies across dtypes and layouts, fills, and single elements as numbers.
#pragma once

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Elementwise copy with conversion; `source` is broadcast to the destination's shape, and may share
// memory with it. Not recorded; raises the storage's version, as `fill` does: what writes to a
// tensor says so. Conversion: integers wrap, float to integer truncates and stops at the ends of
// the range (NaN gives 0), to bool is `!= 0`. Throws ValueError when the shapes do not fit, the
// destination is read-only, has no data, or holds one element in several places (expanded).
void copy(Tensor& destination, const Tensor& source);

// Every element becomes `number` (BOOL, INT or FLOAT), converted as above.
void fill(Tensor& destination, const tenon_value& number);

// The single element as BOOL, INT or FLOAT. Throws ValueError when there is not exactly one.
tenon_value item(const Tensor& tensor);

// A new contiguous tensor with the elements of `source` as `dtype` (TENON_DTYPE_NONE: its own).
TensorRef contiguous_copy(const Tensor& source, tenon_dtype dtype = TENON_DTYPE_NONE);

}  // namespace tenon::core
