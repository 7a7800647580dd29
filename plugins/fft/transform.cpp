// Transforms of strided tensors, and what the ops share.
#include "transform.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>

namespace fft {

namespace {

using tenon::ValueError;

// Elements that are worth a thread.
constexpr int64_t kGrain = 1 << 16;

struct Sides {
  int64_t size, in_stride, out_stride;
};

int64_t element_bytes(const Tensor& tensor) { return tenon::element_size(tensor.dtype()); }

// Whether elements that are `stride` apart from aligned ones are aligned, too.
bool keeps_alignment(int64_t stride, const Tensor& tensor) {
  return stride * element_bytes(tensor) % 16 == 0;
}

std::vector<Sides> sides_of(const Tensor& in, const Tensor& out) {
  std::vector<Sides> sides;
  for (int64_t d = 0; d < in.dim(); ++d) {
    // A transform between real and complex has the size of its longer side.
    sides.push_back({std::max(in.shape()[d], out.shape()[d]), in.strides()[d], out.strides()[d]});
  }
  return sides;
}

// One plan for all of the dimensions.
void run_plan(Kind kind, bool forward, const Tensor& in, const Tensor& out, const Dims& dims) {
  Problem problem;
  problem.kind = kind;
  problem.forward = forward;
  problem.single = tenon::real_dtype(out.dtype()) == tenon::f32;
  const auto* from = static_cast<const char*>(in.view_record().data);
  auto* to = static_cast<char*>(out.view_record().data);
  problem.in_place = from == to;
  problem.aligned = is_aligned(from) && is_aligned(to);
  const std::vector<Sides> sides = sides_of(in, out);
  for (const int64_t d : dims) {
    const Sides& side = sides[static_cast<size_t>(d)];
    problem.transformed.push_back({side.size, side.in_stride, side.out_stride});
  }
  // The first dimension that is repeated is cut into pieces, by sizes alone: so the number of threads
  // never changes a bit of the result.
  std::optional<Sides> cut;
  for (int64_t d = 0; d < in.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
    const Sides& side = sides[static_cast<size_t>(d)];
    if (!cut && side.size > 1)
      cut = side;
    else
      problem.repeated.push_back({side.size, side.in_stride, side.out_stride});
  }
  if (!cut) return find_plan(problem)->run(from, to);

  const int64_t pieces = std::clamp<int64_t>(out.numel() / kGrain, 1, cut->size);
  const int64_t width = (cut->size + pieces - 1) / pieces;
  if (pieces > 1) {
    problem.aligned = problem.aligned && keeps_alignment(cut->in_stride * width, in) &&
                      keeps_alignment(cut->out_stride * width, out);
  }
  const auto plan_for = [&](int64_t rows) {
    Problem part = problem;
    part.repeated.insert(part.repeated.begin(), {rows, cut->in_stride, cut->out_stride});
    return find_plan(part);
  };
  const int64_t whole = cut->size / width, rest = cut->size % width;
  const auto plan = plan_for(width), last = rest == 0 ? plan : plan_for(rest);
  tenon::parallel_for(0, whole + (rest == 0 ? 0 : 1), 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece * width;
      (piece < whole ? plan : last)
          ->run(from + row * cut->in_stride * element_bytes(in),
                to + row * cut->out_stride * element_bytes(out));
    }
  });
}

// Whether the points of a dimension are so far apart that each costs a line of the cache.
bool is_scattered(const Tensor& tensor, int64_t dim) {
  constexpr int64_t kFar = 4096;  // bytes
  return tensor.shape()[dim] >= 64 && tensor.numel() >= kGrain &&
         tensor.strides()[dim] * element_bytes(tensor) >= kFar;
}

// Along one dimension by way of a copy in which its points are adjacent.
void run_gathered(bool forward, const Tensor& in, const Tensor& out, int64_t dim) {
  const int64_t last = in.dim() - 1;
  const auto swapped = [&](const Tensor& tensor) {
    tenon::kernel::Shape shape(tensor.shape()), strides(tensor.strides());
    std::swap(shape[dim], shape[last]);
    std::swap(strides[dim], strides[last]);
    return tenon::alias_tensor(tensor, shape, strides, 0);
  };
  const Tensor given = swapped(in);
  const Tensor lines = tenon::empty_tensor(given.shape(), in.dtype());
  tenon::copy_elements(lines, given);
  run_plan(Kind::complex_to_complex, forward, lines, lines, {last});
  tenon::copy_elements(swapped(out), lines);
}

}  // namespace

void run_transform(Kind kind, bool forward, const Tensor& in, const Tensor& out, const Dims& dims) {
  if (out.numel() == 0) return;
  Dims near;
  for (const int64_t dim : dims) {
    if (kind != Kind::complex_to_complex || !is_scattered(out, dim)) near.push_back(dim);
  }
  if (near.size() == dims.size()) return run_plan(kind, forward, in, out, dims);
  // FFTW's estimated plans read such points where they are.
  if (!near.empty()) run_plan(kind, forward, in, out, near);
  bool begun = !near.empty();
  for (const int64_t dim : dims) {
    if (!is_scattered(out, dim)) continue;
    run_gathered(forward, begun ? out : in, out, dim);
    begun = true;
  }
}

