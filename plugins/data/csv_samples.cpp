// Reads the cells of a CSV text into columns: one pass, with numbers, codes and missing values.
#include "csv_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "cell_text.hpp"
#include "column_plan.hpp"
#include "csv_cursor.hpp"

namespace data {

using tenon::Tensor;

MissingRule::MissingRule(const tenon::Argument& value) {
  const tenon_value held = plain_value(value);
  if (held.tag == TENON_VALUE_INT || held.tag == TENON_VALUE_FLOAT) {
    kind = Kind::number;
    number = tenon::Scalar(held).to<double>();
    return;
  }
  const std::string_view text = held.tag == TENON_VALUE_STRING
                                    ? std::string_view(held.as.string, held.length)
                                    : std::string_view();
  constexpr std::string_view words[] = {"error", "nan", "mean"};
  for (size_t i = 0; i < 3; ++i) {
    if (text != words[i]) continue;
    kind = static_cast<Kind>(i);
    return;
  }
  throw tenon::ValueError(R"(missing must be "error", "nan", "mean" or a number)" +
                          (text.empty() ? "" : ", got " + quoted_text(text)));
}

namespace {

// Different values of text may take as much memory as the text, and this. Each is there twice, as a key
// and in the order of its code. The columns of a wide table take their part of it.
constexpr int64_t kCategoryRoom = int64_t{12} << 20;
constexpr int64_t kLeastCategoryRoom = int64_t{3} << 20;
constexpr int64_t kCategoryBytes = 160;
constexpr int64_t kColumnBytes = 160;
int64_t category_room(int64_t text_bytes, int64_t columns) {
  return text_bytes + std::max(kCategoryRoom - columns * kColumnBytes, kLeastCategoryRoom);
}

std::string json_text(tenon::JsonValue value) {
  const std::string list = tenon::JsonArray().add(std::move(value)).json().dump();
  return list.substr(1, list.size() - 2);
}

template <class T>
class Buffer {
 public:
  Buffer(int64_t rows, size_t columns) : columns_(static_cast<int64_t>(columns)) {
    // Pages are taken as they are written.
    const auto bytes = static_cast<size_t>(std::max<int64_t>(rows * columns_, 1)) * sizeof(T);
    values_.reset(static_cast<T*>(std::malloc(bytes)));
    if (values_ == nullptr) throw std::bad_alloc();
  }
  T* values() { return values_.get(); }
  int64_t columns() const { return columns_; }
  // Takes the memory.
  Tensor tensor(int64_t rows, bool flat) {
    const std::array<int64_t, 2> shape = {rows, columns_}, strides = {columns_, 1};
    T* values = values_.get();
    Tensor result = tenon::wrap_buffer(values, tenon::IntList(shape.data(), flat ? 1 : 2),
                                       tenon::IntList(strides.data(), flat ? 1 : 2),
                                       tenon::dtype_of<T>(), values, std::free);
    static_cast<void>(values_.release());
    return result;
  }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  std::unique_ptr<T, Free> values_;
  int64_t columns_;
};

template <class T>
class SampleReader {
 public:
  // The cursor is one of the text.
  SampleReader(Bytes text, CsvCursor cursor, ColumnPlan plan, const CsvRequest& request,
               bool header)
      : text_(std::move(text)),
        text_bytes_(text_.size()),
        category_room_(category_room(text_bytes_, plan.width())),
        cursor_(std::move(cursor)),
        plan_(std::move(plan)),
        request_(request),
        header_(header),
        most_rows_(cursor_.most_rows(plan_.width())),
        inputs_(most_rows_, plan_.inputs.size()),
        targets_(most_rows_, plan_.targets.size()),
        sinks_(static_cast<size_t>(plan_.width())) {
    connect(plan_.inputs, inputs_);
    connect(plan_.targets, targets_);
    for (int64_t column = 0; column < plan_.width(); ++column) {
      if (plan_.at(column).use != Column::Use::part) continue;
      sink(column).kind = Kind::part;
      parts_ = std::make_unique<Buffer<int64_t>>(most_rows_, 1);
    }
  }

