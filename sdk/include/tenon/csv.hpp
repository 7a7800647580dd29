// Tables of numbers in text: one pass, no locale, no allocation but the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/decimal.hpp"
#include "tenon/file_fault.hpp"

TENON_NAMESPACE_BEGIN

namespace data {

struct CsvTable {
  std::vector<std::string> names;  // of the columns; empty without a header
  std::vector<float> values;       // row after row
  int64_t rows = 0, columns = 0;
};

// Lines of numbers with `delimiter` between them. Spaces and tabs around numbers, quotes around a
// number, CRLF, a byte order mark and blank lines at the end are accepted; everything else that is
// not a number is a Fault.
class CsvParser {
 public:
  CsvParser(std::string_view text, char delimiter, bool header)
      : start_(text.data()),
        at_(start_),
        end_(start_ + text.size()),
        delimiter_(delimiter),
        header_(header) {}

  CsvTable parse() {
    if (delimiter_ == '"' || delimiter_ == '\n' || delimiter_ == '\r' ||
        is_number_part(delimiter_)) {
      throw Fault("the delimiter " + quoted(std::string_view(&delimiter_, 1)) +
                  " cannot separate numbers");
    }
    skip_byte_order_mark();
    if (header_) read_header();
    while (at_ != end_) {
      if (skip_blank_line()) continue;
      if (blank_line_ != 0)
        throw Fault("the line is blank, with rows behind it", std::to_string(blank_line_));
      row();
    }
    if (table_.rows == 0)
      throw Fault(header_ ? "there are no rows below the header" : "there are no rows");
    return std::move(table_);
  }

  // The names of the columns alone.
  std::vector<std::string> parse_header() {
    skip_byte_order_mark();
    read_header();
    return std::move(table_.names);
  }

 private:
  static bool is_number_part(char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-';
  }
  bool is_space(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }

  // Past the end of the line, if one is here.
  bool take_line_end() {
    if (at_ == end_) return true;
    if (*at_ == '\r' && end_ - at_ >= 2 && at_[1] == '\n') ++at_;
    if (*at_ != '\n') return false;
    ++at_;
    ++line_;
    line_start_ = at_;
    return true;
  }

  void skip_byte_order_mark() {
    if (end_ - at_ >= 3 && std::memcmp(at_, "\xef\xbb\xbf", 3) == 0) at_ += 3;
    line_start_ = at_;
  }

  // Within quotes a name may hold delimiters, line breaks, and quotes that are written twice.
  void read_header() {
    std::string name;
    bool inside = false;
    for (; at_ != end_ && (inside || *at_ != '\n'); ++at_) {
      if (*at_ == '"' && inside && end_ - at_ >= 2 && at_[1] == '"') {
        name += *at_++;
      } else if (*at_ == '"') {
        inside = !inside;
      } else if (*at_ == delimiter_ && !inside) {
        add_name(name);
      } else {
        if (*at_ == '\n') {
          ++line_;
          line_start_ = at_ + 1;
        }
        name += *at_;
      }
    }
    if (inside) throw Fault("a quote in the header is not closed", "1");
    add_name(name);
    take_line_end();
  }
  void add_name(std::string& name) {
    const size_t first = std::min(name.find_first_not_of(" \t\r"), name.size());
    const size_t last = name.find_last_not_of(" \t\r");
    table_.names.push_back(name.substr(first, last == name.npos ? 0 : last + 1 - first));
    name.clear();
  }

  // Remembers the first of a run of blank lines: they are fine at the end only.
  bool skip_blank_line() {
    const char* look = at_;
    while (look != end_ && is_space(*look)) ++look;
    const bool crlf = end_ - look >= 2 && look[0] == '\r' && look[1] == '\n';
    if (look != end_ && *look != '\n' && !crlf) return false;
    if (blank_line_ == 0) blank_line_ = line_;
    at_ = look;
    take_line_end();
    return true;
  }

  void row() {
    const int64_t line = line_;
    int64_t count = 0;
    for (;;) {
      table_.values.push_back(field());
      ++count;
      if (at_ != end_ && *at_ == delimiter_) {
        ++at_;
        continue;
      }
      if (take_line_end()) break;
      refuse(at_, "follows a number");
    }
    if (table_.rows == 0) {
      table_.columns = count;
    } else if (count != table_.columns) {
      throw Fault(std::to_string(count) + (count == 1 ? " column where " : " columns where ") +
                      std::to_string(table_.columns) + (table_.columns == 1 ? " was" : " were") +
                      " read before",
                  std::to_string(line));
    }
    ++table_.rows;
  }

  float field() {
    while (at_ != end_ && is_space(*at_)) ++at_;
    const bool inside = at_ != end_ && *at_ == '"';
    if (inside) ++at_;
    const float value = number(inside);
    if (inside) ++at_;
    while (at_ != end_ && is_space(*at_)) ++at_;
    return value;
  }

  bool ends_number(const char* c, bool inside) const {
    if (c == end_) return !inside;
    if (inside) return *c == '"';
    return *c == delimiter_ || *c == '\n' || *c == '\r' || is_space(*c);
  }

  float number(bool inside) {
    const char* first = at_;
    // Most numbers are short integers.
    const char* digit = first;
    int64_t whole = 0;
    while (digit != end_ && *digit >= '0' && *digit <= '9' && digit - first < 15)
      whole = whole * 10 + (*digit++ - '0');
    if (digit != first && ends_number(digit, inside)) {
      at_ = digit;
      return static_cast<float>(whole);
    }
    const char* from =
        first != end_ && *first == '+' && end_ - first >= 2 && first[1] != '-' ? first + 1 : first;
    const auto [value, stop, error] = decimal(from, end_);
    const bool beyond = error == std::errc::result_out_of_range;
    if ((error != std::errc() && !beyond) || !ends_number(stop, inside))
      refuse(first, "is not a number", inside);
    const bool tiny =
        beyond && std::string_view(from, static_cast<size_t>(stop - from)).find('-', 1) !=
                      std::string_view::npos;
    const auto single = static_cast<float>(tiny ? 0 : value);
    if ((beyond && !tiny) || (std::isinf(single) && std::isfinite(value))) {
      refuse(first, "is beyond the range of f32", inside);
    }
    at_ = stop;
    return single;
  }

  [[noreturn]] void refuse(const char* first, const char* what, bool inside = false) const {
    const char* last = first;
    while (last != end_ && *last != '\n' && *last != '\r' && *last != (inside ? '"' : delimiter_))
      ++last;
    while (last != first && is_space(last[-1])) --last;
    const std::string_view found(first, static_cast<size_t>(last - first));
    std::string message = found.empty() ? "the field is empty" : quoted(found) + " " + what;
    if (table_.rows == 0 && !header_)
      message += "; if the first row names the columns, say header=true";
    throw Fault(message, std::to_string(line_) + ":" + std::to_string(first - line_start_ + 1));
  }

  const char* start_;
  const char* at_;
  const char* end_;
  const char* line_start_ = nullptr;
  char delimiter_;
  bool header_;
  int64_t line_ = 1, blank_line_ = 0;
  CsvTable table_;
};

inline CsvTable parse_csv(std::string_view text, char delimiter = ',', bool header = false) {
  return CsvParser(text, delimiter, header).parse();
}
inline std::vector<std::string> parse_csv_header(std::string_view text, char delimiter = ',') {
  return CsvParser(text, delimiter, true).parse_header();
}

}  // namespace data

TENON_NAMESPACE_END
