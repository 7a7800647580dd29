// index_select, index_add, gather, scatter, scatter_add, scatter_reduce and one_hot.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <tenon/kernel/complex.hpp>
#include <tenon/kernel/rows.hpp>
#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

void check_index_dtype(const char* op, const Tensor& index) {
  if (index.dtype() == i64 || index.dtype() == i32) return;
  throw TypeError(std::string(op) + "(): the index must be i64 or i32, not " +
                  dtype_text(index.dtype()));
}
[[noreturn]] void throw_index(const char* op, int64_t index, int64_t dim, int64_t size) {
  throw IndexError(std::string(op) + "(): index " + std::to_string(index) +
                   " is out of range for dimension " + std::to_string(dim) + " with size " +
                   std::to_string(size));
}

// Indices as i64, contiguous, each in [0, size).
Tensor checked_indices(const char* op, const Tensor& index, int64_t dim, int64_t size) {
  check_index_dtype(op, index);
  const Tensor indices = contiguous_as(index, i64);
  const int64_t* from = indices.data<int64_t>();
  bool outside = false;
  for (int64_t i = 0; i < indices.numel(); ++i) {
    outside |= static_cast<uint64_t>(from[i]) >= static_cast<uint64_t>(size);
  }
  for (int64_t i = 0; outside && i < indices.numel(); ++i) {
    if (from[i] < 0 || from[i] >= size) throw_index(op, from[i], dim, size);
  }
  return indices;
}
void check_vector(const char* op, const Tensor& index) {
  if (index.dim() > 1) {
    throw IndexError(std::string(op) + "(): the index must be a vector, but its shape is " +
                     shape_text(index.shape()));
  }
}

Tensor copy_of(const Tensor& input) {
  const Tensor result = empty_tensor(input.shape(), input.dtype());
  copy_elements(result, input);
  return result;
}

// Sums as the dtype defines them: integers wrap, bools are or-ed.
template <class T>
void add_to(T& sum, T value) {
  if constexpr (std::is_same_v<T, bool>)
    sum = sum || value;
  else if constexpr (std::is_integral_v<T>)
    sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
  else
    sum += value;
}

struct IndexSelect {
  static constexpr auto schema =
      "index_select(Tensor input, int dim, Tensor index, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The entries at the given indices along a dimension.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(input), index";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index) {
    constexpr auto op = "index_select";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    check_vector(op, index);
    const kernel::Lines lines(input.shape(), at);
    const Tensor indices = checked_indices(op, index, at, lines.size);
    Shape shape(input.shape());
    if (shape.rank != 0)
      shape[at] = indices.numel();
    else if (indices.numel() != 1)
      throw IndexError("index_select(): a 0-dim input takes one index, not " +
                       std::to_string(indices.numel()));
    const Tensor result = empty_tensor(shape, input.dtype());
    if (result.numel() == 0) return result;
    const Tensor source = contiguous_as(input, input.dtype());
    const int64_t* to = indices.data<int64_t>();
    const int64_t count = indices.numel(), bytes = lines.inner * element_size(input.dtype());
    const auto* from = static_cast<const char*>(source.view_record().data);
    auto* target = static_cast<char*>(result.view_record().data);
    const auto copy = [&](auto width) {
      parallel_for(0, lines.outer * count, std::max<int64_t>(1, 32768 / bytes),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t line = i / count * lines.size + to[i % count];
                       std::memcpy(target + i * bytes, from + line * bytes,
                                   static_cast<size_t>(width(bytes)));
                     }
                   });
    };
    // Single elements are copied without a call.
    if (bytes == 4)
      copy([](int64_t) { return 4; });
    else if (bytes == 8)
      copy([](int64_t) { return 8; });
    else
      copy([](int64_t size) { return size; });
    return result;
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<IndexSelect>& c, const Tensor& g) {
    const Tensor start = expanded_zeros(c["input"_arg].shape(), g.dtype());
    return {start.index_add(c["dim"_arg], c["index"_arg], g), {}, {}};
  }
  static Tensor jvp(ContextOf<IndexSelect>& c, TensorList tangents) {
    return tangents[0].index_select(c["dim"_arg], c["index"_arg]);
  }
};

// body(zero) with the element type of a dtype that has sums: complex ones, too.
template <class Body>
void visit_sums(DType dtype, const Body& body) {
  if (is_complex(dtype))
    kernel::visit_complex(dtype, body);
  else
    visit(dtype, body);
}