void scale_elements(const Tensor& tensor, double factor) {
  if (factor == 1) return;
  const int64_t numbers = tensor.numel() * (tenon::is_complex(tensor.dtype()) ? 2 : 1);
  tenon::kernel::visit<tenon::floating_dtypes>(tenon::real_dtype(tensor.dtype()), [&](auto zero) {
    using T = decltype(zero);
    T* to = static_cast<T*>(tensor.view_record().data);
    const auto by = static_cast<T>(factor);
    tenon::parallel_for(0, numbers, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] *= by;
    });
  });
}

Dims check_dims(const char* op, IntList dims, int64_t rank) {
  if (rank == 0) throw ValueError(std::string(op) + "(): 'input' must have at least one dimension");
  if (dims.empty()) {
    throw ValueError(std::string(op) +
                     "(): no dimension to transform; leave 'dim' out to transform all");
  }
  Dims result;
  for (const int64_t dim : dims) {
    const int64_t along = tenon::kernel::wrap_dimension(op, dim, rank);
    if (std::find(result.begin(), result.end(), along) != result.end()) {
      throw ValueError(std::string(op) + "(): dimension " + std::to_string(dim) +
                       " is named twice in " + tenon::kernel::shape_text(dims));
    }
    result.push_back(along);
  }
  return result;
}

void check_points(const char* op, int64_t points, int64_t dim, bool given) {
  if (points >= 1) return;
  throw ValueError(std::string(op) + "(): " +
                   (given ? "a transform of " + std::to_string(points) + " points is asked for"
                          : "dimension " + std::to_string(dim) + " of 'input' has size 0") +
                   ": a transform has at least 1 point");
}

double scale_of(const char* op, std::optional<std::string_view> norm, double points, bool forward) {
  if (!norm || *norm == "backward") return forward ? 1 : 1 / points;
  if (*norm == "forward") return forward ? 1 / points : 1;
  if (*norm == "ortho") return 1 / std::sqrt(points);
  throw ValueError(std::string(op) + "(): norm is '" + std::string(*norm) +
                   "'; choose backward, ortho or forward");
}

Tensor resized(const Tensor& input, int64_t dim, int64_t size) {
  const int64_t present = input.shape()[dim];
  if (size == present) return input;
  if (size < present) return input.narrow(dim, 0, size);
  std::vector<int64_t> margins(static_cast<size_t>(2 * (input.dim() - dim)));
  margins.back() = size - present;
  return tenon::constant_pad_nd(input, margins, 0);
}

Tensor redundancy(const Tensor& like, int64_t dim, int64_t size, double others) {
  const int64_t points = size / 2 + 1;
  tenon::kernel::Shape shape;
  for (int64_t d = 0; d < like.dim(); ++d) shape.push(d == dim ? points : 1);
  const Tensor factors = tenon::empty_tensor(shape, tenon::real_dtype(like.dtype()));
  tenon::kernel::visit<tenon::floating_dtypes>(factors.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < points; ++i) {
      const bool alone = i == 0 || 2 * i == size;
      factors.data<T>()[i] = static_cast<T>(alone ? 1 : others);
    }
  });
  return factors;
}

Tensor as_complex(const Tensor& input) {
  return tenon::is_complex(input.dtype()) ? input : input.to(tenon::complex_dtype(input.dtype()));
}

Tensor as_real(const char* op, const Tensor& input, const char* instead) {
  if (tenon::is_complex(input.dtype())) {
    throw tenon::TypeError(std::string(op) + "(): 'input' must be real, got " +
                           tenon::dtype_text(input.dtype()) + "; use " + instead + "()");
  }
  return input.to(tenon::real_dtype(tenon::complex_dtype(input.dtype())));
}

Extent extent_of(const char* op, const Tensor& input, std::optional<IntList> s,
                 std::optional<IntList> dim) {
  const int64_t rank = input.dim();
  Dims asked;
  if (dim) {
    asked.assign(dim->begin(), dim->end());
  } else {
    const int64_t count = s ? s->size() : rank;
    if (count > rank) {
      throw ValueError(std::string(op) + "(): s " + tenon::kernel::shape_text(*s) + " has " +
                       std::to_string(count) + " sizes, but 'input' has only " +
                       std::to_string(rank) + " dimensions");
    }
    for (int64_t i = 0; i < count; ++i) asked.push_back(rank - count + i);
  }
  Extent extent;
  extent.dims = check_dims(op, IntList(asked.data(), static_cast<int64_t>(asked.size())), rank);
  if (s && s->size() != static_cast<int64_t>(asked.size())) {
    throw ValueError(std::string(op) + "(): s " + tenon::kernel::shape_text(*s) + " and dim " +
                     tenon::kernel::shape_text(*dim) + " have different lengths");
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    const int64_t own = input.shape()[extent.dims[i]];
    const int64_t size = s ? (*s)[static_cast<int64_t>(i)] : -1;
    extent.sizes.push_back(size == -1 ? own : size);
    check_points(op, extent.sizes.back(), asked[i], size != -1);
  }
  return extent;
}

}  // namespace fft
