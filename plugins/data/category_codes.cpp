// Codes of a text column: collected in one pass, then sorted and numbered.
#include "category_codes.hpp"

#include <algorithm>
#include <numeric>

#include "decimal.hpp"

namespace data {

void CategoryCodes::fix(std::vector<std::string> values) {
  values_ = std::move(values);
  codes_.clear();
  for (size_t i = 0; i < values_.size(); ++i) codes_.emplace(values_[i], static_cast<int64_t>(i));
  fixed_ = true;
}

int64_t CategoryCodes::code(std::string_view value) {
  const auto [entry, fresh] =
      codes_.try_emplace(std::string(value), static_cast<int64_t>(values_.size()));
  if (!fresh) return entry->second;
  if (fixed_) {
    codes_.erase(entry);
    return -1;
  }
  values_.emplace_back(value);
  return entry->second;
}

std::vector<int64_t> CategoryCodes::sort() {
  codes_.clear();  // made again at the end
  std::vector<size_t> order(values_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> numbers(values_.size());
  bool numeric = true;
  for (size_t i = 0; i < values_.size() && numeric; ++i) {
    numeric = read_decimal(values_[i], '.', numbers[i]) == Reading::number;
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (numeric && numbers[a] != numbers[b]) return numbers[a] < numbers[b];
    return values_[a] < values_[b];
  });
  std::vector<int64_t> code_of(values_.size());
  std::vector<std::string> sorted;
  sorted.reserve(values_.size());
  for (const size_t earlier : order) {
    code_of[earlier] = static_cast<int64_t>(sorted.size());
    sorted.push_back(std::move(values_[earlier]));
  }
  fix(std::move(sorted));
  return code_of;
}

}  // namespace data
