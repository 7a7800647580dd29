// Samples from the text of a CSV file: which columns are read, as what, and what cells may hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/json.hpp>

#include "bytes.hpp"
#include "column_choice.hpp"

namespace data {

// How a cell without a value is handled.
struct MissingRule {
  enum class Kind : uint8_t { error, nan, mean, number };
  // "error", "nan", "mean" or a number. ValueError for another text, TypeError for another kind.
  explicit MissingRule(const tenon::Argument& value);
  Kind kind = Kind::error;
  double number = 0;
};

struct CsvRequest {
  ColumnChoice inputs, targets, drop, categories, part;
  MissingRule missing;
  std::optional<bool> header;
  char delimiter = 0;  // 0: found in the text
  char point = '.';
  bool check_finite = true;
  tenon::DType dtype = tenon::f32;
  bool with_targets = true;
  tenon::Json fitted;  // undefined: fit to this text
};

struct CsvSamples {
  tenon::Tensor inputs;  // [rows, columns]
  tenon::Tensor
      targets;          // [rows], or [rows, columns] where there is not exactly one; i64 where all
                        // are coded
  tenon::Tensor parts;  // i64 [rows]: 0 train, 1 validation, 2 test; [0] where no column says
  std::string fitted;   // JSON: what reads another text in the same way
};

// A Fault, with line and column where they are known, for a text that the request does not fit. Beyond
// the tensors it takes at most twice the text and 16 MiB: the text is given up when its rows are read.
CsvSamples read_csv_samples(Bytes text, const CsvRequest& request);

}  // namespace data
