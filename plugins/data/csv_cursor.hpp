// Tables in text, comma-separated or alike: one pass, no locale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "decimal.hpp"
#include "file_fault.hpp"

namespace data {

// Limits of a text, so that no text takes memory many times its size: columns with names, bytes of
// all names, and bytes of a cell that quotes are taken from.
inline constexpr int64_t kCsvMostColumns = 65536;
inline constexpr int64_t kCsvMostNameBytes = int64_t{4} << 20;
inline constexpr int64_t kCsvMostQuotedBytes = int64_t{1} << 20;

// The text of a cell without its quotes, or without the blanks around it.
struct CsvCell {
  std::string_view text;
  bool quoted;
};

// Walks a table row by row, cell by cell:
//
//   while (cursor.next_row()) {
//     do {
//       if (!cursor.take_number(value)) use(cursor.take_cell());
//     } while (cursor.more_cells());
//   }
//
// Cells are separated by the delimiter, rows by LF or CRLF, or by CR where the first row is. A cell
// within quotes may hold delimiters, line ends, and quotes that are written twice. Blanks around cells, a byte order mark of UTF-8 and
// blank lines at the end are skipped.
class CsvCursor {
 public:
  // The text is borrowed.
  explicit CsvCursor(std::string_view text, char delimiter = ',', char point = '.')
      : at_(text.data()), end_(at_ + text.size()), delimiter_(delimiter), point_(point) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (std::string_view("\"\n\r.+-").find(delimiter) != std::string_view::npos ||
        digit(delimiter) || delimiter == point) {
      throw Fault("the delimiter " + quoted_text(std::string_view(&delimiter, 1)) +
                  " cannot separate numbers");
    }
    const auto begins = [&](std::string_view mark) { return text.substr(0, mark.size()) == mark; };
    if (begins("\xff\xfe") || begins("\xfe\xff"))
      throw Fault("the text is UTF-16: convert the file to UTF-8");
    if (begins("\xef\xbb\xbf")) at_ += 3;
    line_start_ = at_;
    line_end_ = first_line_end();
  }

  char delimiter() const { return delimiter_; }
  char point() const { return point_; }
  // Line of the row that next_row found.
  int64_t row_line() const { return row_line_; }
  // "3:12", line and column of the cell that was taken last.
  std::string place() const {
    return std::to_string(cell_line_) + ":" + std::to_string(cell_ - cell_line_start_ + 1);
  }

  // To the next row; false at the end.
  bool next_row() {
    if (at_ != end_ && !is_space(*at_) && *at_ != '\n' && *at_ != '\r') {
      row_line_ = line_;
      return true;
    }
    return next_row_past_blanks();
  }

  // The number in the next cell, where it is a common one: see quick_decimal. False where take_cell
  // must look, and then nothing was taken.
  template <class T>
  bool take_number(T& value) {
    if (end_ - at_ <= kQuickDecimal) return false;
    const char* stop = quick_decimal(at_, point_, value);
    if (stop == nullptr) return false;
    if (*stop == '\r' && stop[1] == '\n') ++stop;
    if (*stop != delimiter_ && *stop != line_end_) return false;
    at_ = stop;
    return true;
  }

  // Takes the next cells, at most `count`, while they are such numbers and another cell follows in
  // the row. The number of cell k is written to place(k), which is a T*; where it is null the cell
  // is left to the caller. Returns how many were taken.
  template <class Place>
  int64_t take_numbers(int64_t count, const Place& place) {
    const char* at = at_;  // in a register: the next cell begins where this one ends
    int64_t taken = 0;
    for (; taken < count && end_ - at > kQuickDecimal; ++taken) {
      auto* const value = place(taken);
      if (value == nullptr) break;
      const char* stop = quick_decimal(at, point_, *value);
      if (stop == nullptr || *stop != delimiter_) break;
      at = stop + 1;
    }
    at_ = at;
    return taken;
  }

  // The next cell; its text is valid until the next call.
  CsvCell take_cell() { return take(true); }
  // Skips a cell without a look at its text, which may be of any length.
  void skip_cell() { take(false); }

  // After a cell: whether another one follows in the row.
  bool more_cells() {
    if (at_ == end_) return false;
    if (*at_ == delimiter_) {
      ++at_;
      return true;
    }
    take_line_end();
    return false;
  }

