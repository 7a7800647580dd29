// Copies within a device, by strides, and conversions.
#pragma once

#include "opencl/operands.hpp"

namespace tenon_opencl {

// Whether kernels copy elements of the type: those of 1, 2, 4 and 8 bytes.
bool is_copied(tenon::DType type);
// A contiguous copy; of a type that is copied.
tenon::Tensor contiguous_copy(const tenon::Tensor& tensor);
// Copies into a tensor of the same type; the source is broadcast to it. False where kernels do not.
bool copy_into(const tenon::Tensor& into, const tenon::Tensor& source);
// A contiguous tensor of another type; undefined where kernels do not convert.
tenon::Tensor converted(const tenon::Tensor& tensor, tenon::DType type);
// Zeros of a shape, on the device of another tensor.
tenon::Tensor zeros_beside(const tenon::Tensor& like, tenon::IntList shape, tenon::DType type);

}  // namespace tenon_opencl
