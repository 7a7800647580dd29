// read_csv: what it takes, and how it refuses the rest.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include <sys/stat.h>

#include <tenon/csv.hpp>

#include "../compare.hpp"

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
    CHECK(refused("1,2\n3,4\n55, abc \n") == "csv_test.csv:3:5: 'abc' is not a number");
    CHECK(refused("label,1\n") ==
          "csv_test.csv:1:1: 'label' is not a number; if the first row names the columns, say "
          "header=true");
    CHECK(refused("1,2\n3,\n") == "csv_test.csv:2:3: the field is empty");
    CHECK(refused("1,2\n,3\n") == "csv_test.csv:2:1: the field is empty");
    CHECK(refused("1,2\n\n3,4\n") == "csv_test.csv:2: the line is blank, with rows behind it");
    CHECK(refused("1,2\n3,1e39\n") == "csv_test.csv:2:3: '1e39' is beyond the range of f32");
    CHECK(refused("1,2\n3,1e999\n") == "csv_test.csv:2:3: '1e999' is beyond the range of f32");
    CHECK(refused("1,2\n3 4,5\n") == "csv_test.csv:2:3: '4' stands behind a number");
    CHECK(refused("1,2\n3,\"4\n") == "csv_test.csv:2:4: '4' is not a number");
    CHECK(refused("1,2\n3,4x\n") == "csv_test.csv:2:3: '4x' is not a number");
    CHECK(refused("1,2\n3,0x10\n") == "csv_test.csv:2:3: '0x10' is not a number");
    CHECK(refused("") == "csv_test.csv: there are no rows");
    CHECK(refused("a,b\n", true) == "csv_test.csv: there are no rows below the header");
    CHECK(refused("\"a,b\n1,2\n", true) == "csv_test.csv:1: a quote in the header is not closed");
    CHECK_THROWS_AS(read("1,2\n3\n"), tenon::ValueError);
    CHECK_THROWS_AS(read("1,2", false, ",,"), tenon::ValueError);
    CHECK_THROWS_AS(read("1,2", false, "5"), tenon::ValueError);
  }

  TEST_CASE("read_csv says which file it cannot read") {
    CHECK(refusal_of("read_csv", [] { read_csv("no such file.csv"); }) ==
          "cannot read 'no such file.csv': No such file or directory");
    CHECK(refusal_of("read_csv", [] { read_csv("."); }) == "cannot read '.': it is a folder");
    CHECK_THROWS_AS(read_csv(""), tenon::IOError);
  }

  TEST_CASE("the header's names are read as the rows behind it are found") {
    using tenon::data::parse_csv;
    using tenon::data::parse_csv_header;
    using Names = std::vector<std::string>;
    const std::string text = "\xef\xbb\xbf\"a\nb\", c ,\"d, \"\"e\"\"\",\"\"\r\n1,2,3,4\r\n";
    CHECK(parse_csv_header(text) == Names{"a\nb", "c", "d, \"e\"", ""});
    CHECK(parse_csv(text, ',', true).names == parse_csv_header(text));
    CHECK(parse_csv(text, ',', true).rows == 1);
    CHECK(parse_csv("1;2\n", ';').names.empty());
    CHECK(parse_csv_header("a;b,c", ';') == Names{"a", "b,c"});
    CHECK(parse_csv_header("") == Names{""});
    CHECK_THROWS_AS(parse_csv_header("\"a\nb"), tenon::data::Fault);
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