  // How many cells the row has from here on; takes them.
  int64_t count_cells() {
    int64_t count = 0;
    do {
      skip_cell();
      ++count;
    } while (more_cells());
    return count;
  }

  // At most as many rows as there are from here on, where each has so many cells.
  int64_t most_rows(int64_t columns) const {
    int64_t lines = 1;
    const char* at = at_;
    while ((at = static_cast<const char*>(
                std::memchr(at, line_end_, static_cast<size_t>(end_ - at)))) != nullptr) {
      ++lines;
      if (++at == end_) break;
    }
    return std::min(lines, (end_ - at_) / std::max<int64_t>(columns, 1) + 1);
  }

 private:
  // How the first row ends, outside of quotes: all others end alike.
  char first_line_end() const {
    bool cell_begins = true, quoted = false, closed = false;
    for (const char* at = at_; at != end_; ++at) {
      const bool quote = *at == '"';
      if (quoted) {
        quoted = !quote;
        closed = quote;
        continue;
      }
      if (*at == '\n' || *at == '\r') {
        const bool lone = *at == '\r' && (at + 1 == end_ || at[1] != '\n');
        return lone ? '\r' : '\n';
      }
      quoted = quote && (cell_begins || closed);
      closed = false;
      cell_begins = *at == delimiter_ || (cell_begins && is_space(*at));
    }
    return '\n';
  }

  bool is_space(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }

  void take_line_end() {
    ++at_;
    ++line_;
    line_start_ = at_;
  }

  bool next_row_past_blanks() {
    int64_t blank = 0;  // the first blank line
    while (at_ != end_) {
      const char* look = at_;
      while (look != end_ && is_space(*look)) ++look;
      if (end_ - look >= 2 && look[0] == '\r' && look[1] == '\n') ++look;
      if (look == end_) {
        at_ = end_;
        break;
      }
      if (*look != line_end_) {
        if (blank != 0) throw Fault("the line is blank, and rows follow it", std::to_string(blank));
        row_line_ = line_;
        return true;
      }
      if (blank == 0) blank = line_;
      at_ = look;
      take_line_end();
    }
    return false;
  }

  CsvCell take(bool keep) {
    while (at_ != end_ && is_space(*at_)) ++at_;
    cell_ = at_;
    cell_line_ = line_;
    cell_line_start_ = line_start_;
    if (at_ != end_ && *at_ == '"') return {take_quoted(keep), true};
    while (at_ != end_ && *at_ != delimiter_ && *at_ != line_end_) ++at_;
    const char* last = at_;
    if (last != cell_ && last[-1] == '\r' && at_ != end_ && *at_ == '\n') --last;
    while (last != cell_ && is_space(last[-1])) --last;
    if (keep) refuse_other_line_end(last);
    return {std::string_view(cell_, static_cast<size_t>(last - cell_)), false};
  }

  // In a cell without quotes, which ends at `last`.
  void refuse_other_line_end(const char* last) const {
    const char other = line_end_ == '\n' ? '\r' : '\n';
    if (std::memchr(cell_, other, static_cast<size_t>(last - cell_)) == nullptr) return;
    throw Fault(std::string("the cell has a ") + (other == '\r' ? "CR without LF" : "LF") +
                    " in it, where the first line ends with " + (other == '\r' ? "LF" : "CR") +
                    ": end all lines alike",
                place());
  }

