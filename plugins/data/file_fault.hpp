// Faults in the contents of a file, as the parsers of csv_cursor.hpp and gunzip.hpp report it.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace data {

// Thrown by the parsers, which know no host. `where` is "", "17" (a line) or "3:12" (line and
// column).
class Fault : public std::exception {
 public:
  explicit Fault(std::string message, std::string where = "", bool truncated = false)
      : message_(std::move(message)), where_(std::move(where)), truncated_(truncated) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& where() const { return where_; }
  bool truncated() const { return truncated_; }

 private:
  std::string message_, where_;
  bool truncated_;
};

// Text from a file as a message may quote it: short, and without control characters.
inline std::string quoted_text(std::string_view text) {
  constexpr size_t longest = 32;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace data
