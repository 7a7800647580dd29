// sort, argsort, topk and median. NaN comes after all numbers, or before them where the order is
// descending; equal elements keep their order.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lines.hpp"
#include "picked.hpp"

using namespace tenon;
using namespace math;

namespace {

template <class Key, class Index>
struct Keyed {
  Key key;
  Index index;
};
template <class Key, class Index>
bool comes_before(const Keyed<Key, Index>& a, const Keyed<Key, Index>& b) {
  return a.key != b.key ? a.key < b.key : a.index < b.index;
}

// Lines that are shorter are sorted by comparison.
constexpr int64_t kShortLine = 256;

// Sorts the items item(0) to item(count - 1) by one digit of the key after the other, the lowest
// first: stable, in linear time. Digits that all keys share are passed over. Each pass goes from one
// of the two buffers, of `count` items, to the other; the first one goes to `spare`, so that item()
// may read `items`. Returns the one that has the result.
template <class Item, class ItemAt>
Item* sort_by_digits(const ItemAt& item, int64_t count, Item* items, Item* spare) {
  using Key = decltype(Item::key);
  constexpr int kBits = 8, kWidth = 1 << kBits, kDigits = static_cast<int>(sizeof(Key));
  std::vector<int64_t> counts(static_cast<size_t>(kDigits * kWidth));
  const auto digit = [](Key key, int d) {
    return static_cast<int64_t>(key >> (d * kBits)) & (kWidth - 1);
  };
  for (int64_t i = 0; i < count; ++i) {
    const Key key = item(i).key;
    for (int d = 0; d < kDigits; ++d) ++counts[static_cast<size_t>(d * kWidth + digit(key, d))];
  }
  Item *from = nullptr, *to = spare;
  const auto pass = [&](const auto& at, int d, int64_t* starts) {
    for (int64_t i = 0; i < count; ++i) {
      const Item one = at(i);
      to[starts[digit(one.key, d)]++] = one;
    }
  };
  for (int d = 0; d < kDigits; ++d) {
    int64_t* starts = counts.data() + static_cast<ptrdiff_t>(d) * kWidth;
    if (std::find(starts, starts + kWidth, count) != starts + kWidth) continue;
    for (int64_t sum = 0, k = 0; k < kWidth; ++k) sum += std::exchange(starts[k], sum);
    if (from == nullptr)
      pass(item, d, starts);
    else
      pass([from](int64_t i) { return from[i]; }, d, starts);
    from = std::exchange(to, to == spare ? items : spare);
  }
  if (from != nullptr) return from;
  for (int64_t i = 0; i < count; ++i) items[i] = item(i);  // all keys are equal
  return items;
}

// Sorts `count` items, with as many to spare. Returns where they are.
template <class Item>
Item* sort_items(Item* items, int64_t count, Item* spare) {
  if (count >= kShortLine)
    return sort_by_digits([items](int64_t i) { return items[i]; }, count, items, spare);
  std::sort(items, items + count, comes_before<decltype(Item::key), decltype(Item::index)>);
  return items;
}

// Calls body(T{}, Index{}) with the elements' type and the type of indices along a line.
template <class Body>
void visit_sorted(DType dtype, int64_t size, const Body& body) {
  kernel::visit<floating_dtypes | integer_dtypes>(dtype, [&](auto zero) {
    if (size <= INT64_C(0xffffffff))
      body(zero, uint32_t{});
    else
      body(zero, int64_t{});
  });
}

// Writes the `count` items that come first to a line of the results, whose elements are `step`
// apart. `values` may be null.
template <class T, class Item>
void write_items(const Item* items, int64_t count, const T* line, bool reversed, T* values,
                 int64_t* indices, int64_t step) {
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<int64_t>(items[i].index);
    if (values != nullptr) {
      const auto key = reversed ? static_cast<decltype(Item::key)>(~items[i].key) : items[i].key;
      values[i * step] = shares_key<T>(key) ? line[index * step] : element_of<T>(key);
    }
    indices[i * step] = index;
  }
}