  CsvSamples read() {
    do {
      row();
      ++rows_;
    } while (cursor_.next_row());
    refuse_doubtful();
    text_ = Bytes(0);
    finish(plan_.inputs, inputs_);
    finish(plan_.targets, targets_);
    CsvSamples samples;
    samples.fitted = describe();
    samples.inputs = inputs_.tensor(rows_, false);
    samples.targets = targets_.tensor(rows_, targets_.columns() == 1);
    const bool coded = !plan_.targets.empty() &&
                       std::all_of(plan_.targets.begin(), plan_.targets.end(), [&](int64_t column) {
                         return sink(column).kind == Kind::coded;
                       });
    if (coded) samples.targets = tenon::contiguous_as(samples.targets, tenon::i64);
    samples.parts = parts_ ? parts_->tensor(rows_, true) : tenon::empty_tensor({0}, tenon::i64);
    return samples;
  }

 private:
  // The kind of a column's cells; `open` until the first that has a value.
  enum class Kind : uint8_t { skipped, open, number, coded, part };
  struct Sink {
    T* first = nullptr;
    int64_t stride = 0;
    Kind kind = Kind::skipped;
  };
  // The place of the current row.
  T* place(const Sink& sink) const { return sink.first + rows_ * sink.stride; }

  Sink& sink(int64_t column) { return sinks_[static_cast<size_t>(column)]; }
  void connect(const std::vector<int64_t>& positions, Buffer<T>& buffer) {
    T* to = buffer.values();
    for (const int64_t column : positions) {
      const Kind kind = plan_.at(column).named_category ? Kind::coded : Kind::open;
      sink(column) = {to++, buffer.columns(), kind};
    }
  }

  // A table that nothing but a guess makes one of samples: see is_header.
  void refuse_doubtful() const {
    if (request_.header || request_.fitted.defined() || plan_.targets.empty()) return;
    const auto is_coded = [&](int64_t column) {
      return sinks_[static_cast<size_t>(column)].kind == Kind::coded;
    };
    const auto is_guessed = [&](int64_t column) {
      return is_coded(column) && !plan_.columns[static_cast<size_t>(column)].named_category;
    };
    const auto &inputs = plan_.inputs, &targets = plan_.targets;
    if (rows_ == 1 && std::any_of(inputs.begin(), inputs.end(), is_guessed)) {
      throw Fault(std::string("the file has one row") + (header_ ? " below its header" : "") +
                  ": pass header=" + (header_ ? "true" : "false") + " if that is right, or check " +
                  "its line ends and its delimiter");
    }
    if (header_ && std::all_of(inputs.begin(), inputs.end(), is_guessed) &&
        std::all_of(targets.begin(), targets.end(), is_coded)) {
      throw Fault(
          "every cell is text, so that the first row may be names or values: pass "
          "header=true or header=false",
          "1");
    }
  }

  void row() {
    const size_t width = sinks_.size();
    names_repeated_ = 0;
    auto column =
        static_cast<size_t>(cursor_.take_numbers(plan_.width() - 1, [&](int64_t position) -> T* {
          const Sink& next = sink(position);
          return next.kind == Kind::number ? place(next) : nullptr;
        }));
    do {
      if (column == width) {
        refuse_width(plan_.names, plan_.width(), plan_.width() + cursor_.count_cells(),
                     cursor_.row_line());
      }
      Sink& sink = sinks_[column];
      if (sink.kind != Kind::number || !cursor_.take_number(*place(sink)))
        cell(static_cast<int64_t>(column), sink);
      ++column;
    } while (cursor_.more_cells());
    if (column != width) {
      refuse_width(plan_.names, plan_.width(), static_cast<int64_t>(column), cursor_.row_line());
    }
    if (names_repeated_ > 0 && names_repeated_ == plan_.inputs.size() + plan_.targets.size())
      throw Fault("the row repeats the header: remove it", std::to_string(cursor_.row_line()));
  }

