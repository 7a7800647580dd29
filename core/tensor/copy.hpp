// Moving elements: copies across dtypes and layouts, fills, and single elements as numbers.
#pragma once

#include <string>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Elementwise copy with conversion; `source` is broadcast to the destination's shape, and may share
// memory with it. Not recorded; raises the storage's version, as `fill` does: what writes to a
// tensor says so. Conversion: integers wrap, float to integer truncates and stops at the ends of
// the range (NaN gives 0), floats round to the nearest, ties to even, to bool is `!= 0`. Throws
// TypeError for complex elements into real ones, ValueError when the shapes do not fit, the
// destination is read-only, has no data, or holds one element in several places (expanded).
void copy(Tensor& destination, const Tensor& source);

// Whether an element of `dtype` can hold `number` (BOOL, INT or FLOAT) once its fraction is cut
// off. Floating and complex dtypes and bool take every number.
bool number_fits(const tenon_value& number, tenon_dtype dtype);
// "the number 300 does not fit u8, which holds 0 to 255"
std::string misfit_text(const tenon_value& number, tenon_dtype dtype);

// Every element becomes `number`, its fraction cut off for integers. Throws ValueError when the
// dtype cannot hold it. An expanded tensor may be filled: all its places get one value.
void fill(Tensor& destination, const tenon_value& number);
// Contiguous, every element 0. Throws as make_empty does.
TensorRef make_zeros(tenon_dtype dtype, Shape shape);

// The single element as BOOL, INT or FLOAT. Throws ValueError when there is not exactly one,
// TypeError for a complex one.
tenon_value item(const Tensor& tensor);

// A new contiguous tensor with the elements of `source` as `dtype` (TENON_DTYPE_NONE: its own).
TensorRef contiguous_copy(const Tensor& source, tenon_dtype dtype = TENON_DTYPE_NONE);

}  // namespace tenon::core
