// data.read_csv: a table of numbers from a text file.

#include "csv_cursor.hpp"
#include "file.hpp"

namespace {

using tenon::Tensor;

struct ReadCsv {
  static constexpr auto schema =
      "data.read_csv(str path, *, bool header=False, str delimiter=',') -> Tensor";
  static constexpr auto doc =
      "The numbers of a text file as an f32 tensor [rows, columns]; whole numbers are exact up to "
      "2^24.";
  static constexpr auto samples = R"([
      {"prepare": [{"file": "table.csv", "text": "1,2.5\n-3,4e2\n"}], "path": {"file": "table.csv"}},
      {"prepare": [{"file": "table.csv", "text": "a;b\n1;2\n"}],
       "path": {"file": "table.csv"}, "header": true, "delimiter": ";"}])";

  static Tensor forward(std::string_view path, bool header, std::string_view delimiter) {
    if (delimiter.size() != 1) {
      throw tenon::ValueError("read_csv(): delimiter must be one character, got '" +
                              std::string(delimiter) + "'");
    }
    const data::File file(path);
    try {
      data::CsvTable table = data::parse_csv(file.text(), delimiter[0], header);
      const std::array<int64_t, 2> shape = {table.rows, table.columns},
                                   strides = {table.columns, 1};
      float* values = table.values.get();
      Tensor result =
          tenon::wrap_buffer(values, tenon::IntList(shape.data(), 2),
                             tenon::IntList(strides.data(), 2), tenon::f32, values, std::free);
      table.values.release();
      return result;
    } catch (const data::Fault& fault) {
      file.refuse(fault);
    }
  }
};

}  // namespace
TENON_OP(ReadCsv)
