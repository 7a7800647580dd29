// data.csv: samples from a CSV file.
#include <tuple>

#include "csv_samples.hpp"
#include "file.hpp"

namespace {

using tenon::Argument;
using tenon::Tensor;

char character(const char* name, std::string_view text) {
  if (text.size() == 1) return text[0];
  throw tenon::ValueError(std::string(name) + " must be one character, got '" + std::string(text) +
                          "'");
}

struct Csv {
  static constexpr auto schema =
      "data.csv(str path, *, any inputs=None, any targets=-1, any drop=None, any categories=None, "
      "any part=None, any missing='error', bool? header=None, str? delimiter=None, "
      "str decimal='.', bool check_finite=True, dtype dtype=f32, bool with_targets=True, "
      "str fitted='') -> (Tensor inputs, Tensor targets, Tensor parts, str fitted)";
  static constexpr auto doc =
      "Samples from a CSV file, gzipped or not: inputs [rows, columns] and targets [rows], or "
      "[rows, columns] of several; columns by name or position.";
  static constexpr auto samples = R"([
      {"prepare": [{"file": "table.csv", "text": "1,2.5,0\n-3,4e2,1\n5,6,0\n"}],
       "path": {"file": "table.csv"}},
      {"prepare": [{"file": "table.csv", "text": "width,kind,part\n1,round,train\n2,square,test\n"}],
       "path": {"file": "table.csv"}, "inputs": ["width"], "targets": "kind", "part": "part",
       "dtype": "f64"}])";

  static std::tuple<Tensor, Tensor, Tensor, std::string> forward(
      std::string_view path, const Argument& inputs, const Argument& targets, const Argument& drop,
      const Argument& categories, const Argument& part, const Argument& missing,
      std::optional<bool> header, std::optional<std::string_view> delimiter,
      std::string_view decimal, bool check_finite, tenon::DType dtype, bool with_targets,
      std::string_view fitted) {
    if (dtype != tenon::f32 && dtype != tenon::f64)
      throw tenon::ValueError("dtype must be f32 or f64");
    const data::CsvRequest request = {{"inputs", inputs},
                                      {"targets", targets},
                                      {"drop", drop},
                                      {"categories", categories},
                                      {"part", part},
                                      data::MissingRule(missing),
                                      header,
                                      delimiter ? character("delimiter", *delimiter) : '\0',
                                      character("decimal", decimal),
                                      check_finite,
                                      dtype,
                                      with_targets,
                                      fitted.empty() ? tenon::Json() : tenon::Json::parse(fitted)};
    const data::File file(path);
    try {
      data::CsvSamples read = data::read_csv_samples(file.text(), request);
      return {read.inputs, read.targets, read.parts, read.fitted};
    } catch (const data::Fault& fault) {
      file.refuse(fault);
    }
  }
};

}  // namespace
TENON_OP(Csv)