  void cell(int64_t position, Sink& sink) {
    if (sink.kind == Kind::skipped) return cursor_.skip_cell();
    const std::string_view text = cursor_.take_cell().text;
    if (sink.kind == Kind::part) return take_part(position, text);
    Column& column = plan_.at(position);
    if (is_name(position, text)) ++names_repeated_;
    if (has_no_value(column, text)) return take_missing(position, column, sink, text);
    if (sink.kind == Kind::coded) return take_code(position, column, sink, text);
    switch (read_decimal(text, cursor_.point(), *place(sink))) {
      case Reading::number:
        sink.kind = Kind::number;
        return;
      case Reading::out_of_range:
        refuse(position, quoted_text(text) + " is beyond the range of " +
                             tenon::dtype_text(tenon::dtype_of<T>()));
      case Reading::not_a_number:
        break;
    }
    if (is_infinite(text)) {
      if (request_.check_finite)
        refuse(position, quoted_text(text) + " is not finite; say check_finite=false to read it");
      const T infinity = std::numeric_limits<T>::infinity();
      *place(sink) = text[0] == '-' ? -infinity : infinity;
      sink.kind = Kind::number;
      return;
    }
    take_text(position, column, sink, text);
  }

  // Whether a cell has the name of its column in it.
  bool is_name(int64_t position, std::string_view text) const {
    return header_ && !text.empty() && text == plan_.names[static_cast<size_t>(position)];
  }

  // In a column that is coded by name the words for missing values are values like others.
  static bool has_no_value(const Column& column, std::string_view text) {
    if (text.empty() || !is_missing(text)) return text.empty();
    const bool fixed = column.codes != nullptr && column.codes->fixed();
    return fixed ? !column.codes->has(text) : !column.named_category;
  }

  // Text in a column without a category so far.
  void take_text(int64_t position, Column& column, Sink& sink, std::string_view text) {
    if (has_decimal_comma(text)) {
      refuse(position, quoted_text(text) +
                           " is not a number; if its comma is the decimal point, pass " +
                           "decimal=','");
    }
    const std::string header =
        rows_ == 0 && !header_    ? "; if the first row names the columns, pass header=true"
        : is_name(position, text) ? "; the row repeats the name of the column: remove it"
                                  : "";
    if (sink.kind == Kind::number)
      refuse(position, quoted_text(text) + " is not a number" + header + more_text(position));
    if (!column.may_code) {
      refuse(position, quoted_text(text) +
                           " is not a number: name the column in categories to code " +
                           "its values, or in drop to leave it out" + header + more_text(position));
    }
    if (column.missing > 0 && request_.missing.kind != MissingRule::Kind::nan)
      refuse_missing_category(position, column.first_missing);
    sink.kind = Kind::coded;
    take_code(position, column, sink, text);
  }

  void take_code(int64_t position, Column& column, Sink& sink, std::string_view text) {
    T number = 0;
    if (!column.named_category && (read_decimal(text, cursor_.point(), number) == Reading::number ||
                                   has_decimal_comma(text))) {
      refuse(position, quoted_text(text) +
                           " is a number, where text was read before: name the column " +
                           "in categories to code all its values");
    }
    check_utf8(text, cursor_.place());
    CategoryCodes& codes = column.made_codes();
    const size_t known = codes.values().size();
    const int64_t code = codes.code(text);
    if (code < 0)
      refuse(position,
             quoted_text(text) + " is not one of the fitted values: " + list(codes.values()));
    if (codes.values().size() > known) take_room(position, codes, text);
    constexpr int64_t most = int64_t{1} << std::numeric_limits<T>::digits;
    if (code >= most)
      refuse(position, "the column has more than " + std::to_string(most) + " different values");
    *place(sink) = static_cast<T>(code);
  }

  void take_room(int64_t position, const CategoryCodes& codes, std::string_view text) {
    category_room_ -= kCategoryBytes + 2 * static_cast<int64_t>(text.size());
    if (category_room_ >= 0) return;
    refuse(position, "with its " + std::to_string(codes.values().size()) +
                         " and those of the columns before, different values of text take more "
                         "memory than is allowed for a file of " +
                         std::to_string(text_bytes_) +
                         " bytes: drop columns of text, or write their values as numbers");
  }

