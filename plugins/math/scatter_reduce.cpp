// scatter_reduce: sums, means, products and extrema where an index says.
#include <utility>
#include <vector>

#include "scattering.hpp"

using namespace tenon;
using namespace math;

namespace {

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

// The products of all other factors at the place of each factor.
struct Cofactors {
  Tensor own, part;

  // `own` are the elements of the places, 1 where they are not factors.
  Cofactors(const Tensor& own_factors, const Reduced& reduced) {
    const int64_t count = own_factors.numel(), parts = reduced.index.numel();
    const Tensor rows = own_factors.reshape({count});
    const Tensor numbers = arange(count).reshape(own_factors.shape());
    const Tensor places = cat(
        {numbers.reshape({count}), numbers.gather(reduced.dim, reduced.index).reshape({parts})}, 0);
    const Tensor factors = cat({rows, reduced.part.reshape({parts})}, 0);
    const Tensor order = argsort(places, 0, false);
    const Tensor sorted = places.index_select(0, order);
    const Tensor at = arange(count + parts);
    const Tensor before = at - searchsorted(sorted, sorted),
                 after = searchsorted(sorted, sorted, false, true) - at - 1;
    const Tensor in_order = factors.index_select(0, order);
    const Tensor others = product_before(in_order, before) *
                          product_before(in_order.flip({0}), after.flip({0})).flip({0});
    const Tensor all = others.index_select(0, argsort(order, 0, false));
    own = all.narrow(0, 0, count).reshape(own_factors.shape());
    part = all.narrow(0, count, parts).reshape(reduced.index.shape());
  }

 private:
  // The products of as many factors before each one as `before` says, by doubling; ops only, so
  // that it can be differentiated.
  static Tensor product_before(const Tensor& factors, const Tensor& before) {
    const auto shifted = [&](const Tensor& x, int64_t step) {
      return where(ge(before, step), x.roll({step}, {0}), 1);
    };
    Tensor product = shifted(factors, 1);
    const auto most = amax(before).item<int64_t>();
    for (int64_t step = 1; step < most; step *= 2) product = product * shifted(product, step);
    return product;
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
          "dtype": "i64"}, "src": {"shape": [3]}, "reduce": "sum"}, {"input": {"shape": [3]}, "dim":
          0, "index": {"values": [0, 2, 0], "dtype": "i64"}, "src": {"shape": [3]}, "reduce":
          "prod"}])";
  static constexpr auto doc =
      "A copy of input whose elements at the places that the index names are reduced with the "
      "entries of src there: their sum, mean (of integers rounded down), prod, amax or amin. "
      "Without include_self only those of src count. Ties of amax and amin share the gradient.";
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
  // The weights of input's elements and of the entries of src in a product.
  static std::pair<Tensor, Tensor> cofactors(ContextOf<ScatterReduce>& c, const Reduced& reduced,
                                             DType dtype) {
    const Tensor own = c["input"_arg].to(dtype);
    const bool include_self = c["include_self"_arg];
    Reduced by(reduced);
    by.part = part_of(c["src"_arg], reduced.index).to(dtype);
    const Tensor& unnamed = reduced.unnamed;
    const Tensor factors = include_self ? own : where(unnamed, own, 1);
    if (has_zero(factors) || has_zero(by.part)) {
      // Division would lose what a zero hides.
      const Cofactors others(factors, by);
      return {include_self ? others.own : unnamed.to(dtype), others.part};
    }
    const Tensor result = c.result().to(dtype);
    return {include_self ? result / own : unnamed.to(dtype),
            result.gather(reduced.dim, reduced.index) / by.part};
  }
  static bool has_zero(const Tensor& tensor) {
    const NoGrad scope;
    return eq(tensor, 0).any().item<bool>();
  }
  static Tensor part_of(Tensor src, const Tensor& index) {
    for (int64_t i = 0; i < index.dim(); ++i) src = src.narrow(i, 0, index.shape()[i]);
    return src;
  }
  // The weights of input's elements and of the entries of src in the result, before the division.
  struct Shares {
    Tensor own, part, count;
    Shares(ContextOf<ScatterReduce>& c, const Reduced& reduced, DType dtype) {
      const Reduce reduce = reduce_of(c["reduce"_arg]);
      const bool include_self = c["include_self"_arg];
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
    if (reduce_of(c["reduce"_arg]) == Reduce::prod) {
      const auto [own, part] = cofactors(c, reduced, g.dtype());
      return {g * own, Tensor(), Tensor(), as_source(g.gather(dim, index) * part, src.shape())};
    }
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
    const Tensor part =
        part_of(tangents[3].defined() ? tangents[3] : expanded_zeros(src.shape(), dtype), index);
    if (reduce_of(c["reduce"_arg]) == Reduce::prod) {
      const auto [by_own, by_part] = cofactors(c, reduced, dtype);
      return (own * by_own).scatter_add(dim, index, part * by_part);
    }
    const Shares shares(c, reduced, dtype);
    const Tensor total =
        where(shares.own, own, 0).scatter_add(dim, index, where(shares.part, part, 0));
    return shares.count.defined() ? total / shares.count : total;
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(ScatterReduce)
