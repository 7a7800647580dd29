// Texts of messages, put together of pieces by one function: a chain of std::string's operators in
// each message took a tenth of the compile time of a small plugin.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// A text or an integer, borrowed for the call that it is given to.
class MessagePart {
 public:
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const char* text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  MessagePart(T number)
      : magnitude_(number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number)),
        sign_(number < 0 ? '-' : '+') {
    static_assert(!std::is_same_v<T, bool> && !std::is_same_v<T, char>,
                  "not a number of a message");
  }
  void append_to(std::string& message) const {
    if (sign_ == '\0') {
      message.append(text_);
      return;
    }
    if (sign_ == '-') message += '-';
    char digits[20];
    size_t first = sizeof digits;
    uint64_t rest = magnitude_;
    do digits[--first] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    message.append(digits + first, sizeof digits - first);
  }

 private:
  std::string_view text_;
  uint64_t magnitude_ = 0;
  char sign_ = '\0';  // sign of a number
};

__attribute__((cold, noinline)) inline std::string message(
    std::initializer_list<MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) part.append_to(text);
  return text;
}

}  // namespace detail
TENON_NAMESPACE_END
