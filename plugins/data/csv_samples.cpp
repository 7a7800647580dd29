#include "csv_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include <tenon/csv.hpp>

#include "cell_text.hpp"
#include "column_plan.hpp"

namespace data {

using tenon::Tensor;
using tenon::data::CsvCursor;
using tenon::data::Fault;
using tenon::data::Reading;

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
  throw tenon::ValueError("missing must be \"error\", \"nan\", \"mean\" or a number" +
                          (text.empty() ? "" : ", got " + tenon::data::quoted(text)));
}

namespace {

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
    values_.release();
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
  SampleReader(CsvCursor cursor, ColumnPlan plan, const CsvRequest& request, bool header)
      : cursor_(std::move(cursor)),
        plan_(std::move(plan)),
        request_(request),
        header_(header),
        inputs_(cursor_.most_rows(plan_.width()), plan_.inputs.size()),
        targets_(cursor_.most_rows(plan_.width()), plan_.targets.size()),
        sinks_(static_cast<size_t>(plan_.width())) {
    connect(plan_.inputs, inputs_);
    connect(plan_.targets, targets_);
    for (int64_t column = 0; column < plan_.width(); ++column) {
      if (plan_.at(column).use == Column::Use::part) sink(column).kind = Kind::part;
    }
  }

  CsvSamples read() {
    do {
      row();
      ++rows_;
    } while (cursor_.next_row());
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
    samples.parts = tenon::from_range(parts_.begin(), parts_.end());
    return samples;
  }

 private:
  // What the cells of a column are; `open` until the first that has a value.
  enum class Kind : uint8_t { skipped, open, number, coded, part };
  struct Sink {
    T* first = nullptr;
    int64_t stride = 0;
    Kind kind = Kind::skipped;
  };
  // Of the row at hand.
  T* place(const Sink& sink) const { return sink.first + rows_ * sink.stride; }

  Sink& sink(int64_t column) { return sinks_[static_cast<size_t>(column)]; }
  void connect(const std::vector<int64_t>& positions, Buffer<T>& buffer) {
    T* to = buffer.values();
    for (const int64_t column : positions) {
      const Kind kind = plan_.at(column).named_category ? Kind::coded : Kind::open;
      sink(column) = {to++, buffer.columns(), kind};
    }
  }

  void row() {
    const size_t width = sinks_.size();
    auto column =
        static_cast<size_t>(cursor_.take_numbers(plan_.width() - 1, [&](int64_t position) -> T* {
          const Sink& next = sink(position);
          return next.kind == Kind::number ? place(next) : nullptr;
        }));
    do {
      if (column == width) {
        tenon::data::refuse_width(plan_.names, plan_.width(), plan_.width() + cursor_.count_cells(),
                                  cursor_.row_line());
      }
      Sink& sink = sinks_[column];
      if (sink.kind != Kind::number || !cursor_.take_number(*place(sink)))
        cell(static_cast<int64_t>(column), sink);
      ++column;
    } while (cursor_.more_cells());
    if (column != width) {
      tenon::data::refuse_width(plan_.names, plan_.width(), static_cast<int64_t>(column),
                                cursor_.row_line());
    }
  }

  void cell(int64_t position, Sink& sink) {
    const std::string_view text = cursor_.take_cell().text;
    if (sink.kind == Kind::skipped) return;
    if (sink.kind == Kind::part) return take_part(position, text);
    Column& column = plan_.at(position);
    if (has_no_value(column, text)) return take_missing(position, column, sink, text);
    if (sink.kind == Kind::coded) return take_code(position, column, sink, text);
    switch (tenon::data::read_decimal(text, cursor_.point(), *place(sink))) {
      case Reading::number:
        sink.kind = Kind::number;
        return;
      case Reading::out_of_range:
        refuse(position, tenon::data::quoted(text) + " is beyond the range of " +
                             tenon::dtype_text(tenon::dtype_of<T>()));
      case Reading::not_a_number:
        break;
    }
    if (is_infinite(text)) {
      if (request_.check_finite)
        refuse(position,
               tenon::data::quoted(text) + " is not finite; say check_finite=false to read it");
      const T infinity = std::numeric_limits<T>::infinity();
      *place(sink) = text[0] == '-' ? -infinity : infinity;
      sink.kind = Kind::number;
      return;
    }
    take_text(position, column, sink, text);
  }

  // In a column that is coded by name the words for missing values are values like others.
  static bool has_no_value(const Column& column, std::string_view text) {
    if (text.empty() || !is_missing(text)) return text.empty();
    return column.codes.fixed() ? !column.codes.has(text) : !column.named_category;
  }

  // Text in a column without a category so far.
  void take_text(int64_t position, Column& column, Sink& sink, std::string_view text) {
    if (has_decimal_comma(text)) {
      refuse(position, tenon::data::quoted(text) +
                           " is not a number; if its comma is the decimal point, say " +
                           "decimal=','");
    }
    const std::string header =
        rows_ == 0 && !header_ ? "; if the first row names the columns, say header=true" : "";
    if (sink.kind == Kind::number)
      refuse(position, tenon::data::quoted(text) + " is not a number" + header);
    if (!column.may_code) {
      refuse(position, tenon::data::quoted(text) +
                           " is not a number: name the column in categories to code " +
                           "its values, or in drop to leave it out" + header);
    }
    if (column.missing > 0 && request_.missing.kind != MissingRule::Kind::nan)
      refuse_missing_category(position, column.first_missing);
    sink.kind = Kind::coded;
    take_code(position, column, sink, text);
  }