struct IndexAdd {
  static constexpr auto schema =
      "index_add(Tensor input, int dim, Tensor index, Tensor source, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "A copy of input with the entries of source added at the given indices of a dimension.";
  static constexpr auto saves = "shape(input), index, shape(source)";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index,
                        const Tensor& source) {
    constexpr auto op = "index_add";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    check_vector(op, index);
    kernel::check_same_dtype(op, "input", input, "source", source);
    const kernel::Lines lines(input.shape(), at);
    const Tensor indices = checked_indices(op, index, at, lines.size);
    Shape expected(input.shape());
    if (expected.rank != 0)
      expected[at] = indices.numel();
    else if (indices.numel() != 1)
      throw IndexError("index_add(): a 0-dim input takes one index, not " +
                       std::to_string(indices.numel()));
    if (!same_shape(source.shape(), expected)) {
      throw ValueError("index_add(): source has shape " + shape_text(source.shape()) +
                       ", but input of shape " + shape_text(input.shape()) + " and " +
                       std::to_string(indices.numel()) + " indices along dimension " +
                       std::to_string(at) + " take " + shape_text(expected));
    }
    const Tensor result = copy_of(input);
    if (source.numel() == 0) return result;
    const Tensor added = contiguous_as(source, source.dtype());
    const int64_t* to = indices.data<int64_t>();
    const int64_t count = indices.numel();
    visit_sums(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      E* target = result.data<E>();
      const E* from = added.data<E>();
      // Threads share the inner elements, so that entries with one index never meet.
      const int64_t grain = std::max<int64_t>(64, 32768 / (lines.outer * count));
      parallel_for(0, lines.inner, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < lines.outer * count; ++i) {
          E* line = target + (i / count * lines.size + to[i % count]) * lines.inner;
          const E* values = from + i * lines.inner;
          for (int64_t k = begin; k < end; ++k) add_to(line[k], values[k]);
        }
      });
    });
    return result;
  }
  static std::array<Tensor, 4> backward(ContextOf<IndexAdd>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "source"_arg = [&] { return g.index_select(c["dim"_arg], c["index"_arg]); });
  }
  static Tensor jvp(ContextOf<IndexAdd>& c, TensorList tangents) {
    if (!tangents[3].defined()) return tangents[0];
    const Tensor start = tangents[0].defined()
                             ? tangents[0]
                             : expanded_zeros(c["input"_arg].shape(), tangents[3].dtype());
    return start.index_add(c["dim"_arg], c["index"_arg], tangents[3]);
  }
};

// Walks every place of an index tensor: calls body(place in `lines`' inner x outer, index) for each
// in order. The other dimensions of the index may be smaller than those of the tensor that it
// points into.
struct Places {
  Shape shape, strides;  // shape and strides of the indexed tensor, contiguous
  int64_t dim;

  template <class Body>
  void each(IntList index_shape, const int64_t* indices, const Body& body) const {
    const int64_t rank = index_shape.size();
    const int64_t inner = rank == 0 ? 1 : index_shape[rank - 1];
    const int64_t inner_step = rank == 0 || dim == rank - 1 ? 0 : 1;
    const int64_t along = rank == 0 ? 1 : strides[dim];
    int64_t position[TENON_MAX_RANK] = {};
    int64_t base = 0;
    for (int64_t line = 0, count = kernel::count_elements(index_shape) / inner; line < count;
         ++line) {
      for (int64_t i = 0; i < inner; ++i) {
        body(line * inner + i, base + i * inner_step + indices[line * inner + i] * along);
      }
      for (int64_t d = rank - 2; d >= 0; --d) {
        const int64_t step = d == dim ? 0 : strides[d];
        base += step;
        if (++position[d] < index_shape[d]) break;
        base -= step * index_shape[d];
        position[d] = 0;
      }
    }
  }
};
void check_index_shape(const char* op, const Tensor& index, const Tensor& other, const char* name,
                       int64_t skip) {
  bool fits = index.dim() == other.dim();
  for (int64_t i = 0; fits && i < index.dim(); ++i)
    fits = i == skip || index.shape()[i] <= other.shape()[i];
  if (fits) return;
  throw ValueError(std::string(op) + "(): the index has shape " + shape_text(index.shape()) +
                   ", which does not fit within " + name + " of shape " +
                   shape_text(other.shape()) +
                   (skip < 0 ? "" : " outside of dimension " + std::to_string(skip)));
}