  void take_missing(int64_t position, Column& column, Sink& sink, std::string_view text) {
    const std::string what =
        text.empty() ? "the cell is empty" : quoted_text(text) + " is not a number";
    if (column.use == Column::Use::target)
      refuse(position, what + ": every row needs its target" + more_missing(position));
    const MissingRule& rule = request_.missing;
    if (rule.kind == MissingRule::Kind::error) {
      refuse(position, what + R"(; pass missing="nan", "mean" or a number to read it, or drop )" +
                           "the column" + more_missing(position));
    }
    const bool number = rule.kind == MissingRule::Kind::number;
    if (sink.kind == Kind::coded && rule.kind != MissingRule::Kind::nan)
      refuse_missing_category(position, cursor_.place());
    if (column.missing++ == 0) column.first_missing = cursor_.place();
    *place(sink) = number ? static_cast<T>(rule.number) : std::numeric_limits<T>::quiet_NaN();
  }
  [[noreturn]] void refuse_missing_category(int64_t position, const std::string& place) const {
    throw Fault(plan_.text(position) + ": the cell has no value, and text has no mean and no " +
                    "number in its place; pass missing=\"nan\", or drop the column",
                place);
  }

  void take_part(int64_t position, std::string_view text) {
    constexpr std::string_view words[][5] = {{"train", "training", "0", "0", "0"},
                                             {"validation", "valid", "val", "dev", "1"},
                                             {"test", "testing", "2", "2", "2"}};
    for (int64_t part = 0; part < 3; ++part) {
      if (std::find(std::begin(words[part]), std::end(words[part]), text) == std::end(words[part]))
        continue;
      parts_->values()[rows_] = part;
      return;
    }
    refuse(position, quoted_text(text) + " is not a part; train, validation and test are");
  }

  // How many cells of a column follow the current one for which `is_fault` holds; "" for none.
  template <class IsFault>
  std::string more(int64_t position, const IsFault& is_fault) const {
    CsvCursor rest(cursor_);
    int64_t count = 0;
    try {
      while (rest.more_cells()) rest.skip_cell();
      while (rest.next_row()) {
        int64_t column = 0;
        do {
          if (column++ != position)
            rest.skip_cell();
          else if (is_fault(rest.take_cell().text))
            ++count;
        } while (rest.more_cells());
      }
    } catch (const Fault&) {
      return "";  // the rest is not a table
    }
    return count == 0 ? "" : " (and " + std::to_string(count) + " more in this column)";
  }
  std::string more_text(int64_t position) const {
    return more(position, [&](std::string_view text) {
      double number = 0;
      return !is_missing(text) && !is_infinite(text) &&
             read_decimal(text, cursor_.point(), number) == Reading::not_a_number;
    });
  }
  std::string more_missing(int64_t position) const {
    return more(position, [](std::string_view text) { return is_missing(text); });
  }

  [[noreturn]] void refuse(int64_t position, const std::string& what) const {
    throw Fault(plan_.text(position) + ": " + what, cursor_.place());
  }
  static std::string list(const std::vector<std::string>& values) {
    constexpr size_t most = 8;
    std::string text;
    for (size_t i = 0; i < std::min(values.size(), most); ++i)
      text += (i == 0 ? "" : ", ") + quoted_text(values[i]);
    return text + (values.size() > most ? ", ..." : "");
  }

  // ---- after the last row ----

