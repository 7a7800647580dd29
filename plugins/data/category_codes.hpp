// The values of a column of text, and the number that stands for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace data {

class CategoryCodes {
 public:
  // Codes are the positions in `values`; there are no others.
  void fix(std::vector<std::string> values);
  // The code of a value; -1 where the codes are fixed and none stands for it. Until `sort` codes
  // are in the order in which values were met.
  int64_t code(std::string_view value);
  // From now on codes are in the order of the values: as numbers where all of them are numbers, else
  // byte by byte. Returns the new code of each earlier one.
  std::vector<int64_t> sort();

  bool has(std::string_view value) const { return codes_.count(std::string(value)) > 0; }
  const std::vector<std::string>& values() const { return values_; }
  bool fixed() const { return fixed_; }

 private:
  std::unordered_map<std::string, int64_t> codes_;
  std::vector<std::string> values_;  // by code
  bool fixed_ = false;
};

}  // namespace data