struct Gather {
  static constexpr auto schema =
      "gather(Tensor input, int dim, Tensor index, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "For each place of the index the entry at that index along a dimension.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(input), index";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index) {
    constexpr auto op = "gather";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    if (index.numel() != 0) check_index_shape(op, index, input, "input", at);
    const Tensor result = empty_tensor(index.shape(), input.dtype());
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    if (result.numel() == 0) return result;
    const Tensor source = contiguous_as(input, input.dtype());
    const Places places{Shape(source.shape()), row_major_strides(source.shape()), at};
    kernel::visit_width(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = kernel::elements<const E>(source);
      E* to = kernel::elements<E>(result);
      places.each(index.shape(), indices.data<int64_t>(),
                  [=](int64_t i, int64_t place) { to[i] = from[place]; });
    });
    return result;
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Gather>& c, const Tensor& g) {
    const Tensor start = expanded_zeros(c["input"_arg].shape(), g.dtype());
    return {start.scatter_add(c["dim"_arg], c["index"_arg], g), {}, {}};
  }
  static Tensor jvp(ContextOf<Gather>& c, TensorList tangents) {
    return tangents[0].gather(c["dim"_arg], c["index"_arg]);
  }
};

// The gradient of the entries of src that an index reads as that of all: the others have no part in
// the result.
Tensor as_source(Tensor part, IntList whole) {
  for (int64_t i = 0; i < whole.size(); ++i) {
    if (part.shape()[i] == whole[i]) continue;
    Shape shape(part.shape());
    shape[i] = whole[i];
    part = slice_backward(part, IntList(shape), i, 0, part.shape()[i], 1);
  }
  return part;
}

// Which entries of an index are the last to name their place: what they write stays.
Tensor writers(IntList shape, int64_t dim, const Tensor& index) {
  const NoGrad scope;
  const Tensor places = arange(index.numel()).reshape(index.shape());
  return eq(scatter(zeros(shape, i64), dim, index, places).gather(dim, index), places);
}

struct Scatter {
  static constexpr auto schema =
      "scatter(Tensor input, int dim, Tensor index, Tensor|Scalar src, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 3]}, "dim": 0, "index": {"shape": [2, 2], "dtype": "i64"}, "src":
          {"shape": [2, 3]}}, {"input": {"shape": [2, 3]}, "dim": 1, "index": {"shape": [2, 1],
          "dtype": "i64"}, "src": 0.5}])";
  static constexpr auto doc =
      "A copy of input with each entry of src, or one number, written where the index says. Where "
      "two name one place the last in row-major order is written, and has the gradient.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(input), index, shape(src)";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index,
                        const Argument& given) {
    constexpr auto op = "scatter";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    const bool is_tensor = given.value().tag == TENON_VALUE_TENSOR;
    const Tensor src = is_tensor ? Tensor::borrow(given.value().as.tensor)
                                 : number(Scalar(given.value()), input.dtype(), index);
    kernel::check_same_dtype(op, "input", input, "src", src);
    if (index.numel() != 0) {
      check_index_shape(op, index, input, "input", at);
      check_index_shape(op, index, src, "src", -1);
    }
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    const Tensor result = copy_of(input);
    if (indices.numel() == 0) return result;
    const Tensor part = alias_tensor(src, index.shape(), src.strides(), 0);
    const Tensor written = contiguous_as(part, part.dtype());
    const Places places{Shape(result.shape()), row_major_strides(result.shape()), at};
    kernel::visit_width(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = kernel::elements<const E>(written);
      E* to = kernel::elements<E>(result);
      places.each(index.shape(), indices.data<int64_t>(),
                  [=](int64_t i, int64_t place) { to[place] = from[i]; });
    });
    return result;
  }
  // One number in the shape of the index, without memory for each.
  static Tensor number(const Scalar& value, DType dtype, const Tensor& index) {
    if (!value.fits(dtype)) {
      throw ValueError("scatter(): src " + value.text() + " does not fit the " + dtype_text(dtype) +
                       " input: convert it to a wider dtype with to()");
    }
    const Tensor one = empty_tensor(IntList(), dtype);
    fill_elements(one, value);
    Shape strides(index.shape());
    for (int64_t i = 0; i < strides.rank; ++i) strides[i] = 0;
    return alias_tensor(one, index.shape(), strides, 0);
  }
  static std::array<Tensor, 4> backward(ContextOf<Scatter>& c, const Tensor& g) {
    const int64_t dim = c["dim"_arg];
    const Tensor& index = c["index"_arg];
    return needed_gradients(
        c, "input"_arg = [&] { return scatter(g, dim, index, 0); },
        "src"_arg =
            [&] {
              const Tensor src = Tensor::borrow(c["src"_arg].value().as.tensor);
              if (index.numel() == 0) return zeros(src.shape(), g.dtype());
              const Tensor read = g.gather(dim, index);
              const Tensor part = where(writers(c["input"_arg].shape(), dim, index), read, 0);
              return as_source(part, src.shape());
            });
  }
  static Tensor jvp(ContextOf<Scatter>& c, TensorList tangents) {
    const DType dtype = (tangents[0].defined() ? tangents[0] : tangents[3]).dtype();
    const Tensor start =
        tangents[0].defined() ? tangents[0] : expanded_zeros(c["input"_arg].shape(), dtype);
    if (!tangents[3].defined()) return scatter(start, c["dim"_arg], c["index"_arg], 0);
    return scatter(start, c["dim"_arg], c["index"_arg], tangents[3]);
  }
};

