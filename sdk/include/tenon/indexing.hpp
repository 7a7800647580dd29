// Indexing as NumPy has it: x[1], x[{ellipsis, Slice(2, none)}], x[mask] = 0.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN
namespace indexing {

// The ops that indexing is made of; each is looked up once, at the first use.
inline const auto& ops() {
  static const struct {
    Op select{"select"}, slice{"slice"}, unsqueeze{"unsqueeze"}, permute{"permute"},
        expand{"expand"}, index{"index"}, index_put{"index_put"}, copy_{"copy_"}, fill_{"fill_"},
        full{"full"}, to{"to"}, add_{"add_"}, sub_{"sub_"}, mul_{"mul_"}, div_{"div_"};
  } all;
  return all;
}

// As many whole dimensions as the other indices leave.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};  // x[{ellipsis, 0}]

// The indices start, start + step, ... before stop. Negative bounds count from the end; `none` is
// from the beginning, to the end; bounds beyond the ends are cut. The step is above 0.
class Slice {
 public:
  class Bound {  // a number, or none
   public:
    Bound(None) : value_(none) {}                     // from the beginning, or to the end
    Bound(int64_t at) : value_(at) {}                 // negative: from the end
    const Argument& value() const { return value_; }  // none: not given

   private:
    Argument value_;
  };
  Slice(Bound start = none, Bound stop = none, int64_t step = 1)  // as start:stop:step
      : start_(start), stop_(stop), step_(step) {}
  Tensor of(const Tensor& tensor, int64_t dim) const {  // a view
    return ops().slice.call<Tensor>(tensor, dim, start_.value(), stop_.value(), step_);
  }

 private:
  Bound start_, stop_;
  int64_t step_;
};

// One index: an integer, a slice, `ellipsis`, `none`, which makes a dimension of size 1, or a
// tensor: a mask (bool) or indices (i64 or i32). Integers and tensors count from the end where they
// are negative.
class Index {
 public:
  enum class Kind { integer, slice, skip, dimension, tensor };  // kinds of indices

  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Index(T number) : kind_(Kind::integer), number_(static_cast<int64_t>(number)) {}  // one
  Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}                  // keeps it
  Index(Ellipsis) : kind_(Kind::skip) {}                                // skips dimensions
  Index(None) : kind_(Kind::dimension) {}                               // a new dimension of size 1
  Index(const Tensor& tensor) : kind_(Kind::tensor), tensor_(tensor) {  // integers or a mask
    if (!tensor.defined()) throw TypeError("an undefined tensor is not an index");
  }

  Kind kind() const { return kind_; }               // which member holds it
  int64_t number() const { return number_; }        // the integer
  const Slice& slice() const { return slice_; }     // the slice
  const Tensor& tensor() const { return tensor_; }  // the tensor
  // How many dimensions of the tensor it is for.
  int64_t dimensions() const {
    if (kind_ == Kind::tensor && tensor_.dtype() == boolean) return tensor_.dim();
    return kind_ == Kind::skip || kind_ == Kind::dimension ? 0 : 1;
  }

 private:
  Kind kind_;
  int64_t number_ = 0;
  Slice slice_;
  Tensor tensor_;
};

// The result of x[index]: a tensor like any other, a view of x unless an index is a tensor.
// Assigning to the expression itself writes to x: `x[0] = y`, `x[mask] += 1`; what is written is
// broadcast, and converted to the dtype of x. A variable that holds it is an ordinary tensor.
class Element : public Tensor {
 public:
  explicit Element(Tensor view) : Tensor(std::move(view)) {}  // from a view, x[0]
  // `tensors` index the dimensions in front of `target`, a view of x; the result has what they
  // select behind `before` dimensions.
  Element(Tensor target, std::vector<Tensor> tensors, int64_t before)
      : Element(gathered(target, tensors, before)) {
    target_ = std::move(target);
    tensors_ = std::move(tensors);
    before_ = before;
  }
  Element(const Element&) = default;
  Element(Element&&) = default;
  Element& operator=(const Element&) & = default;
  Element& operator=(Element&&) & = default;

  void operator=(const Argument& value) && { write(value); }
  void operator=(const Element& value) && { write(value); }
  void operator+=(const Argument& value) && { change(ops().add_, value); }  // in place
  void operator-=(const Argument& value) && { change(ops().sub_, value); }  // in place
  void operator*=(const Argument& value) && { change(ops().mul_, value); }  // in place
  void operator/=(const Argument& value) && { change(ops().div_, value); }  // in place