  void finish(const std::vector<int64_t>& positions, Buffer<T>& buffer) {
    T* first = buffer.values();
    for (const int64_t position : positions) {
      Column& column = plan_.at(position);
      if (sink(position).kind == Kind::coded) {
        sort_codes(column, first, buffer.columns());
      } else if (request_.missing.kind == MissingRule::Kind::mean &&
                 column.use == Column::Use::input) {
        fill_mean(position, first, buffer.columns());
      }
      ++first;
    }
  }
  void sort_codes(Column& column, T* first, int64_t stride) {
    CategoryCodes& codes = column.made_codes();
    if (codes.fixed()) return;
    const std::vector<int64_t> code_of = codes.sort();
    for (int64_t row = 0; row < rows_; ++row, first += stride) {
      if (!std::isnan(*first)) *first = static_cast<T>(code_of[static_cast<size_t>(*first)]);
    }
  }
  void fill_mean(int64_t position, T* first, int64_t stride) {
    Column& column = plan_.at(position);
    if (request_.fitted.defined() && !column.mean)
      throw Fault("missing=\"mean\" needs the mean of " + plan_.text(position) +
                  ", which `fitted` does not have: fit with missing=\"mean\", too");
    if (!column.mean) {
      if (column.missing == rows_)
        throw Fault(plan_.text(position) + " has no values to take the mean of: drop it");
      double sum = 0;
      for (int64_t row = 0; row < rows_; ++row) {
        const double value = first[row * stride];
        if (!std::isnan(value)) sum += value;
      }
      column.mean = sum / static_cast<double>(rows_ - column.missing);
    }
    if (column.missing == 0) return;
    for (int64_t row = 0; row < rows_; ++row) {
      if (std::isnan(first[row * stride])) first[row * stride] = static_cast<T>(*column.mean);
    }
  }

  // Entry by entry: a document of wide tables would take many times its text.
  std::string describe() {
    if (request_.fitted.defined()) return request_.fitted.dump();
    std::string text = "{\"width\":" + std::to_string(plan_.width());
    text += ",\"inputs\":[";
    describe_columns(plan_.inputs, text);
    text += "],\"targets\":[";
    describe_columns(plan_.targets, text);
    return text += "]}";
  }
  void describe_columns(const std::vector<int64_t>& positions, std::string& text) {
    for (size_t i = 0; i < positions.size(); ++i) {
      const int64_t position = positions[i];
      Column& column = plan_.at(position);
      const bool named = header_ && !plan_.names[static_cast<size_t>(position)].empty();
      text += i == 0 ? "{\"column\":" : ",{\"column\":";
      text +=
          named ? json_text(plan_.names[static_cast<size_t>(position)]) : std::to_string(position);
      if (column.mean) text += ",\"mean\":" + json_text(*column.mean);
      if (sink(position).kind == Kind::coded) {
        text += ",\"categories\":[";
        const std::vector<std::string>& values = column.made_codes().values();
        for (size_t k = 0; k < values.size(); ++k)
          text += (k == 0 ? "" : ",") + json_text(values[k]);
        text += ']';
      }
      text += '}';
    }
  }

  Bytes text_;
  int64_t text_bytes_;
  int64_t category_room_;
  CsvCursor cursor_;
  ColumnPlan plan_;
  const CsvRequest& request_;
  bool header_;
  int64_t most_rows_;
  Buffer<T> inputs_, targets_;
  std::vector<Sink> sinks_;
  std::unique_ptr<Buffer<int64_t>> parts_;  // null: no column is one
  int64_t rows_ = 0;
  size_t names_repeated_ = 0;  // cells of the row that have the names of their columns
};

}  // namespace

CsvSamples read_csv_samples(Bytes text, const CsvRequest& request) {
  const char delimiter =
      request.delimiter != 0 ? request.delimiter : find_delimiter(text, request.point);
  CsvCursor cursor(text, delimiter, request.point);
  if (!cursor.next_row()) throw Fault("the file is empty, expected rows");
  const bool header = request.header ? *request.header : is_header(cursor);
  std::vector<std::string> names;
  if (header) {
    names = read_header(cursor);
    for (const std::string& name : names) check_utf8(name, "1");
    if (!cursor.next_row()) throw Fault("no row is below the header");
  }
  const auto width = header ? static_cast<int64_t>(names.size()) : CsvCursor(cursor).count_cells();
  check_columns(width, cursor.row_line());
  ColumnPlan plan = plan_columns(std::move(names), width, request);
  const auto read = [&](auto zero) {
    return SampleReader<decltype(zero)>(std::move(text), std::move(cursor), std::move(plan),
                                        request, header)
        .read();
  };
  return request.dtype == tenon::f64 ? read(0.0) : read(0.0F);
}

}  // namespace data