struct ScatterAdd {
  static constexpr auto schema =
      "scatter_add(Tensor input, int dim, Tensor index, Tensor src, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc = "A copy of input with each entry of src added where the index says.";
  static constexpr auto saves = "shape(input), index, shape(src)";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src) {
    constexpr auto op = "scatter_add";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    kernel::check_same_dtype(op, "input", input, "src", src);
    if (index.numel() != 0) {
      check_index_shape(op, index, input, "input", at);
      check_index_shape(op, index, src, "src", -1);
    }
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    const Tensor result = copy_of(input);
    if (indices.numel() == 0) return result;
    const Tensor part = alias_tensor(src, index.shape(), src.strides(), 0);
    const Tensor added = contiguous_as(part, part.dtype());
    const Places places{Shape(result.shape()), row_major_strides(result.shape()), at};
    visit_sums(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = added.data<E>();
      E* to = result.data<E>();
      places.each(index.shape(), indices.data<int64_t>(),
                  [=](int64_t i, int64_t place) { add_to(to[place], from[i]); });
    });
    return result;
  }
  static std::array<Tensor, 4> backward(ContextOf<ScatterAdd>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "src"_arg =
            [&] {
              const IntList whole = c["src"_arg].shape();
              // An empty index may have any shape.
              if (c["index"_arg].numel() == 0) return zeros(whole, g.dtype());
              return as_source(g.gather(c["dim"_arg], c["index"_arg]), whole);
            });
  }
  static Tensor jvp(ContextOf<ScatterAdd>& c, TensorList tangents) {
    if (!tangents[3].defined()) return tangents[0];
    const Tensor start = tangents[0].defined()
                             ? tangents[0]
                             : expanded_zeros(c["input"_arg].shape(), tangents[3].dtype());
    return start.scatter_add(c["dim"_arg], c["index"_arg], tangents[3]);
  }
};

enum class Reduce { sum, mean, prod, amax, amin };
Reduce reduce_of(std::string_view name) {
  constexpr std::pair<const char*, Reduce> names[] = {{"sum", Reduce::sum},
                                                      {"mean", Reduce::mean},
                                                      {"prod", Reduce::prod},
                                                      {"amax", Reduce::amax},
                                                      {"amin", Reduce::amin}};
  for (const auto& [known, reduce] : names) {
    if (name == known) return reduce;
  }
  throw ValueError("scatter_reduce(): reduce is '" + std::string(name) +
                   "'; choose sum, mean, prod, amax or amin");
}

// One more element for a place: integers wrap, of bools prod is and; NaN is an extremum.
template <class T>
T reduce_step(Reduce reduce, T all, T next) {
  if (reduce == Reduce::amax) return next > all || next != next ? next : all;
  if (reduce == Reduce::amin) return next < all || next != next ? next : all;
  if constexpr (std::is_same_v<T, bool>)
    return all && next;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(all) * static_cast<uint64_t>(next));
  else
    return all * next;
}