// Sorts lines of one size, whose elements are `step` apart.
template <class T, class Index>
class LineSorter {
 public:
  explicit LineSorter(int64_t size) : size_(size) {
    items_.reset(new Item[static_cast<size_t>(size)]);  // not zeroed: they may be many
    if (size >= kShortLine) spare_.reset(new Item[static_cast<size_t>(size)]);
  }
  void sort(const T* line, int64_t step, bool descending, T* values, int64_t* indices) const {
    const auto item = [=](int64_t i) {
      const T element = line[i * step];
      return Item{descending ? reversed_key(element) : ordered_key(element), static_cast<Index>(i)};
    };
    Item* sorted = items_.get();
    if (size_ >= kShortLine) {
      sorted = sort_by_digits(item, size_, sorted, spare_.get());
    } else {
      for (int64_t i = 0; i < size_; ++i) sorted[i] = item(i);
      sorted = sort_items(sorted, size_, spare_.get());
    }
    write_items(sorted, size_, line, descending, values, indices, step);
  }

 private:
  using Item = Keyed<UnsignedOf<sizeof(T)>, Index>;
  int64_t size_;
  std::unique_ptr<Item[]> items_, spare_;
};

struct Sorted {
  Tensor values, indices;
};

Sorted sort_along(const char* op, const Tensor& input, int64_t dim, bool descending,
                  bool with_values) {
  const int64_t along = wrap_dimension(op, dim, input.dim());
  const Tensor source = elements_in_order(input);
  const Tensor indices = empty_tensor(input.shape(), i64);
  const Tensor values = with_values ? empty_tensor(input.shape(), source.dtype()) : Tensor();
  const kernel::Lines lines(input.shape(), along);
  if (input.numel() != 0) {
    visit_sorted(source.dtype(), lines.size, [&](auto zero, auto index) {
      using T = decltype(zero);
      using Index = decltype(index);
      const T* from = source.data<T>();
      T* value_to = with_values ? values.data<T>() : nullptr;
      auto* index_to = indices.data<int64_t>();
      kernel::for_rows(lines.outer * lines.inner, lines.size, [&](int64_t begin, int64_t end) {
        const LineSorter<T, Index> sorter(lines.size);
        for (int64_t line = begin; line < end; ++line) {
          const int64_t first = line / lines.inner * lines.size * lines.inner + line % lines.inner;
          sorter.sort(from + first, lines.inner, descending,
                      value_to == nullptr ? nullptr : value_to + first, index_to + first);
        }
      });
    });
  }
  return {with_values ? contiguous_as(values, input.dtype()) : Tensor(), indices};
}

struct Sort {
  static constexpr auto schema =
      "sort(Tensor input, int dim=-1, bool descending=False, *, Tensor(a!)[]? out=None) -> (Tensor "
      "values, Tensor indices)";
  static constexpr auto doc =
      "The elements along a dimension in order, and the index that each had. Stable: equal "
      "elements keep their order. NaN is larger than all numbers.";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, int64_t dim, bool descending) {
    const Sorted sorted = sort_along("sort", input, dim, descending, true);
    return {sorted.values, sorted.indices};
  }
  static Tensor backward(ContextOf<Sort>& c, const Tensor& g, const Tensor&) {
    return put_picked(c, g, c["dim"_arg]);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Sort>& c, TensorList tangents) {
    return take_picked(c, tangents[0], c["dim"_arg]);
  }
};

struct Argsort {
  static constexpr auto schema =
      "argsort(Tensor input, int dim=-1, bool descending=False) -> Tensor";
  static constexpr auto doc =
      "The indices that sort the elements along a dimension: those of sort, which is stable.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, int64_t dim, bool descending) {
    return sort_along("argsort", input, dim, descending, false).indices;
  }
};

