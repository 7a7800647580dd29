// read_csv: what it takes, and how it refuses the rest.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include <sys/stat.h>

#include "../compare.hpp"
#include "plugins/data/csv_cursor.hpp"

using namespace compare;
using tenon::data::read_csv;

namespace {

// A file for the length of a scope.
class Written {
 public:
  explicit Written(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~Written() { std::filesystem::remove(path); }
  const std::string path = "csv_test.csv";
};

Tensor read(const std::string& text, bool header = false, const char* delimiter = ",") {
  const Written file(text);
  return read_csv(file.path, header, delimiter);
}
std::string refused(const std::string& text, bool header = false) {
  return refusal_of("read_csv", [&] { read(text, header); });
}

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("read_csv reads rows of numbers as f32") {
    const Tensor table = read("1,2.5,-3\n+4,5e-1,.25\n");
    CHECK(table.dtype() == tenon::f32);
    check_values(table, {2, 3}, {1, 2.5, -3, 4, 0.5, 0.25});
    check_values(read("7"), {1, 1}, {7});
    check_values(read("16777216,1e38,-1e-30"), {1, 3}, {16777216, 1e38, -1e-30});
    check_values(read("inf,-inf,nan"), {1, 3},
                 {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                  std::numeric_limits<double>::quiet_NaN()});
    check_values(read("1e-400,123456789012345678,0.1"), {1, 3}, {0, 123456789012345678.0, 0.1},
                 1e-7);
  }

  TEST_CASE(
      "read_csv takes headers, delimiters, spaces, quotes, CRLF, a byte order mark and blank "
      "ends") {
    check_values(read("a,\"b, \n c\"\n1,2\n", true), {1, 2}, {1, 2});
    check_values(read("1;2\n3;4\n", false, ";"), {2, 2}, {1, 2, 3, 4});
    check_values(read("1\t2\n", false, "\t"), {1, 2}, {1, 2});
    check_values(read("1 2\n3 4", false, " "), {2, 2}, {1, 2, 3, 4});
    check_values(read(" 1 ,\t2 \r\n\"3\", \"4\" \r\n\r\n  \n"), {2, 2}, {1, 2, 3, 4});
    check_values(read("\xef\xbb\xbf"
                      "1,2\n"),
                 {1, 2}, {1, 2});
  }

  TEST_CASE("read_csv says where and why it refuses") {
    CHECK(refused("1,2\n3\n") == "csv_test.csv:2: 1 column where 2 were read before");
    CHECK(refused("1\n2,3,4\n") == "csv_test.csv:2: 3 columns where 1 was read before");
    CHECK(refused("1,2\n3,4\n55, abc \n") == "csv_test.csv:3:5: column 1: 'abc' is not a number");
    CHECK(refused("a,b\n3,x\n", true) == "csv_test.csv:2:3: column 'b': 'x' is not a number");
    CHECK(
        refused("label,1\n") ==
        "csv_test.csv:1:1: column 0: 'label' is not a number; if the first row names the columns, "
        "pass header=true");
    CHECK(refused("1,2\n3,\n") == "csv_test.csv:2:3: column 1: the cell is empty");
    CHECK(refused("1,2\n,3\n") == "csv_test.csv:2:1: column 0: the cell is empty");
    CHECK(refused("1,2\n\n3,4\n") == "csv_test.csv:2: the line is blank, and rows follow it");
    CHECK(refused("1,2\n3,1e39\n") ==
          "csv_test.csv:2:3: column 1: '1e39' is beyond the range of f32");
    CHECK(refused("1,2\n3,1e999\n") ==
          "csv_test.csv:2:3: column 1: '1e999' is beyond the range of f32");
    CHECK(refused("1,2\n3 4,5\n") == "csv_test.csv:2:1: column 0: '3 4' is not a number");
    CHECK(refused("1,2\n3,\"4\n") == "csv_test.csv:2:3: a quote is not closed");
    CHECK(refused("1,2\n3,4x\n") == "csv_test.csv:2:3: column 1: '4x' is not a number");
    CHECK(refused("1,2\n3,0x10\n") == "csv_test.csv:2:3: column 1: '0x10' is not a number");
    CHECK(refused("") == "csv_test.csv: the file is empty, expected rows");
    CHECK(refused("a,b\n", true) == "csv_test.csv: no row is below the header");
    CHECK(refused("\"a,b\n1,2\n", true) == "csv_test.csv:1:1: a quote is not closed");
    CHECK(refused("1,\"2\"3\n") ==
          "csv_test.csv:1:3: text follows the closing quote of '2': write a quote within quotes "
          "twice");
    CHECK(refused("\xff\xfe"
                  "1") == "csv_test.csv: the text is UTF-16: convert the file to UTF-8");
    CHECK(refused("a,b\n1,2,3\n", true) ==
          "csv_test.csv:2: the row has 3 columns, the header names 2: give the header one name for "
          "each column");
    CHECK(refused("a,b,c\n1,2,3\n1,2\n", true) ==
          "csv_test.csv:3: the row has 2 columns, the header names 3: give the header one name for "
          "each column");
    CHECK(refused("a,b,a\n1,2,3\n", true) ==
          "csv_test.csv:1:5: the header has the name 'a' twice, for column 0 and column 2: rename "
          "one");
    CHECK_THROWS_AS(read("1,2\n3\n"), tenon::ValueError);
    CHECK_THROWS_AS(read("1,2", false, ",,"), tenon::ValueError);
    CHECK_THROWS_AS(read("1,2", false, "5"), tenon::ValueError);
  }