// The operands of scatter_reduce's rules: the part of src that the index reads, and the places it
// names.
struct Reduced {
  int64_t dim;
  Tensor index, part, unnamed;

  Reduced(IntList shape, int64_t along, Tensor places, Tensor src)
      : dim(along), index(std::move(places)), part(std::move(src)) {
    const NoGrad scope;
    for (int64_t i = 0; i < index.dim(); ++i) part = part.narrow(i, 0, index.shape()[i]);
    unnamed = scatter(ones(shape, boolean), dim, index, false);
  }
  // How many elements a place has.
  Tensor count(bool include_self, DType dtype) const {
    const Tensor own = include_self ? ones(unnamed.shape(), dtype) : unnamed.to(dtype);
    return own.scatter_add(dim, index, ones(index.shape(), dtype));
  }
};

struct ScatterReduce {
  static constexpr auto schema =
      "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool "
      "include_self=True, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 3]}, "dim": 0, "index": {"shape": [2, 2], "dtype": "i64"}, "src":
          {"shape": [2, 3]}, "reduce": "amax"}, {"input": {"shape": [3]}, "dim": 0, "index":
          {"values": [0, 2, 0], "dtype": "i64"}, "src": {"shape": [3]}, "reduce": "mean",
          "include_self": false}, {"input": {"shape": [3]}, "dim": 0, "index": {"values": [0, 2, 0],
          "dtype": "i64"}, "src": {"shape": [3]}, "reduce": "sum"}])";
  static constexpr auto doc =
      "A copy of input whose elements at the places that the index names are reduced with the "
      "entries of src there: their sum, mean (of integers rounded down), prod, amax or amin. "
      "Without "
      "include_self only those of src count. Ties of amax and amin share the gradient; prod has "
      "none.";
  static constexpr auto saves = "input, index, src, result";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view name, bool include_self) {
    constexpr auto op = "scatter_reduce";
    const Reduce reduce = reduce_of(name);
    const int64_t at = wrap_dimension(op, dim, input.dim());
    kernel::check_same_dtype(op, "input", input, "src", src);
    if (index.numel() != 0) {
      check_index_shape(op, index, input, "input", at);
      check_index_shape(op, index, src, "src", -1);
    }
    const Tensor indices = checked_indices(op, index, at, input.dim() == 0 ? 1 : input.shape()[at]);
    if (reduce == Reduce::mean)
      kernel::check_dtype(op, "input", input.dtype(), floating_dtypes | integer_dtypes);
    if (indices.numel() == 0) return copy_of(input);
    const Reduced reduced(input.shape(), at, indices, src);
    if (reduce == Reduce::sum || reduce == Reduce::mean) {
      const bool whole = reduce == Reduce::mean && !is_floating(input.dtype());
      const Tensor own = whole ? input.to(i64) : input;
      const Tensor start = include_self ? own : scatter(own, at, indices, 0);
      const Tensor total = start.scatter_add(at, indices, reduced.part.to(own.dtype()));
      if (reduce == Reduce::sum) return total;
      const Tensor count = reduced.count(include_self, own.dtype());
      return whole ? floor_divide(total, count).to(input.dtype()) : total / count;
    }
    return reduce_places(reduce, input, indices, reduced, include_self);
  }
  static Tensor reduce_places(Reduce reduce, const Tensor& input, const Tensor& indices,
                              const Reduced& reduced, bool include_self) {
    const Tensor result = copy_of(input);
    const Tensor added = contiguous_as(reduced.part, input.dtype());
    std::vector<bool> seen(static_cast<size_t>(include_self ? 0 : result.numel()));
    const Places places{Shape(result.shape()), row_major_strides(result.shape()), reduced.dim};
    visit(input.dtype(), [&](auto zero) {
      using E = decltype(zero);
      const E* from = added.data<E>();
      E* to = result.data<E>();
      places.each(indices.shape(), indices.data<int64_t>(), [&](int64_t i, int64_t place) {
        const bool first = !include_self && !seen[static_cast<size_t>(place)];
        if (first) seen[static_cast<size_t>(place)] = true;
        to[place] = first ? from[i] : reduce_step(reduce, to[place], from[i]);
      });
    });
    return result;
  }
  // The weights of input's elements and of the entries of src in the result, before the division.
  struct Shares {
    Tensor own, part, count;
    Shares(ContextOf<ScatterReduce>& c, const Reduced& reduced, DType dtype) {
      const Reduce reduce = reduce_of(c["reduce"_arg]);
      const bool include_self = c["include_self"_arg];
      if (reduce == Reduce::prod) {
        throw RuntimeError(
            "scatter_reduce(): reduce is 'prod', which has no derivative; use sum, mean, amax or "
            "amin");
      }
      const NoGrad scope;
      own = include_self ? ones(reduced.unnamed.shape(), boolean) : reduced.unnamed;
      part = ones(reduced.index.shape(), boolean);
      if (reduce == Reduce::amax || reduce == Reduce::amin) {
        const Tensor result = c.result();
        own = logical_or(logical_and(own, eq(c["input"_arg], result)), reduced.unnamed);
        part = eq(reduced.part, result.gather(reduced.dim, reduced.index));
      }
      if (reduce != Reduce::sum) {
        const Tensor start = own.to(dtype);
        count = start.scatter_add(reduced.dim, reduced.index, part.to(dtype)).clamp(1);
      }
    }
  };
  static std::array<Tensor, 4> backward(ContextOf<ScatterReduce>& c, const Tensor& g) {
    const Tensor &input = c["input"_arg], &index = c["index"_arg], &src = c["src"_arg];
    if (index.numel() == 0) return {g, Tensor(), Tensor(), zeros(src.shape(), g.dtype())};
    const int64_t dim = wrap_dimension("scatter_reduce", c["dim"_arg], input.dim());
    const Reduced reduced(input.shape(), dim, index, src);
    const Shares shares(c, reduced, g.dtype());
    const Tensor divided = shares.count.defined() ? g / shares.count : g;
    return needed_gradients(
        c, "input"_arg = [&] { return where(shares.own, divided, 0); },
        "src"_arg =
            [&] {
              const Tensor part = where(shares.part, divided.gather(dim, index), 0);
              return as_source(part, src.shape());
            });
  }
  static Tensor jvp(ContextOf<ScatterReduce>& c, TensorList tangents) {
    const Tensor &input = c["input"_arg], &index = c["index"_arg], &src = c["src"_arg];
    const DType dtype = (tangents[0].defined() ? tangents[0] : tangents[3]).dtype();
    const Tensor own = tangents[0].defined() ? tangents[0] : expanded_zeros(input.shape(), dtype);
    if (index.numel() == 0) return own;
    const int64_t dim = wrap_dimension("scatter_reduce", c["dim"_arg], input.dim());
    const Reduced reduced(input.shape(), dim, index, src);
    const Shares shares(c, reduced, dtype);
    Tensor part = tangents[3].defined() ? tangents[3] : expanded_zeros(src.shape(), dtype);
    for (int64_t i = 0; i < index.dim(); ++i) part = part.narrow(i, 0, index.shape()[i]);
    const Tensor total =
        where(shares.own, own, 0).scatter_add(dim, index, where(shares.part, part, 0));
    return shares.count.defined() ? total / shares.count : total;
  }
};