// The first `count` items of a line in order. Few are found in one pass that keeps candidates.
template <class T, class Item>
Item* first_items(const T* line, int64_t size, int64_t step, int64_t count, bool largest,
                  std::vector<Item>& items, std::vector<Item>& spare) {
  const auto sorted = [&] {
    spare.resize(items.size());
    return sort_items(items.data(), static_cast<int64_t>(items.size()), spare.data());
  };
  const auto key = [&](int64_t i) {
    const T element = line[i * step];
    return largest ? reversed_key(element) : ordered_key(element);
  };
  const auto item = [](auto key_of, int64_t i) {
    return Item{key_of, static_cast<decltype(Item::index)>(i)};
  };
  items.clear();
  const int64_t room = std::max<int64_t>(4 * count, 1024);
  if (room >= size) {
    for (int64_t i = 0; i < size; ++i) items.push_back(item(key(i), i));
    return sorted();
  }
  const auto middle = [&] { return items.begin() + count; };
  const auto cut = [&] {
    std::nth_element(items.begin(), middle() - 1, items.end(),
                     comes_before<decltype(Item::key), decltype(Item::index)>);
    items.erase(middle(), items.end());
  };
  for (int64_t i = 0; i < room; ++i) items.push_back(item(key(i), i));
  cut();
  // The first of equal elements is kept, so that one which is not below the last adds nothing.
  auto last = items.back().key;
  for (int64_t i = room; i < size; ++i) {
    const auto candidate = key(i);
    if (candidate >= last) continue;
    items.push_back(item(candidate, i));
    if (static_cast<int64_t>(items.size()) < room) continue;
    cut();
    last = items.back().key;
  }
  cut();
  return sorted();
}

struct Topk {
  static constexpr auto schema =
      "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!)[]? "
      "out=None) -> (Tensor values, Tensor indices)";
  static constexpr auto doc =
      "The k largest (or smallest) elements along a dimension and their indices, in order whatever "
      "`sorted` says; of equal elements the first ones. NaN is larger than all numbers.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "k": 2}, {"input": {"shape": [3, 2]}, "k": 2, "dim": 0,
          "largest": false}])";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, int64_t k, int64_t dim,
                                            bool largest, bool) {
    const int64_t along = wrap_dimension("topk", dim, input.dim());
    const kernel::Lines lines(input.shape(), along);
    if (k < 0 || k > lines.size || (input.dim() == 0 && k != 1)) {
      throw ValueError("topk(): k is " + std::to_string(k) + ", but dimension " +
                       std::to_string(along) + " of shape " + shape_text(input.shape()) + " has " +
                       std::to_string(lines.size) + " elements: choose k between " +
                       (input.dim() == 0 ? "1" : "0") + " and that");
    }
    Shape shape(input.shape());
    if (shape.rank != 0) shape[along] = k;
    const Tensor source = elements_in_order(input);
    const Tensor values = empty_tensor(shape, source.dtype()), indices = empty_tensor(shape, i64);
    if (values.numel() != 0) {
      visit_sorted(source.dtype(), lines.size, [&](auto zero, auto index) {
        using T = decltype(zero);
        const T* from = source.data<T>();
        T* value_to = values.data<T>();
        auto* index_to = indices.data<int64_t>();
        kernel::for_rows(lines.outer * lines.inner, lines.size, [&](int64_t begin, int64_t end) {
          std::vector<Keyed<UnsignedOf<sizeof(T)>, decltype(index)>> items, spare;
          for (int64_t line = begin; line < end; ++line) {
            const int64_t outer = line / lines.inner, inner = line % lines.inner;
            const T* first = from + outer * lines.size * lines.inner + inner;
            const int64_t to = outer * k * lines.inner + inner;
            const auto* found =
                first_items(first, lines.size, lines.inner, k, largest, items, spare);
            write_items(found, k, first, largest, value_to + to, index_to + to, lines.inner);
          }
        });
      });
    }
    return {contiguous_as(values, input.dtype()), indices};
  }
  static Tensor backward(ContextOf<Topk>& c, const Tensor& g, const Tensor&) {
    return put_picked(c, g, c["dim"_arg]);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Topk>& c, TensorList tangents) {
    return take_picked(c, tangents[0], c["dim"_arg]);
  }
};