  TEST_CASE("quick_decimal and read_decimal round as strtof and strtod do") {
    using data::Reading;
    const tenon::Draws draws{11, 0};
    int64_t drawn = 0;
    const auto below = [&](uint64_t n) { return draws.bits(drawn++) % n; };
    int64_t quick = 0, wrong = 0;
    const auto compare_to = [&](const std::string& text, auto expected) {
      using T = decltype(expected);
      T value = -1;
      const std::string padded = text + std::string(data::kQuickDecimal, ',');
      const char* stop = data::quick_decimal(padded.data(), '.', value);
      if (stop != nullptr) {
        ++quick;
        if (value != expected || std::signbit(value) != std::signbit(expected) ||
            stop != padded.data() + text.size())
          ++wrong;
      }
      const Reading reading = data::read_decimal(text, '.', value);
      const bool right = std::isinf(expected) ? reading == Reading::out_of_range
                                              : reading == Reading::number && value == expected;
      if (!right) ++wrong;
      INFO(text);
      CHECK(wrong == 0);
    };
    for (int i = 0; i < 60000 && wrong == 0; ++i) {
      std::string text = below(2) == 0 ? "-" : "";
      const uint64_t digits = 1 + below(24), point = below(26);
      for (uint64_t k = 0; k < digits; ++k) {
        if (k == point) text += '.';
        text += static_cast<char>('0' + below(10));
      }
      if (below(3) == 0) text += "e" + std::to_string(static_cast<int>(below(90)) - 45);
      compare_to(text, std::strtof(text.c_str(), nullptr));
      compare_to(text, std::strtod(text.c_str(), nullptr));
    }
    // Short numbers, whole and not, as tables have them.
    for (int i = 0; i < 20000 && wrong == 0; ++i) {
      std::string text = (below(2) == 0 ? "-" : "") + std::to_string(below(2000));
      if (below(2) == 0) text += "." + std::to_string(below(1000000));
      compare_to(text, std::strtof(text.c_str(), nullptr));
      compare_to(text, std::strtod(text.c_str(), nullptr));
    }
    // In the middle between two f32, and just beside it.
    for (int i = 0; i < 20000 && wrong == 0; ++i) {
      const auto low =
          static_cast<float>(below(1 << 24)) * std::exp2(static_cast<float>(below(20)));
      const double middle = (double{low} + double{std::nextafter(low, 2e30f)}) / 2;
      char text[64];
      std::snprintf(text, sizeof(text), "%.*f", static_cast<int>(below(3)), middle);
      compare_to(text, std::strtof(text, nullptr));
      std::snprintf(text, sizeof(text), "%.*g", 10 + static_cast<int>(below(9)), middle);
      compare_to(text, std::strtof(text, nullptr));
    }
    CHECK(quick > 50000);
    for (const char* text : {"0", "-0", ".5", "5.", "+4", "1e-400", "0.000e99", "1e-46", "3.4e38"})
      compare_to(text[0] == '+' ? text + 1 : text, std::strtof(text, nullptr));
  }