struct OneHot {
  static constexpr auto schema = "one_hot(Tensor input, int num_classes) -> Tensor";
  static constexpr auto doc =
      "For each class index a vector of zeros with a one in its place, as i64.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, int64_t num_classes) {
    if (num_classes < 1) {
      throw ValueError("one_hot(): num_classes must be at least 1, but it is " +
                       std::to_string(num_classes));
    }
    kernel::check_rank("one_hot", input.dim() + 1);
    check_index_dtype("one_hot", input);
    const Tensor classes = contiguous_as(input, i64);
    const int64_t* from = classes.data<int64_t>();
    for (int64_t i = 0; i < classes.numel(); ++i) {
      if (from[i] < 0 || from[i] >= num_classes) {
        throw IndexError("one_hot(): class " + std::to_string(from[i]) + " is out of range for " +
                         std::to_string(num_classes) + " classes");
      }
    }
    Shape shape(input.shape());
    shape.push(num_classes);
    const Tensor result = empty_tensor(shape, i64);
    fill_elements(result, 0);
    auto* to = result.data<int64_t>();
    for (int64_t i = 0; i < classes.numel(); ++i) to[i * num_classes + from[i]] = 1;
    return result;
  }
};

}  // namespace

TENON_OPS(IndexSelect, Gather, OneHot)
TENON_OPS_WITH_IN_PLACE(IndexAdd, Scatter, ScatterAdd, ScatterReduce)