  std::string_view take_quoted(bool keep) {
    const char* first = ++at_;
    unquoted_.clear();
    bool doubled = false;
    for (;;) {
      const auto* quote = static_cast<const char*>(
          at_ == end_ ? nullptr : std::memchr(at_, '"', static_cast<size_t>(end_ - at_)));
      if (quote == nullptr) throw Fault("a quote is not closed", place());
      count_lines(at_, quote);
      doubled = doubled || (end_ - quote >= 2 && quote[1] == '"');
      if (doubled && keep) {
        if (static_cast<int64_t>(unquoted_.size()) + (quote - at_) > kCsvMostQuotedBytes) {
          throw Fault("a cell with quotes in it has more than " +
                          std::to_string(kCsvMostQuotedBytes) +
                          " bytes: close its quotes, or shorten it",
                      place());
        }
        unquoted_.append(at_, quote);
      }
      at_ = quote + 1;
      if (at_ == end_ || *at_ != '"') {
        const std::string_view plain(first, static_cast<size_t>(quote - first));
        const std::string_view text = doubled && keep ? std::string_view(unquoted_) : plain;
        check_closed(text);
        return text;
      }
      if (keep) unquoted_ += *at_;
      ++at_;
    }
  }
  void check_closed(std::string_view text) {
    while (at_ != end_ && is_space(*at_)) ++at_;
    if (end_ - at_ >= 2 && at_[0] == '\r' && at_[1] == '\n') ++at_;
    if (at_ == end_ || *at_ == delimiter_ || *at_ == line_end_) return;
    throw Fault("text follows the closing quote of " + quoted_text(text) +
                    ": write a quote within quotes twice",
                place());
  }
  void count_lines(const char* first, const char* last) {
    for (; first != last; ++first) {
      if (*first != line_end_) continue;
      ++line_;
      line_start_ = first + 1;
    }
  }

  const char* at_;
  const char* end_;
  const char* line_start_ = nullptr;
  const char* cell_ = nullptr;
  const char* cell_line_start_ = nullptr;
  int64_t line_ = 1, row_line_ = 1, cell_line_ = 1;
  char delimiter_, point_, line_end_ = '\n';
  std::string unquoted_;
};

// The one of tab ; | , that separates the first ten rows into equally many cells; of several the one
// that makes most cells, then the one named first. Where none does, the first of them that the first
// row has, else a comma.
inline char find_delimiter(std::string_view text, char point = '.') {
  constexpr int rows = 10;
  char best = 0, present = 0;
  int64_t most = 1;
  for (const char candidate : {'\t', ';', '|', ','}) {
    if (candidate == point) continue;
    try {
      CsvCursor cursor(text, candidate, point);
      int64_t cells = 0;
      for (int row = 0; row < rows && cursor.next_row(); ++row) {
        const int64_t count = cursor.count_cells();
        if (row == 0 && count > 1 && present == 0) present = candidate;
        if (row > 0 && count != cells) cells = 0;
        if (row == 0) cells = count;
        if (cells == 0) break;
      }
      if (cells > most) {
        most = cells;
        best = candidate;
      }
    } catch (const Fault&) {
      continue;  // quotes that only another delimiter makes sense of
    }
  }
  if (best != 0) return best;
  if (present != 0) return present;
  return point == ',' ? ';' : ',';
}

// Refuses a row of more columns than are read with memory for each.
inline void check_columns(int64_t count, int64_t line) {
  if (count <= kCsvMostColumns) return;
  throw Fault("the row has " + std::to_string(count) + " columns, at most " +
                  std::to_string(kCsvMostColumns) +
                  " are read: split the table, or write it as a .npy file",
              std::to_string(line));
}

// The names in the header, which is the cursor's next row. No name may be there twice; several may
// be empty.
inline std::vector<std::string> read_header(CsvCursor& cursor) {
  if (!cursor.next_row()) throw Fault("the file is empty, expected a header");
  CsvCursor ahead(cursor);
  int64_t count = 0, bytes = 0;
  do {
    bytes += static_cast<int64_t>(ahead.take_cell().text.size());
    ++count;
  } while (ahead.more_cells());
  check_columns(count, cursor.row_line());
  if (bytes > kCsvMostNameBytes) {
    throw Fault("the names in the header have " + std::to_string(bytes) + " bytes, at most " +
                    std::to_string(kCsvMostNameBytes) + " are read: shorten them",
                std::to_string(cursor.row_line()));
  }
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(count));  // so that they stay where they are
  std::map<std::string_view, size_t> seen;
  do {
    const std::string& name = names.emplace_back(cursor.take_cell().text);
    const size_t column = names.size() - 1;
    const auto [earlier, fresh] = seen.emplace(name, column);
    if (!fresh && !name.empty()) {
      throw Fault("the header has the name " + quoted_text(name) + " twice, for column " +
                      std::to_string(earlier->second) + " and column " + std::to_string(column) +
                      ": rename one",
                  cursor.place());
    }
  } while (cursor.more_cells());
  return names;
}

