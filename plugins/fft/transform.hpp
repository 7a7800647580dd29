// Transforms of strided tensors, and what the ops share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>

#include "plan_cache.hpp"

TENON_NAMESPACE_BEGIN
namespace fft {
// The transforms that the ops are made of, for each other's rules.
TENON_OP_FUNCTION(Tensor, c2c, "fft.c2c")
TENON_OP_FUNCTION(Tensor, c2r, "fft.c2r")
TENON_OP_FUNCTION(Tensor, r2c, "fft.r2c")
}  // namespace fft
TENON_NAMESPACE_END

namespace fft {

using tenon::DType, tenon::IntList, tenon::Tensor;
using Dims = std::vector<int64_t>;

// ---- kernels ----

// Computes `out` from `in` along dimensions, from 0 on and at least one, without scale; both have the
// same sizes but in the last of the dimensions where one is real. Any strides of `in`; `out` is
// contiguous, and `in` itself or other memory.
void run_transform(Kind kind, bool forward, const Tensor& in, const Tensor& out, const Dims& dims);
// Multiplies contiguous floating or complex elements.
void scale_elements(const Tensor& tensor, double factor);

// ---- checks ----

// Dimensions counted from 0. IndexError for one out of range, ValueError for one named twice, or for
// none, where a transform needs one.
Dims check_dims(const char* op, IntList dims, int64_t rank);
// ValueError for a transform of 0 points; `n` is what the caller gave, where they did.
void check_points(const char* op, int64_t points, int64_t dim, bool given);

// ---- what ops do around a transform ----

// The factor of norm: "backward" (none: the same) scales the inverse by 1/n, "forward" the other
// direction, "ortho" both by 1/sqrt(n). ValueError for another name.
double scale_of(const char* op, std::optional<std::string_view> norm, double points, bool forward);
// The input with `size` elements along a dimension: cut, or followed by zeros.
Tensor resized(const Tensor& input, int64_t dim, int64_t size);
// Factors of size / 2 + 1 points along a dimension, real and of the precision of `like`: 1 for those
// without a redundant like (the first, and the last of an even size), `others` for the others.
Tensor redundancy(const Tensor& like, int64_t dim, int64_t size, double others);
// Complex: real floating dtypes in their own precision, integers and bools as c64.
Tensor as_complex(const Tensor& input);
// Floating: integers and bools as f32. TypeError for complex ones, which `instead` transforms.
Tensor as_real(const char* op, const Tensor& input, const char* instead);

// The sizes and dimensions of a transform over several dimensions, from arguments `s` and `dim`: all
// dimensions without either, the last s.size() with s alone. A size of -1 is the input's.
struct Extent {
  Dims sizes, dims;
  double points() const {
    double product = 1;
    for (const int64_t size : sizes) product *= static_cast<double>(size);
    return product;
  }
};
Extent extent_of(const char* op, const Tensor& input, std::optional<IntList> s,
                 std::optional<IntList> dim);

}  // namespace fft
