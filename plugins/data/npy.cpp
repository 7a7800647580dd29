// data.npy: samples from .npy files.
#include <cstring>
#include <filesystem>
#include <tuple>

#include "array_file.hpp"
#include "array_samples.hpp"
#include "column_choice.hpp"

namespace {

using tenon::Argument;
using tenon::IntList;
using tenon::Tensor;

// The source of targets that `targets` names: another file, found from the folder of the first; a
// column of the table; or nothing.
struct Targets {
  std::string path;
  std::optional<int64_t> column;

  Targets(std::string_view inputs, const Argument& argument) {
    const tenon_value value = data::plain_value(argument);
    if (value.tag == TENON_VALUE_INT) {
      column = value.as.integer;
    } else if (value.tag == TENON_VALUE_STRING) {
      const std::filesystem::path name(std::string_view(value.as.string, value.length));
      if (!name.empty()) path = std::filesystem::path(inputs).parent_path() / name;
    } else if (value.tag != TENON_VALUE_NONE) {
      throw tenon::TypeError("targets must be the path of a .npy file or the number of a column");
    }
  }
};

// The table without a column, and the column. ValueError where it has no such column.
std::pair<Tensor, Tensor> split_table(const Tensor& table, int64_t column, std::string_view path,
                                      bool values) {
  const int64_t width = table.dim() == 2 ? table.shape()[1] : 0;
  const int64_t at = column < 0 ? column + width : column;
  if (at < 0 || at >= width || width < 2)
    throw tenon::ValueError(std::string(path) + ": column " + std::to_string(column) +
                            " for the targets is not beside one for inputs; the array has " +
                            (table.dim() == 2 ? std::to_string(width) + " columns"
                                              : std::to_string(table.dim()) + " dimensions"));
  const int64_t rows = table.shape()[0];
  const Tensor rest = tenon::empty_tensor({rows, width - 1}, table.dtype());
  const Tensor targets = tenon::empty_tensor({rows}, table.dtype());
  if (values) {
    const auto size = static_cast<size_t>(tenon::element_size(table.dtype()));
    const size_t before = static_cast<size_t>(at) * size;
    const size_t behind = static_cast<size_t>(width - at - 1) * size;
    const auto* from = static_cast<const char*>(table.view_record().data);
    auto* to = static_cast<char*>(rest.view_record().data);
    auto* target = static_cast<char*>(targets.view_record().data);
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(to, from, before);
      std::memcpy(target, from + before, size);
      std::memcpy(to + before, from + before + size, behind);
      from += before + size + behind;
      to += before + behind;
      target += size;
    }
  }
  return {rest, targets};
}

struct Npy {
  static constexpr auto schema =
      "data.npy(str path, *, any targets=None, int[]? shape=None, bool channels_last=False, "
      "float scale=1.0, bool check_finite=True, dtype dtype=f32, bool with_targets=True, "
      "str fitted='') -> (Tensor inputs, Tensor targets, str fitted)";
  static constexpr auto doc =
      "Samples from a .npy file of any dtype, such as images as u8. `targets` is the path of "
      "another "
      "one, from the folder of the first, or the number of a column. Inputs are converted, then "
      "multiplied by `scale`.";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "data.write_npy", "path": {"file": "x.npy"}, "input": {"shape": [4, 3]}},
                   {"op": "data.write_npy", "path": {"file": "y.npy"},
                    "input": {"values": [0, 1, 1, 2], "dtype": "i64"}}],
       "path": {"file": "x.npy"}, "targets": "y.npy"},
      {"prepare": [{"op": "data.write_npy", "path": {"file": "x.npy"}, "input": {"shape": [4, 3]}}],
       "path": {"file": "x.npy"}, "targets": -1, "dtype": "f64", "scale": 0.5}])";

  static data::ArraySamples forward(std::string_view path, const Argument& targets,
                                    std::optional<IntList> shape, bool channels_last, double scale,
                                    bool check_finite, tenon::DType dtype, bool with_targets,
                                    std::string_view fitted) {
    return read(path, Targets(path, targets), with_targets,
                {shape, channels_last, scale, check_finite, dtype, fitted}, data::read_npy);
  }
  // Reads the headers alone.
  static data::ArraySamples shape_rule(std::string_view path, const Argument& targets,
                                       std::optional<IntList> shape, bool channels_last, double,
                                       bool, tenon::DType dtype, bool with_targets,
                                       std::string_view fitted) {
    return read(path, Targets(path, targets), with_targets,
                {shape, channels_last, 1, false, dtype, fitted}, data::read_npy_shape);
  }

 private:
  static data::ArraySamples read(std::string_view path, const Targets& choice, bool with_targets,
                                 const data::ArrayRequest& request,
                                 Tensor (*array)(std::string_view path)) {
    Tensor inputs = array(path), targets;
    if (choice.column) {
      const bool values = array == data::read_npy;
      std::tie(inputs, targets) = split_table(inputs, *choice.column, path, values);
      if (!with_targets) targets = {};
      return data::make_samples({path, "inputs", inputs}, {path, "targets", targets}, request);
    }
    if (with_targets && !choice.path.empty()) targets = array(choice.path);
    return data::make_samples({path, "inputs", inputs}, {choice.path, "targets", targets}, request);
  }
};

}  // namespace
TENON_OP(Npy)