  TEST_CASE("read_csv says which file it cannot read") {
    CHECK(refusal_of("read_csv", [] { read_csv("no such file.csv"); }) ==
          "cannot read 'no such file.csv': No such file or directory");
    CHECK(refusal_of("read_csv", [] { read_csv("."); }) == "cannot read '.': it is a folder");
    CHECK_THROWS_AS(read_csv(""), tenon::IOError);
  }

  TEST_CASE("the header's names are read as the rows behind it are found") {
    using data::parse_csv;
    using data::parse_csv_header;
    using Names = std::vector<std::string>;
    const std::string text = "\xef\xbb\xbf\"a\nb\", c ,\"d, \"\"e\"\"\",\"\"\r\n1,2,3,4\r\n";
    CHECK(parse_csv_header(text) == Names{"a\nb", "c", "d, \"e\"", ""});
    CHECK(parse_csv(text, ',', true).names == parse_csv_header(text));
    CHECK(parse_csv(text, ',', true).rows == 1);
    CHECK(parse_csv("1;2\n", ';').names.empty());
    CHECK(parse_csv_header("a;b,c", ';') == Names{"a", "b,c"});
    CHECK_THROWS_AS(parse_csv_header(""), data::Fault);
    CHECK_THROWS_AS(parse_csv_header("\"a\nb"), data::Fault);
  }

  TEST_CASE("a header may have 65536 names, and rows without names any number of cells") {
    constexpr int64_t most = 65536;
    const auto row = [](int64_t cells) {
      std::string text = "1";
      for (int64_t i = 1; i < cells; ++i) text += ",1";
      return text + "\n";
    };
    std::string names = "c0";
    for (int64_t i = 1; i < most; ++i) names += ",c" + std::to_string(i);
    CHECK(read(names + "\n" + row(most), true).sizes() == std::vector<int64_t>{1, most});
    CHECK(refused(names + ",more\n" + row(most + 1), true) ==
          "csv_test.csv:1: the row has 65537 columns, at most 65536 are read: split the table, or "
          "write it as a .npy file");
    CHECK(read(row(most + 1)).sizes() == std::vector<int64_t>{1, most + 1});
  }

  TEST_CASE("names of more than 4 MiB, and cells with quotes of more than 1 MiB, are refused") {
    const std::string name(size_t{4} << 20, 'a');
    check_values(read(name + "\n1\n", true), {1, 1}, {1});
    CHECK(refused(name + ",b\n1,2\n", true) ==
          "csv_test.csv:1: the names in the header have 4194305 bytes, at most 4194304 are read: "
          "shorten them");
    const std::string quotes(size_t{2} << 20, '"');
    CHECK(refused("1\n\"" + quotes + "\"\n") ==
          "csv_test.csv:2:1: column 0: '" + std::string(32, '"') + "...' is not a number");
    CHECK(refused("1\n\"" + quotes + "\"\"\"\n") ==
          "csv_test.csv:2:1: a cell with quotes in it has more than 1048576 bytes: close its "
          "quotes, or shorten it");
  }

  TEST_CASE("a pipe is refused instead of waited for") {
    const std::string pipe = "csv_test_pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(refusal_of("read_csv", [&] { read_csv(pipe); }).find("it is not a regular file") !=
          std::string::npos);
    CHECK(refusal([&] { tenon::data::read_npy(pipe); }).find("it is not a regular file") !=
          std::string::npos);
    std::filesystem::remove(pipe);
  }
}