  void take_code(int64_t position, Column& column, Sink& sink, std::string_view text) {
    T number = 0;
    if (!column.named_category &&
        (tenon::data::read_decimal(text, cursor_.point(), number) == Reading::number ||
         has_decimal_comma(text))) {
      refuse(position, tenon::data::quoted(text) +
                           " is a number, where text was read before: name the column " +
                           "in categories to code all its values");
    }
    check_utf8(text, cursor_.place());
    const int64_t code = column.codes.code(text);
    if (code < 0)
      refuse(position, tenon::data::quoted(text) +
                           " is not one of the fitted values: " + list(column.codes.values()));
    constexpr int64_t most = int64_t{1} << std::numeric_limits<T>::digits;
    if (code >= most)
      refuse(position, "the column has more than " + std::to_string(most) + " different values");
    *place(sink) = static_cast<T>(code);
  }

  void take_missing(int64_t position, Column& column, Sink& sink, std::string_view text) {
    const std::string what =
        text.empty() ? "the cell is empty" : tenon::data::quoted(text) + " is not a number";
    if (column.use == Column::Use::target) refuse(position, what + ": every row needs its target");
    const MissingRule& rule = request_.missing;
    if (rule.kind == MissingRule::Kind::error) {
      refuse(position, what + "; say missing=\"nan\", \"mean\" or a number to read it, or drop " +
                           "the column");
    }
    const bool number = rule.kind == MissingRule::Kind::number;
    if (sink.kind == Kind::coded && rule.kind != MissingRule::Kind::nan)
      refuse_missing_category(position, cursor_.place());
    if (column.missing++ == 0) column.first_missing = cursor_.place();
    *place(sink) = number ? static_cast<T>(rule.number) : std::numeric_limits<T>::quiet_NaN();
  }
  [[noreturn]] void refuse_missing_category(int64_t position, const std::string& place) const {
    throw Fault(plan_.text(position) + ": the cell has no value, and text has no mean and no " +
                    "number in its place; say missing=\"nan\", or drop the column",
                place);
  }

  void take_part(int64_t position, std::string_view text) {
    constexpr std::string_view words[][5] = {{"train", "training", "0", "0", "0"},
                                             {"validation", "valid", "val", "dev", "1"},
                                             {"test", "testing", "2", "2", "2"}};
    for (int64_t part = 0; part < 3; ++part) {
      if (std::find(std::begin(words[part]), std::end(words[part]), text) == std::end(words[part]))
        continue;
      parts_.push_back(part);
      return;
    }
    refuse(position, tenon::data::quoted(text) + " is not a part; train, validation and test are");
  }

  [[noreturn]] void refuse(int64_t position, const std::string& what) const {
    throw Fault(plan_.text(position) + ": " + what, cursor_.place());
  }
  static std::string list(const std::vector<std::string>& values) {
    constexpr size_t most = 8;
    std::string text;
    for (size_t i = 0; i < std::min(values.size(), most); ++i)
      text += (i == 0 ? "" : ", ") + tenon::data::quoted(values[i]);
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
    if (column.codes.fixed()) return;
    const std::vector<int64_t> code_of = column.codes.sort();
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

  std::string describe() {
    if (request_.fitted.defined()) return request_.fitted.dump();
    const auto entries = [&](const std::vector<int64_t>& positions) {
      tenon::JsonArray list;
      for (const int64_t position : positions) {
        const Column& column = plan_.at(position);
        tenon::JsonObject entry;
        const bool named = header_ && !plan_.names[static_cast<size_t>(position)].empty();
        if (named)
          entry.set("column", plan_.names[static_cast<size_t>(position)]);
        else
          entry.set("column", position);
        if (column.mean) entry.set("mean", *column.mean);
        if (sink(position).kind == Kind::coded) {
          tenon::JsonArray values;
          for (const std::string& value : column.codes.values()) values.add(value);
          entry.set("categories", values.json());
        }
        list.add(entry.json());
      }
      return list.json();
    };
    return tenon::JsonObject()
        .set("width", plan_.width())
        .set("inputs", entries(plan_.inputs))
        .set("targets", entries(plan_.targets))
        .json()
        .dump();
  }

  CsvCursor cursor_;
  ColumnPlan plan_;
  const CsvRequest& request_;
  bool header_;
  Buffer<T> inputs_, targets_;
  std::vector<Sink> sinks_;
  std::vector<int64_t> parts_;
  int64_t rows_ = 0;
};

}  // namespace

CsvSamples read_csv_samples(std::string_view text, const CsvRequest& request) {
  const char delimiter =
      request.delimiter != 0 ? request.delimiter : tenon::data::find_delimiter(text, request.point);
  CsvCursor cursor(text, delimiter, request.point);
  if (!cursor.next_row()) throw Fault("there are no rows");
  const bool header = request.header ? *request.header : is_header(cursor);
  std::vector<std::string> names;
  if (header) {
    names = tenon::data::read_header(cursor);
    for (const std::string& name : names) check_utf8(name, "1");
    if (!cursor.next_row()) throw Fault("there are no rows below the header");
  }
  const auto width = header ? static_cast<int64_t>(names.size()) : CsvCursor(cursor).count_cells();
  ColumnPlan plan = plan_columns(std::move(names), width, request);
  if (request.dtype == tenon::f64)
    return SampleReader<double>(std::move(cursor), std::move(plan), request, header).read();
  return SampleReader<float>(std::move(cursor), std::move(plan), request, header).read();
}

}  // namespace data