// The place of the element in the middle of a line, the lower of two: its first place; that of the
// first NaN where there is one.
template <class T, class Keys>
int64_t middle_place(const T* line, int64_t size, int64_t step, Keys& keys) {
  for (int64_t i = 0; i < size; ++i) {
    const T element = line[i * step];
    if (element != element) return i;
    keys[static_cast<size_t>(i)] = ordered_key(element);
  }
  const auto middle = keys.begin() + (size - 1) / 2;
  std::nth_element(keys.begin(), middle, keys.end());
  int64_t place = 0;
  while (ordered_key(line[place * step]) != *middle) ++place;
  return place;
}

struct Median {
  static constexpr auto schema =
      "median(Tensor input, int? dim=None, bool keepdim=False, *, Tensor(a!)[]? out=None) -> "
      "(Tensor values, Tensor indices)";
  static constexpr auto doc =
      "The element in the middle of the order along a dimension, or of all, the lower one of two, "
      "and its first index there, in row-major order without `dim`. NaN where there is one.";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, std::optional<int64_t> dim,
                                            bool keepdim) {
    const int64_t along = dim ? wrap_dimension("median", *dim, input.dim()) : 0;
    Shape shape(input.shape());
    const int64_t count = input.numel();
    const kernel::Lines lines =
        dim ? kernel::Lines(input.shape(), along) : kernel::Lines({&count, 1}, 0);
    if (lines.size == 0) {
      throw ValueError("median(): " + (dim ? "dimension " + std::to_string(along) + " of " : "") +
                       "shape " + shape_text(input.shape()) +
                       " has no elements and no median: reduce dimensions with elements");
    }
    for (int64_t i = input.dim() - 1; i >= 0; --i) {
      if (dim && i != along) continue;
      shape[i] = 1;
      if (!keepdim) shape.erase(i);
    }
    const Tensor source = elements_in_order(input);
    const Tensor values = empty_tensor(shape, source.dtype()), indices = empty_tensor(shape, i64);
    kernel::visit<floating_dtypes | integer_dtypes>(source.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if (values.numel() == 0) return;
      const T* from = source.data<T>();
      T* value_to = values.data<T>();
      auto* index_to = indices.data<int64_t>();
      kernel::for_rows(lines.outer * lines.inner, lines.size, [&](int64_t begin, int64_t end) {
        std::vector<UnsignedOf<sizeof(T)>> keys(static_cast<size_t>(lines.size));
        for (int64_t line = begin; line < end; ++line) {
          const T* first =
              from + line / lines.inner * lines.size * lines.inner + line % lines.inner;
          index_to[line] = middle_place(first, lines.size, lines.inner, keys);
          value_to[line] = first[index_to[line] * lines.inner];
        }
      });
    });
    return {contiguous_as(values, input.dtype()), indices};
  }
  static Tensor backward(ContextOf<Median>& c, const Tensor& g, const Tensor&) {
    const IntList shape = c["input"_arg].shape();
    const Tensor index = c["indices"_result];
    if (const auto dim = c["dim"_arg]) {
      const bool kept = c["keepdim"_arg] || shape.empty();
      return expanded_zeros(shape, g.dtype())
          .scatter_add(*dim, kept ? index : index.unsqueeze(*dim), kept ? g : g.unsqueeze(*dim));
    }
    return zeros({kernel::count_elements(shape)}, g.dtype())
        .scatter_add(0, index.reshape({1}), g.reshape({1}))
        .reshape(shape);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Median>& c, TensorList tangents) {
    const Tensor& tangent = tangents[0];
    const Tensor index = c["indices"_result];
    if (const auto dim = c["dim"_arg]) {
      if (c["keepdim"_arg] || tangent.dim() == 0) return {tangent.gather(*dim, index), {}};
      return {tangent.gather(*dim, index.unsqueeze(*dim)).squeeze(*dim), {}};
    }
    return {tangent.reshape({-1}).gather(0, index.reshape({1})).reshape(index.shape()), {}};
  }
};

}  // namespace

TENON_OPS(Sort, Argsort, Topk, Median)
