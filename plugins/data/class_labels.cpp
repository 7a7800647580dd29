// Classes of samples by their labels, and orders that a seed decides.
#include "class_labels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include <tenon/error.hpp>
#include <tenon/parallel.hpp>

namespace data {

std::vector<int64_t> permutation(int64_t count, int64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const tenon::Draws draws{static_cast<uint64_t>(seed), 0};
  for (int64_t i = count - 1; i > 0; --i) {
    const auto other = static_cast<int64_t>(draws.uniform(i) * static_cast<double>(i + 1));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(other)]);
  }
  return order;
}

namespace {

template <class T>
std::vector<size_t> numbered(const std::vector<T>& values) {
  std::map<T, size_t> numbers;
  for (const T value : values) numbers.emplace(value, 0);
  size_t next = 0;
  for (auto& [value, number] : numbers) number = next++;
  std::vector<size_t> result;
  result.reserve(values.size());
  for (const T value : values) result.push_back(numbers[value]);
  return result;
}

}  // namespace

std::vector<size_t> class_numbers(const tenon::Tensor& labels) {
  if (labels.dim() != 1) {
    throw tenon::ValueError("labels must have one dimension, [samples], got " +
                            std::to_string(labels.dim()));
  }
  // A double holds 53 bits of an integer.
  if (!tenon::is_floating(labels.dtype())) return numbered(labels.to_vector<int64_t>());
  const std::vector<double> values = labels.to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) throw tenon::ValueError("label " + std::to_string(i) + " is nan");
  }
  return numbered(values);
}

std::vector<int64_t> class_counts(const std::vector<size_t>& class_of) {
  std::vector<int64_t> counts(
      class_of.empty() ? 0 : *std::max_element(class_of.begin(), class_of.end()) + 1);
  for (const size_t c : class_of) ++counts[c];
  return counts;
}

}  // namespace data
