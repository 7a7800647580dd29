// Faults in the contents of a file, as the readers of zip, npy and pickle bytes report them.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/error.hpp>
#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Thrown by the readers, which know neither host nor path.
class Fault : public std::exception {
 public:
  explicit Fault(std::string message, bool truncated = false)
      : message_(std::move(message)), truncated_(truncated) {}
  const char* what() const noexcept override { return message_.c_str(); }
  bool truncated() const { return truncated_; }  // the file ends early
  // Throws the message of a file: IOError where it ends early, else ValueError.
  [[noreturn]] void raise(const std::string& text) const {
    if (truncated_) throw IOError(text);
    throw ValueError(text);
  }

 private:
  std::string message_;
  bool truncated_;
};

// Text from a file as a message may quote it: short, and without control characters.
inline std::string quoted_text(std::string_view text, size_t longest = 32) {
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace state

TENON_NAMESPACE_END