// "column 'age'", or "column 3" where it has no name. Columns count from 0.
inline std::string column_text(const std::vector<std::string>& names, int64_t column) {
  const auto i = static_cast<size_t>(column);
  const bool named = i < names.size() && !names[i].empty();
  return "column " + (named ? quoted_text(names[i]) : std::to_string(column));
}

// Refuses a row of another width than the header or the rows before it. `count`: cells that it has.
[[noreturn]] inline void refuse_width(const std::vector<std::string>& names, int64_t columns,
                                      int64_t count, int64_t line) {
  const auto counted = [](int64_t n) {
    return std::to_string(n) + (n == 1 ? " column" : " columns");
  };
  if (names.empty()) {
    throw Fault(counted(count) + " where " + std::to_string(columns) +
                    (columns == 1 ? " was" : " were") + " read before",
                std::to_string(line));
  }
  throw Fault("the row has " + counted(count) + ", the header names " + std::to_string(columns) +
                  ": give the header one name for each column",
              std::to_string(line));
}

struct CsvTable {
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::vector<std::string> names;         // names of the columns; empty without a header
  std::unique_ptr<float[], Free> values;  // row after row; of std::malloc
  int64_t rows = 0, columns = 0;
};

// Reads tables of numbers alone, inf and nan among them; for others see the op data.csv.
class CsvNumbers {
 public:
  CsvNumbers(std::string_view text, char delimiter, bool header)
      : cursor_(text, delimiter), header_(header) {}

  CsvTable read() {
    if (header_) table_.names = read_header(cursor_);
    if (!cursor_.next_row())
      throw Fault(header_ ? "no row is below the header" : "the file is empty, expected rows");
    table_.columns =
        header_ ? static_cast<int64_t>(table_.names.size()) : CsvCursor(cursor_).count_cells();
    const auto cells = static_cast<size_t>(cursor_.most_rows(table_.columns) * table_.columns);
    table_.values.reset(static_cast<float*>(std::malloc(cells * sizeof(float))));
    if (table_.values == nullptr) throw std::bad_alloc();
    float* to = table_.values.get();
    do {
      row(to);
      to += table_.columns;
      ++table_.rows;
    } while (cursor_.next_row());
    return std::move(table_);
  }

 private:
  void row(float* to) {
    int64_t column = cursor_.take_numbers(table_.columns - 1, [&](int64_t k) { return to + k; });
    do {
      if (column == table_.columns)
        refuse_width(table_.names, column, column + cursor_.count_cells(), cursor_.row_line());
      if (!cursor_.take_number(to[column])) to[column] = number(column);
      ++column;
    } while (cursor_.more_cells());
    if (column != table_.columns)
      refuse_width(table_.names, table_.columns, column, cursor_.row_line());
  }

  float number(int64_t column) {
    const CsvCell cell = cursor_.take_cell();
    float value = 0;
    const Reading reading = read_decimal(cell.text, cursor_.point(), value);
    if (reading == Reading::number) return value;
    if (reading == Reading::not_a_number && not_finite(cell.text, value)) return value;
    std::string message = column_text(table_.names, column) + ": ";
    if (reading == Reading::out_of_range) {
      message += quoted_text(cell.text) + " is beyond the range of f32";
    } else {
      message +=
          cell.text.empty() ? "the cell is empty" : quoted_text(cell.text) + " is not a number";
      if (table_.rows == 0 && !header_)
        message += "; if the first row names the columns, pass header=true";
    }
    throw Fault(message, cursor_.place());
  }
  // inf, -inf, nan and infinity, in any case.
  static bool not_finite(std::string_view text, float& value) {
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    const char* last = text.data() + text.size();
    const Decimal<float> word = decimal<float>(text.data(), last);
    value = word.value;
    return word.error == std::errc() && word.stop == last && !std::isfinite(value);
  }

  CsvCursor cursor_;
  bool header_;
  CsvTable table_;
};

inline CsvTable parse_csv(std::string_view text, char delimiter = ',', bool header = false) {
  return CsvNumbers(text, delimiter, header).read();
}
inline std::vector<std::string> parse_csv_header(std::string_view text, char delimiter = ',') {
  CsvCursor cursor(text, delimiter);
  return read_header(cursor);
}

}  // namespace data
