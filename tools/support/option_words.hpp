// Options of a program that `tenon` continues as, as words: each struct names its members once, for writing
// and for reading, in a function that is found beside it:
//
//   template <class Options, class Visitor>
//   void visit_members(Options& options, Visitor& visit) { visit("seed", options.seed); ... }
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "exit_code.hpp"
#include "format.hpp"
#include "program.hpp"

namespace cli {

template <class Session, class Visitor>
void visit_session(Session& session, Visitor& visit) {
  visit("plugin-path", session.plugin_paths);
  visit("trust", session.trusted);
  visit("no-autoload", session.no_autoload);
  visit("threads", session.threads);
}

struct OptionWriter {
  std::vector<std::string> words;

  void operator()(const char* name, const std::string& text) {
    if (!text.empty()) words.push_back(format_text("{}={}", name, text));
  }
  void operator()(const char* name, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) words.push_back(format_text("{}={}", name, text));
  }
  void operator()(const char* name, bool yes) {
    if (yes) words.push_back(format_text("{}=yes", name));
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  void operator()(const char* name, Number number) {
    char digits[32];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    words.push_back(format_text("{}={}", name, std::string_view(digits, end)));
  }
};

// Takes the value of one word to the member of its name.
struct OptionReader {
  std::string_view name, value;
  bool known = false;

  void operator()(std::string_view member, std::string& text) {
    if (names(member)) text = value;
  }
  void operator()(std::string_view member, std::vector<std::string>& texts) {
    if (names(member)) texts.emplace_back(value);
  }
  void operator()(std::string_view member, bool& yes) {
    if (names(member)) yes = value == "yes";
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  void operator()(std::string_view member, Number& number) {
    if (!names(member)) return;
    const char* const end = value.data() + value.size();
    const auto [stop, fault] = std::from_chars(value.data(), end, number);
    known = fault == std::errc() && stop == end;
  }
  bool names(std::string_view member) { return member == name && (known = true); }
};

// "name=value", for each value that is not empty.
template <class Options>
std::vector<std::string> words_of_options(const Options& options) {
  OptionWriter writer;
  visit_members(options, writer);
  return std::move(writer.words);
}

// Throws UsageError where a word is not one of them.
template <class Options>
Options options_of_words(std::string_view program, const std::vector<std::string>& words) {
  Options options;
  for (const std::string_view word : words) {
    const size_t end = word.find('=');
    OptionReader reader{word.substr(0, end), end == word.npos ? "" : word.substr(end + 1)};
    visit_members(options, reader);
    if (!reader.known)
      throw UsageError(format_text("{}: '{}' is not an option of it; use `tenon`", program, word));
  }
  return options;
}

}  // namespace cli
