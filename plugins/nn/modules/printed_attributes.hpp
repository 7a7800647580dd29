// The printed form of modules whose attributes are not all shown as name=value, as PyTorch has it:
// "2, 4, kernel_size=(3, 3), bias=False".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenon/call.hpp>

#include "common.hpp"

namespace nn {

inline std::string attribute_text(const char* word) { return word; }
inline std::string attribute_text(bool truth) { return truth ? "True" : "False"; }
inline std::string attribute_text(int64_t number) { return std::to_string(number); }
// 1e-05, 0.1, 2.0
inline std::string attribute_text(double number) { return tenon::text_of(number); }
// (4,), (2, 3)
inline std::string attribute_text(IntList list) {
  std::string text = "(";
  for (int64_t i = 0; i < list.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(list[i]);
  return text + (list.size() == 1 ? ",)" : ")");
}
template <class T>
std::string attribute_text(const std::optional<T>& given) {
  return given ? attribute_text(*given) : "None";
}

class PrintedAttributes {
 public:
  template <class T>
  PrintedAttributes& value(const T& shown) {
    return put(attribute_text(shown));
  }
  template <class T>
  PrintedAttributes& named(std::string_view name, const T& shown) {
    return put(std::string(name) + "=" + attribute_text(shown));
  }
  // Only what differs from the usual value.
  template <class T>
  PrintedAttributes& unless(const T& usual, std::string_view name, const T& shown) {
    return shown == usual ? *this : named(name, shown);
  }
  // Only a list that has another element than the usual one.
  PrintedAttributes& unless_all(int64_t usual, std::string_view name, IntList shown) {
    for (const int64_t element : shown) {
      if (element != usual) return named(name, shown);
    }
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  PrintedAttributes& put(const std::string& shown) {
    if (!text_.empty()) text_ += ", ";
    text_ += shown;
    return *this;
  }
  std::string text_;
};

}  // namespace nn