 private:
  // How many dimensions the index tensors select.
  static int64_t selected(const Tensor& result, const Tensor& target,
                          const std::vector<Tensor>& tensors) {
    int64_t indexed = 0;
    for (const Tensor& tensor : tensors) indexed += Index(tensor).dimensions();
    return result.dim() - (target.dim() - indexed);
  }
  // [0, rank) with `count` dimensions from `from` on moved to `to`.
  static std::vector<int64_t> moved(int64_t rank, int64_t from, int64_t count, int64_t to) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < rank; ++i) {
      if (i < from || i >= from + count) order.push_back(i);
    }
    for (int64_t i = 0; i < count; ++i) order.insert(order.begin() + to + i, from + i);
    return order;
  }
  static Tensor gathered(const Tensor& target, const std::vector<Tensor>& tensors, int64_t before) {
    auto result = ops().index.call<Tensor>(target, tensors);
    if (before == 0) return result;
    const int64_t count = selected(result, target, tensors);
    return ops().permute.call<Tensor>(result, moved(result.dim(), 0, count, before));
  }

  void write(const Argument& value) {
    const bool tensor = value.value().tag == TENON_VALUE_TENSOR;
    if (!target_.defined()) {
      (tensor ? ops().copy_ : ops().fill_).call<Tensor>(*this, value);
      return;
    }
    const Tensor given = tensor ? ops().to.call<Tensor>(value, dtype())
                                : ops().full.call<Tensor>(Argument(IntList()), value, dtype());
    put(ops().expand.call<Tensor>(given, shape()));
  }
  void change(const Op& op, const Argument& value) {
    op.call<Tensor>(*this, value);
    if (target_.defined()) put(*this);
  }
  void put(const Tensor& values) const {
    const int64_t count = selected(*this, target_, tensors_);
    const auto front = ops().permute.call<Tensor>(values, moved(dim(), before_, count, 0));
    ops().copy_.call<Tensor>(target_, ops().index_put.call<Tensor>(target_, tensors_, front));
  }

  Tensor target_;  // undefined: this is a view
  std::vector<Tensor> tensors_;
  int64_t before_ = 0;
};

// Index tensors, each with the dimensions that it is for.
struct Advanced {
  std::vector<Tensor> tensors;         // one for each dimension
  std::vector<int64_t> dims;           // dimensions that they index
  bool apart = false, closed = false;  // whether another index is between them

  void add(const Tensor& tensor, int64_t dim, int64_t dimensions) {  // `dimensions`: of a mask
    apart = apart || closed;
    tensors.push_back(tensor);
    for (int64_t i = 0; i < dimensions; ++i) dims.push_back(dim + i);
  }
  void pass() { closed = closed || !tensors.empty(); }  // another index is between them
  // NumPy's rule: what the tensors select is where they are, or in front where they are apart.
  Element of(const Tensor& view) const {
    std::vector<int64_t> order = dims;
    int64_t before = 0;
    for (int64_t d = 0, next = 0; d < view.dim(); ++d) {
      if (next < static_cast<int64_t>(dims.size()) && dims[static_cast<size_t>(next)] == d) {
        ++next;
        continue;
      }
      order.push_back(d);
      before += next == 0 && !apart ? 1 : 0;
    }
    return Element(ops().permute.call<Tensor>(view, order), tensors, before);
  }
};

// `source` is the dimension that the caller knows it by.
inline int64_t wrapped(const Tensor& view, int64_t dim, int64_t source, int64_t index) {
  const int64_t size = view.shape()[dim];
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  detail::throw_message(TENON_ERROR_INDEX, {"index ", index, " is out of range for dimension ",
                                            source, " with size ", size});
}

// IndexError for more indices than dimensions, and for indices beyond them.
inline Element element(const Tensor& tensor, const Index* begin, const Index* end) {
  int64_t named = 0, ellipses = 0;
  bool with_tensors = false;
  for (const Index* index = begin; index != end; ++index) {
    named += index->dimensions();
    ellipses += index->kind() == Index::Kind::skip ? 1 : 0;
    with_tensors = with_tensors || index->kind() == Index::Kind::tensor;
  }
  if (named > tensor.dim()) {
    detail::throw_message(TENON_ERROR_INDEX,
                          {named, " dimensions are indexed, but the tensor has ", tensor.dim()});
  }
  if (ellipses > 1) {
    detail::throw_message(TENON_ERROR_INDEX, {ellipses, " indices are an ellipsis; use one"});
  }
  Tensor view = tensor;
  Advanced advanced;
  int64_t dim = 0, source = 0;
  for (const Index* index = begin; index != end; ++index) {
    const bool skips = index->kind() == Index::Kind::skip;
    const int64_t dimensions = skips ? tensor.dim() - named : index->dimensions();
    switch (index->kind()) {
      case Index::Kind::integer:
        if (with_tensors) {
          Tensor place = empty_tensor(IntList(), i64);
          *place.data<int64_t>() = wrapped(view, dim, source, index->number());
          advanced.add(place, dim++, 1);
        } else {
          view = ops().select.call<Tensor>(view, dim, wrapped(view, dim, source, index->number()));
        }
        ++source;
        continue;
      case Index::Kind::tensor:
        advanced.add(index->tensor(), dim, dimensions);
        dim += dimensions;
        source += dimensions;
        continue;
      case Index::Kind::slice:
        view = index->slice().of(view, dim++);
        break;
      case Index::Kind::skip:
        dim += dimensions;
        break;
      case Index::Kind::dimension:
        view = ops().unsqueeze.call<Tensor>(view, dim++);
        break;
    }
    source += dimensions;
    advanced.pass();
  }
  return advanced.tensors.empty() ? Element(std::move(view)) : advanced.of(view);
}

}  // namespace indexing

inline indexing::Element Tensor::operator[](const indexing::Index& index) const {
  return indexing::element(*this, &index, &index + 1);
}
inline indexing::Element Tensor::operator[](std::initializer_list<indexing::Index> indices) const {
  return indexing::element(*this, indices.begin(), indices.end());
}

TENON_NAMESPACE_END
