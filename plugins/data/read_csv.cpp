// data.read_csv: a table of numbers from a text file.
#include <tenon/csv.hpp>

#include "file.hpp"

namespace {

using tenon::Tensor;

struct ReadCsv {
  static constexpr auto schema =
      "data.read_csv(str path, *, bool header=False, str delimiter=',') -> Tensor";
  static constexpr auto doc =
      "The numbers of a text file as an f32 tensor [rows, columns]; whole numbers are exact up to "
      "2^24.";

  static Tensor forward(std::string_view path, bool header, std::string_view delimiter) {
    if (delimiter.size() != 1) {
      throw tenon::ValueError("read_csv(): delimiter must be one character, got '" +
                              std::string(delimiter) + "'");
    }
    const data::File file(path);
    std::string text(static_cast<size_t>(file.size()), '\0');
    file.read(text.data(), 0, file.size());
    try {
      const tenon::data::CsvTable table = tenon::data::parse_csv(text, delimiter[0], header);
      Tensor result = tenon::empty_tensor({table.rows, table.columns});
      std::memcpy(result.data<float>(), table.values.data(), table.values.size() * sizeof(float));
      return result;
    } catch (const tenon::data::Fault& fault) {
      file.refuse(fault);
    }
  }
};

}  // namespace
TENON_OP(ReadCsv)
