// Numbers and nested lists of them, in the order of a text, as a tensor: for readers of texts.
//
//   NestedNumbers numbers;              // [[1, 2], [3, 4]]
//   numbers.add_list(0, 2);             // depth 0: a list of two elements
//   numbers.add_list(1, 2);
//   numbers.add(2, int64_t{1}); ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

// Elements of lists whose lengths must agree. One thread at a time.
class NestedNumbers {
 public:
  enum class Kind { truth, whole, fraction };  // kinds of numbers

  // Why the lists are not a tensor, such as "found a list of 2 elements, where the first has 3"; empty: they are
  // one so far. What is added after a fault is ignored.
  const std::string& fault() const { return fault_; }

  // A list that is inside of `depth` others; its elements follow.
  void add_list(size_t depth, int64_t size) {
    if (depth == kMostDimensions) return fail("lists nested more deeply than a tensor can be");
    if (leaf_depth_ && *leaf_depth_ <= depth) return fail("a list, where others are numbers");
    if (shape_.size() == depth) shape_.push_back(size);
    if (shape_[depth] == size) return;
    fail("a list of " + std::to_string(size) + (size == 1 ? " element" : " elements") +
         ", where the first has " + std::to_string(shape_[depth]));
  }
  // A truth value inside of `depth` lists.
  void add(size_t depth, bool truth) { add(depth, Kind::truth, truth ? 1 : 0, truth ? 1 : 0); }
  void add(size_t depth, int64_t integer) {  // `depth`: lists around it
    add(depth, Kind::whole, integer, static_cast<double>(integer));
  }
  // A number inside of `depth` lists.
  void add(size_t depth, double number) { add(depth, Kind::fraction, 0, number); }

  bool empty() const { return integers_.empty(); }  // no number yet
  // The widest kind of an element; fraction where there is none.
  Kind kind() const { return empty() ? Kind::fraction : kind_; }

  // The tensor, contiguous: whole numbers exactly, up to the ends of i64. ValueError where fault() has a text.
  Tensor tensor(DType dtype) const {
    if (!fault_.empty())
      throw ValueError(fault_ + "; expected numbers, or lists of them with equal lengths");
    const Tensor flat = kind() == Kind::fraction
                            ? contiguous_as(from_range(numbers_.begin(), numbers_.end()), dtype)
                            : contiguous_as(from_range(integers_.begin(), integers_.end()), dtype);
    static const Op reshape("reshape");
    return reshape.call<Tensor>(flat, shape_);
  }

 private:
  void add(size_t depth, Kind kind, int64_t integer, double number) {
    if (!leaf_depth_) leaf_depth_ = depth;
    if (*leaf_depth_ != depth || shape_.size() != depth)
      return fail("a number, where others are lists");
    kind_ = kind > kind_ ? kind : kind_;
    integers_.push_back(integer);
    numbers_.push_back(number);
  }
  void fail(const std::string& found) {
    if (fault_.empty()) fault_ = "found " + found;
  }

  static constexpr size_t kMostDimensions = 16;
  std::string fault_;
  std::vector<int64_t> shape_, integers_;
  std::vector<double> numbers_;
  Kind kind_ = Kind::truth;
  std::optional<size_t> leaf_depth_;
};

TENON_NAMESPACE_END
