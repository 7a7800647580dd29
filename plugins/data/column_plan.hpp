// The use of each column of a text, as a request or what was fitted says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "category_codes.hpp"
#include "csv_cursor.hpp"
#include "csv_samples.hpp"

namespace data {

struct Column {
  enum class Use : uint8_t { skipped, input, target, part };
  Use use = Use::skipped;
  bool may_code = false;                 // text is coded
  bool named_category = false;           // so are numbers, and words for missing values
  std::unique_ptr<CategoryCodes> codes;  // null until the first: tables may be wide
  std::optional<double> mean;
  int64_t missing = 0;
  std::string first_missing;  // its place

  CategoryCodes& made_codes() {
    if (codes == nullptr) codes = std::make_unique<CategoryCodes>();
    return *codes;
  }
};

struct ColumnPlan {
  std::vector<std::string> names;        // empty without a header
  std::vector<Column> columns;           // columns of the text
  std::vector<int64_t> inputs, targets;  // positions, in the order of the results

  int64_t width() const { return static_cast<int64_t>(columns.size()); }
  std::string text(int64_t column) const { return column_text(names, column); }
  Column& at(int64_t column) { return columns[static_cast<size_t>(column)]; }

  void use(const std::vector<int64_t>& positions, Column::Use use) {
    for (const int64_t position : positions) {
      if (at(position).use != Column::Use::skipped)
        throw Fault(text(position) + " is named for two uses: inputs, targets or part");
      at(position).use = use;
    }
  }
};

// Whether the row at hand names the columns: no cell of it is a number. A Fault for 0, 1, 2, ...
bool is_header(CsvCursor cursor);

// `names` are empty without a header. A Fault where the request, or what was fitted, does not fit.
ColumnPlan plan_columns(std::vector<std::string> names, int64_t width, const CsvRequest& request);

}  // namespace data
