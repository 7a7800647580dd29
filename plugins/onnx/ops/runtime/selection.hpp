// The order in which ONNX Runtime 1.30 selects elements. Its comparisons are not an order where NaN is among
// the elements, so that the algorithm decides; it is written here as it is there (core/providers/cpu/math/top_k.cc).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace onnx {

// Places of the `k` first elements of a line. `before(a, b)`: whether a value precedes another one.
template <class T, class Before>
class Selection {
 public:
  Selection(const T* line, int64_t count, Before before)
      : line_(line), count_(count), before_(std::move(before)) {}

  std::vector<int64_t> first(int64_t k, bool sorted) const {
    if (k == 0) return {};
    if (k == 1) return {first_place()};
    const double share = std::log2(static_cast<double>(k)) / std::log2(static_cast<double>(count_));
    return k < 4 || share < 0.725 ? by_heap(k, sorted) : by_partition(k, sorted);
  }

 private:
  bool precedes(int64_t a, int64_t b) const {
    return before_(line_[a], line_[b]) || (line_[a] == line_[b] && a < b);
  }
  int64_t first_place() const {
    int64_t place = 0;
    for (int64_t i = 1; i < count_; ++i) {
      if (before_(line_[i], line_[place])) place = i;
    }
    return place;
  }
  std::vector<int64_t> by_partition(int64_t k, bool sorted) const {
    std::vector<int64_t> places(static_cast<size_t>(count_));
    std::iota(places.begin(), places.end(), int64_t{0});
    const auto order = [this](int64_t a, int64_t b) { return precedes(a, b); };
    std::nth_element(places.begin(), places.begin() + (k - 1), places.end(), order);
    if (sorted) std::sort(places.begin(), places.begin() + k, order);
    places.resize(static_cast<size_t>(k));
    return places;
  }
  // The heap has at its top the element that is the first to go.
  std::vector<int64_t> by_heap(int64_t k, bool sorted) const {
    std::vector<int64_t> heap(static_cast<size_t>(k));
    for (int64_t i = k; i-- > 0;) {
      heap[static_cast<size_t>(i)] = k - 1 - i;
      sink(heap, i, k);
    }
    for (int64_t i = k; i < count_; ++i) {
      if (!before_(line_[i], line_[heap[0]])) continue;
      heap[0] = i;
      sink(heap, 0, k);
    }
    if (!sorted) return heap;
    std::vector<int64_t> places(heap.size());
    for (int64_t size = k; size-- > 0;) {
      places[static_cast<size_t>(size)] = heap[0];
      heap[0] = heap[static_cast<size_t>(size)];
      sink(heap, 0, size);
    }
    return places;
  }
  void sink(std::vector<int64_t>& heap, int64_t at, int64_t size) const {
    const auto place = [&heap](int64_t i) -> int64_t& { return heap[static_cast<size_t>(i)]; };
    while (2 * at + 1 < size) {
      const int64_t left = 2 * at + 1, right = left + 1;
      const bool goes_left = precedes(place(at), place(left));
      int64_t next = left;
      if (right >= size) {
        if (!goes_left) return;
      } else if (!goes_left || !precedes(place(right), place(left))) {
        if (!goes_left && !precedes(place(at), place(right))) return;
        next = right;
      }
      std::swap(place(at), place(next));
      at = next;
    }
  }

  const T* line_;
  int64_t count_;
  Before before_;
};

}  // namespace onnx
