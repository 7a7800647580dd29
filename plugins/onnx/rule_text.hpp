// The text of a rule, read from left to right: what rules of import and of export have in common.
#pragma once

#include <string>
#include <string_view>

#include <tenon/json.hpp>

namespace onnx {

class RuleText {
 protected:
  // `kind` names the rule in faults: "the conversion".
  RuleText(std::string_view line, const char* kind) : line_(line), kind_(kind) {}

  // Throws ValueError with the line and the column.
  [[noreturn]] void refuse(const std::string& expected) const;
  void skip_blanks();
  bool take(std::string_view text);
  void expect(std::string_view text, const char* what);
  void expect_end();
  // Letters, digits, '_' and '.', up to "...".
  std::string_view word(const char* what);
  // A whole number of at most nine digits.
  int64_t number(const char* what);
  // A number, 'text', true, false, none, or a list of numbers or texts.
  tenon::Json literal();

  static bool is_letter(char c);

  std::string_view line_;
  size_t at_ = 0;

 private:
  const char* kind_;
};

}  // namespace onnx
