// Memory limits of readers of data, beside their results: twice the file, and 16 MiB.
#include <filesystem>
#include <fstream>
#include <functional>

#include "../compare.hpp"
#include "tests/support/memory_growth.hpp"

using namespace compare;
using tenon_test::kCanMeasureMemory;
using tenon_test::kMiB;
using tenon_test::Outcome;

namespace {

// A file for the length of a scope.
class Written {
 public:
  explicit Written(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~Written() { std::filesystem::remove(path); }
  static constexpr const char* path = "reader_memory_test.data";
};

using Read = std::function<void()>;

// `small` is read before, so that the plugin is loaded by then.
void check_bound(const std::string& small, const std::string& text, Outcome expected,
                 size_t result_bytes, const Read& read) {
  {
    const Written file(small);
    read();
  }
  const Written file(text);
  CAPTURE(text.substr(0, 30));
  tenon_test::check_bound(text.size(), expected, read, result_bytes);
}

void check_csv(const std::string& text, const std::string& keywords, Outcome expected,
               size_t result_bytes = 0, const std::string& small = "1,2\n3,4\n") {
  const tenon::ConfiguredOp reader = tenon::configure(
      tenon::Json::parse(R"({"op": "data.csv")" + (keywords.empty() ? "" : ", " + keywords) + "}"));
  check_bound(small, text, expected, result_bytes,
              [&] { reader.call<std::tuple<Tensor, Tensor, Tensor, std::string>>(Written::path); });
}
void check_read_csv(const std::string& text, bool header, Outcome expected,
                    size_t result_bytes = 0) {
  check_bound("1,2\n3,4\n", text, expected, result_bytes,
              [&] { tenon::data::read_csv(Written::path, header); });
}

// 0,1,2,... and a line end.
std::string counted_row(size_t cells) {
  std::string row = "0";
  for (size_t i = 1; i < cells; ++i) row += "," + std::to_string(i);
  return row + "\n";
}

constexpr size_t kMany = 1000000;
const std::string kNamed = "a,y\nu,1\n";

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("tables of very many columns take no more") {
    if (!kCanMeasureMemory) return;
    const std::string row = counted_row(kMany);
    check_csv(row + row, R"("header": true)", Outcome::Refused);
    check_csv(row + row, R"("header": false)", Outcome::Refused);
    check_read_csv(row + row, true, Outcome::Refused);
    check_read_csv(row + row, false, Outcome::Taken, 2 * kMany * sizeof(float));
  }

  TEST_CASE("a table of as many columns as are read takes no more") {
    if (!kCanMeasureMemory) return;
    constexpr size_t columns = 65536, rows = 8;
    std::string text = counted_row(columns);
    const std::string row = "1" + text.substr(1);  // a row like the header is refused
    for (size_t i = 0; i < rows; ++i) text += row;
    check_csv(text, R"("header": true)", Outcome::Taken, rows * columns * sizeof(float));
    check_read_csv(text, true, Outcome::Taken, rows * columns * sizeof(float));
  }

  TEST_CASE("tables of very many values of text take no more") {
    if (!kCanMeasureMemory) return;
    std::string text = "a,y\n";
    for (size_t i = 0; i < kMany; ++i) text += "v" + std::to_string(i) + ",1\n";
    check_csv(text, R"("categories": "a")", Outcome::Refused, 2 * kMany * sizeof(float), kNamed);
  }

  TEST_CASE("wide tables of text take no more") {
    if (!kCanMeasureMemory) return;
    for (const size_t columns : {size_t{200}, size_t{20000}}) {
      CAPTURE(columns);
      std::string text;
      const size_t cells = columns == 200 ? 60000 : 20000;
      for (size_t i = 0; i < cells; ++i)
        text += "v" + std::to_string(i) + ((i + 1) % columns == 0 ? ",1\n" : ",");
      check_csv(text, R"("header": false, "categories": "auto")", Outcome::Taken,
                (cells + cells / columns) * sizeof(float), "u,1\nv,1\n");
    }
  }

  TEST_CASE("cells that are quotes alone take no more") {
    if (!kCanMeasureMemory) return;
    const std::string text = "a,y\n\"" + std::string(16 * kMiB, '"') + "\",1\n";
    check_csv(text, R"("categories": "a")", Outcome::Refused, 0, kNamed);
    check_read_csv(text, true, Outcome::Refused);
  }

  TEST_CASE("arrays of .npy files take no more") {
    if (!kCanMeasureMemory) return;
    constexpr size_t count = 4 * kMiB;
    const auto file = [](const std::string& shape, size_t bytes) {
      const std::string header =
          "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + ",), }\n";
      const std::string size = {static_cast<char>(header.size()), '\0'};
      return std::string("\x93NUMPY\x01\0", 8) + size + header + std::string(bytes, '\0');
    };
    const Read read = [] { tenon::data::read_npy(Written::path); };
    const std::string small = file("1", sizeof(float));
    check_bound(small, file(std::to_string(count), count * sizeof(float)), Outcome::Taken,
                count * sizeof(float), read);
    check_bound(small, file("4611686018427387904", 0), Outcome::Refused, 0, read);
    check_bound(small, file(std::to_string(count), sizeof(float)), Outcome::Refused, 0, read);
  }
}
