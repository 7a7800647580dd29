// data.csv: which columns it reads, as what, and how it refuses the rest.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "../compare.hpp"
#include "plugins/data/csv_cursor.hpp"

using namespace compare;

namespace {

struct Samples {
  Tensor inputs, targets, parts;
  tenon::Json fitted;
};

constexpr const char* path = "samples_test.csv";

// `keywords` as a config writes them: R"("targets": "y")".
Samples read(const std::string& text, const std::string& keywords = "") {
  std::ofstream(path, std::ios::binary) << text;
  struct Remove {
    ~Remove() { std::filesystem::remove(path); }
  } const remove;
  const tenon::ConfiguredOp reader = tenon::configure(
      tenon::Json::parse(R"({"op": "data.csv")" + (keywords.empty() ? "" : ", " + keywords) + "}"));
  const auto [inputs, targets, parts, fitted] =
      reader.call<std::tuple<Tensor, Tensor, Tensor, std::string>>(path);
  return {inputs, targets, parts, tenon::Json::parse(fitted)};
}
std::string refused(const std::string& text, const std::string& keywords = "") {
  const std::string start = std::string(path) + ":";
  const std::string message = refusal_of("csv", [&] { read(text, keywords); });
  return message.rfind(start, 0) == 0 ? message.substr(start.size()) : message;
}
std::string quote(const std::string& text) { return "\"" + text + "\""; }
// The fitted text of `read`, for a keyword "fitted".
std::string fitted(const Samples& samples) {
  std::string escaped;
  for (const char c : samples.fitted.dump())
    escaped += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return R"("fitted": )" + quote(escaped);
}

const std::string people =
    "name,age,town,income,class\n"
    "ann,31,Ulm,1.5,yes\n"
    "bob,NA,Bonn,2.5,no\n"
    "\"cy, jr\",29,Ulm,,yes\n";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("data.csv takes the last column as the target and the others as inputs") {
    const Samples samples = read("a,b,y\n1,2,3\n4,5,6\n");
    check_values(samples.inputs, {2, 2}, {1, 2, 4, 5});
    check_values(samples.targets, {2}, {3, 6});
    CHECK(samples.inputs.dtype() == tenon::f32);
    CHECK(samples.targets.dtype() == tenon::f32);
    CHECK(samples.parts.sizes() == std::vector<int64_t>{0});
    CHECK(samples.fitted["inputs"][1]["column"].text() == "b");
    CHECK(samples.fitted["targets"][0]["column"].text() == "y");
    CHECK(read("1,2,3\n", R"("dtype": "f64")").inputs.dtype() == tenon::f64);
  }

  TEST_CASE("data.csv reads lines that end with CR alone as lines") {
    for (const char* const end : {"\r", "\r\n", "\n"}) {
      std::string changed;
      for (const char c : std::string("a,b,y\n1,2,3\n4,5,6\n")) {
        if (c == '\n')
          changed += end;
        else
          changed += c;
      }
      for (const bool last : {true, false}) {
        if (!last) changed.resize(changed.size() - std::string(end).size());
        CAPTURE(changed);
        const Samples samples = read(changed);
        check_values(samples.inputs, {2, 2}, {1, 2, 4, 5});
        check_values(samples.targets, {2}, {3, 6});
      }
    }
    CHECK(refused("a,b\r1,2\r3,x\r") == "3:3: column 'b': 'x' is not a number");
    // Lines of both kinds are neither read as one nor as many.
    CHECK(contains(refused("a,b,y\n1,2,3\r4,5,6\n7,8,9\n"),
                   "2:5: the cell has a CR without LF in it, where the first line ends with LF"));
    CHECK(contains(refused("a,b,y\r1,2,3\n4,5,6\r7,8,9\r"),
                   "2:5: the cell has a LF in it, where the first line ends with CR"));
  }

  TEST_CASE("data.csv refuses a table that only guesses make one of samples") {
    const std::string automatic = R"("categories": "auto")";
    CHECK(contains(refused("1,x,2\n", automatic),
                   "the file has one row: pass header=false if that is right"));
    CHECK(read("1,x,2\n", automatic + R"(, "header": false)").inputs.size(0) == 1);
    // The first row may be names or values.
    const std::string words = "red,small,yes\nblue,large,no\ngreen,small,no\n";
    CHECK(contains(refused(words, automatic),
                   "1: every cell is text, so that the first row may be names or values"));
    CHECK(read(words, automatic + R"(, "header": true)").inputs.size(0) == 2);
    CHECK(read(words, automatic + R"(, "header": false)").inputs.size(0) == 3);
    CHECK(contains(refused("1\n2\n"), "the file has one column; check its delimiter"));
  }

  TEST_CASE("data.csv refuses a header that is repeated among the rows") {
    const std::string text = "town,age,class\nUlm,3,yes\ntown,age,class\nBonn,4,no\n";
    CHECK(contains(refused(text, R"("categories": "auto")"),
                   "3:6: column 'age': 'age' is not a number; the row repeats the name"));
    const std::string words = "town,class\nUlm,yes\ntown,class\nBonn,no\n";
    CHECK(refused(words, R"("categories": "auto", "header": true)") ==
          "3: the row repeats the header: remove it");
    // A value that is the name of its column is one like others.
    CHECK(read("town,class\nUlm,yes\ntown,no\n", R"("categories": "auto", "header": true)")
              .inputs.size(0) == 2);
  }

  TEST_CASE("data.csv names the first cell that is not a number, and how many more there are") {
    const std::string text = "a,y\n1,2\nx,3\n4,5\ny,6\nNA,7\nz,8\n";
    CHECK(refused(text, R"("missing": "nan")") ==
          "3:1: column 'a': 'x' is not a number (and 2 more in this column)");
    CHECK(contains(refused("a,y\n1,2\n,3\n4,5\nNA,6\n"),
                   "3:1: column 'a': the cell is empty; pass missing="));
    CHECK(contains(refused("a,y\n1,2\n,3\n4,5\nNA,6\n"), "(and 1 more in this column)"));
  }

  TEST_CASE("data.csv chooses columns by name and by position") {
    const std::string text = "a,b,c,d\n1,2,3,4\n5,6,7,8\n";
    Samples samples = read(text, R"("targets": ["d", "a"], "drop": "b")");
    check_values(samples.inputs, {2, 1}, {3, 7});
    check_values(samples.targets, {2, 2}, {4, 1, 8, 5});
    samples = read(text, R"("targets": 0, "inputs": [-1, "b"])");
    check_values(samples.inputs, {2, 2}, {4, 2, 8, 6});
    check_values(samples.targets, {2}, {1, 5});
    samples = read(text, R"("targets": [], "drop": [0, 2])");
    check_values(samples.inputs, {2, 2}, {2, 4, 6, 8});
    CHECK(samples.targets.sizes() == std::vector<int64_t>{2, 0});
    samples = read(text, R"("with_targets": false, "drop": [0, 2])");
    check_values(samples.inputs, {2, 1}, {2, 6});
    CHECK(samples.targets.sizes() == std::vector<int64_t>{2, 0});
    samples = read("9,8\n7,6\n", R"("targets": [0])");
    check_values(samples.inputs, {2, 1}, {8, 6});
    CHECK(samples.fitted["inputs"][0]["column"].integer() == 1);
  }

  TEST_CASE("data.csv codes text as class numbers in the order of its values") {
    Samples samples = read("x,kind\n1,pine\n2,elm\n3,oak\n4,elm\n");
    check_values(samples.targets, {4}, {2, 0, 1, 0});
    CHECK(samples.targets.dtype() == tenon::i64);
    CHECK(samples.fitted["targets"][0]["categories"].dump() == R"(["elm","oak","pine"])");
    samples = read(people, R"("drop": ["name", "age", "income"], "categories": "town")");
    check_values(samples.inputs, {3, 1}, {1, 0, 1});
    CHECK(samples.inputs.dtype() == tenon::f32);
    check_values(read("a,b\nx,1\ny,2\n", R"("categories": "auto")").inputs, {2, 1}, {0, 1});
    // Numbers that are named are in the order of numbers, and their words are values.
    samples = read("x,y\n1,10\n2,9\n3,10\n", R"("categories": ["y"])");
    check_values(samples.targets, {3}, {1, 0, 1});
    samples = read("g,y\n7,1\nNA,2\nlow,3\n", R"("categories": ["g"])");
    check_values(samples.inputs, {3, 1}, {0, 1, 2});
    // Several targets are all classes, or none.
    samples = read("x,a,b\n1,u,3\n2,v,4\n", R"("targets": ["a", "b"])");
    check_values(samples.targets, {2, 2}, {0, 3, 1, 4});
    CHECK(samples.targets.dtype() == tenon::f32);
  }

  TEST_CASE("data.csv treats missing cells by the rule that is stated") {
    const std::string text = "a,b,y\n1,,1\n3,4,2\nnan,8,3\n";
    const double nan = std::numeric_limits<double>::quiet_NaN();
    check_values(read(text, R"("missing": "nan")").inputs, {3, 2}, {1, nan, 3, 4, nan, 8});
    check_values(read(text, R"("missing": -1)").inputs, {3, 2}, {1, -1, 3, 4, -1, 8});
    const Samples samples = read(text, R"("missing": "mean")");
    check_values(samples.inputs, {3, 2}, {1, 6, 3, 4, 2, 8});
    CHECK(samples.fitted["inputs"][0]["mean"].number() == 2);
    for (const char* word : {"", "NA", "N/A", "#N/A", "NaN", "NULL", "none", "?"}) {
      INFO(word);
      check_values(read("a,b,y\n1,2,3\n" + std::string(word) + ",5,6\n", R"("missing": 0)").inputs,
                   {2, 2}, {1, 2, 0, 5});
    }
    check_values(read("a,y\nx,1\n,2\n", R"("categories": "a", "missing": "nan")").inputs, {2, 1},
                 {0, nan});
  }

  TEST_CASE("data.csv reads another file as the first one was fitted") {
    const std::string train = "a,kind,b,y\n1,u,,no\n3,v,4,yes\n,u,8,no\n";
    const std::string keywords = R"("categories": "kind", "missing": "mean")";
    const Samples first = read(train, keywords);
    check_values(first.inputs, {3, 3}, {1, 0, 6, 3, 1, 4, 2, 0, 8});
    const std::string again = keywords + ", " + fitted(first);
    // Columns by name, in another order; means and codes of the first file; no target.
    const std::string bare = again + R"(, "with_targets": false)";
    const Samples second = read("b,extra,kind,a\n,9,v,5\n7,9,u,\n", bare);
    check_values(second.inputs, {2, 3}, {5, 1, 6, 2, 0, 7});
    CHECK(second.targets.sizes() == std::vector<int64_t>{2, 0});
    CHECK(second.fitted.dump() == first.fitted.dump());
    const Samples one = read("kind,y,b,a\nv,yes,1,2\n", again);
    check_values(one.targets, {1}, {1});
    CHECK(refused("b,kind,a\n1,v,2\n", again) ==
          " the file has no column 'y', the target: pass with_targets=false where there is none");
    CHECK(refused("b,kind,a\n1,w,2\n", bare) ==
          "2:3: column 'kind': 'w' is not one of the fitted values: 'u', 'v'");
    CHECK(refused("b,kind\n1,u\n", bare) ==
          " the file has no column 'a', which the inputs were fitted with");
    // By position: a file without the target, which was not the last.
    const Samples plain = read("1,0,3\n4,1,6\n", R"("targets": 1)");
    check_values(read("7,8\n", R"("with_targets": false, )" + fitted(plain)).inputs, {1, 2},
                 {7, 8});
    check_values(read("7,1,8\n", fitted(plain)).targets, {1}, {1});
    CHECK(refused("7,8,9,10\n", fitted(plain)) ==
          " the file has 4 columns, the one that was fitted has 3");
    // Words for missing values are missing where they were.
    const Samples trees = read("x,t\nelm,1\nNA,2\n", R"("categories": "auto", "missing": "nan")");
    CHECK(std::isnan(
        read("x,t\nNA,1\n", R"("missing": "nan", )" + fitted(trees)).inputs.item<double>()));
    CHECK(refused("a,kind,b,y\n1,u,,no\n",
                  R"("missing": "mean", )" +
                      fitted(read("a,kind,b,y\n1,u,2,no\n", R"("categories": "kind")"))) ==
          " missing=\"mean\" needs the mean of column 'a', which `fitted` does not have: fit with "
          "missing=\"mean\", too");
  }

  TEST_CASE("data.csv reads the part of each row from a column") {
    const Samples samples =
        read("x,y,set\n1,2,train\n3,4,val\n5,6,test\n7,8,0\n", R"("part": "set", "targets": "y")");
    check_values(samples.parts, {4}, {0, 1, 2, 0});
    check_values(samples.inputs, {4, 1}, {1, 3, 5, 7});
    CHECK(refused("x,y,set\n1,2,later\n", R"("part": "set", "targets": "y")") ==
          "2:5: column 'set': 'later' is not a part; train, validation and test are");
  }

  TEST_CASE("data.csv finds the delimiter and the header, or takes those that are stated") {
    for (const char delimiter : {',', ';', '\t', '|'}) {
      std::string text = "a,b,y\n1,2,3\n4,5,6\n";
      for (char& c : text) c = c == ',' ? delimiter : c;
      check_values(read(text).inputs, {2, 2}, {1, 2, 4, 5});
    }
    check_values(read("1,5;2,5;1\n3;4;2\n", R"("decimal": ",")").inputs, {2, 2}, {1.5, 2.5, 3, 4});
    check_values(read("\"a,b\";c\n1;2\n").inputs, {1, 1}, {1});
    check_values(read("1 2\n", R"("delimiter": " ")").inputs, {1, 1}, {1});
    check_values(read("1,2\n3,4\n").inputs, {2, 1}, {1, 3});
    check_values(read("1,2\n3,4\n", R"("header": true)").inputs, {1, 1}, {3});
    check_values(read("u,v\nw,x\n", R"("header": false, "categories": "auto")").inputs, {2, 1},
                 {0, 1});
    CHECK(refused("0,1,2\n5,6,7\n") ==
          "1: the first row is 0, 1, 2, ...: pass header=true if these are names, header=false if "
          "they are values");
    check_values(read("0,1,2\n5,6,7\n", R"("header": true)").inputs, {1, 2}, {5, 6});
  }

  TEST_CASE("data.csv says where and why it refuses") {
    CHECK(refused("a,b,y\n1,2,3\n4,x,6\n") == "3:3: column 'b': 'x' is not a number");
    CHECK(refused("a,y\nx,1\n") ==
          "2:1: column 'a': 'x' is not a number: name the column in categories to code its values, "
          "or in drop to leave it out");
    CHECK(refused("a,y\n1,yes\n2,3\n") ==
          "3:3: column 'y': '3' is a number, where text was read before: name the column in "
          "categories to code all its values");
    CHECK(refused("a,y\n1,2\n,4\n") ==
          "3:1: column 'a': the cell is empty; pass missing=\"nan\", \"mean\" or a number to read "
          "it, or drop the column");
    CHECK(refused("a,y\n1,2\nNaN,4\n") ==
          "3:1: column 'a': 'NaN' is not a number; pass missing=\"nan\", \"mean\" or a number to "
          "read it, or drop the column");
    CHECK(refused("a,y\n1,2\n3,\n", R"("missing": "nan")") ==
          "3:3: column 'y': the cell is empty: every row needs its target");
    CHECK(refused("a,y\n1,2\n-inf,4\n") ==
          "3:1: column 'a': '-inf' is not finite; say check_finite=false to read it");
    CHECK(read("a,y\n1,2\n-inf,4\n", R"("check_finite": false)").inputs.to_vector<double>()[1] ==
          -std::numeric_limits<double>::infinity());
    CHECK(refused("a,y\n1e39,2\n") == "2:1: column 'a': '1e39' is beyond the range of f32");
    check_values(read("a,y\n1e39,2\n", R"("dtype": "f64")").inputs, {1, 1}, {1e39});
    CHECK(refused("a;y\n1,5;2\n") ==
          "2:1: column 'a': '1,5' is not a number; if its comma is the decimal point, pass "
          "decimal=','");
    CHECK(refused("a,y\n,u\n,v\n", R"("missing": "mean")") ==
          " column 'a' has no values to take the mean of: drop it");
    CHECK(
        refused("a,y\n,1\nx,2\n", R"("missing": "mean", "categories": "auto")") ==
        "2:1: column 'a': the cell has no value, and text has no mean and no number in its place; "
        "pass missing=\"nan\", or drop the column");
    CHECK(refused("a,y\n1,2,3\n") ==
          "2: the row has 3 columns, the header names 2: give the header one name for each column");
    CHECK(refused("a,y,z\n1,2\n") ==
          "2: the row has 2 columns, the header names 3: give the header one name for each column");
    CHECK(refused("a,a\n1,2\n") ==
          "1:3: the header has the name 'a' twice, for column 0 and column 1: rename one");
    CHECK(refused("a,y\n") == " no row is below the header");
    CHECK(refused("") == " the file is empty, expected rows");
    CHECK(refused("y\n1\n") ==
          " no column is left for the inputs: the file has one column; check its delimiter");
    CHECK(refused("a,y\n1,caf\xe9\n") == "2:3: 'caf?' is not UTF-8: convert the file to UTF-8");
    CHECK(refused("a\xff,y\n1,2\n") == "1: 'a?' is not UTF-8: convert the file to UTF-8");
  }

  TEST_CASE("data.csv says which keyword does not fit the file") {
    const std::string text = "width,height,y\n1,2,3\n";
    CHECK(refused(text, R"("targets": "heigth")") ==
          " targets names the column 'heigth', which the header does not have (did you mean "
          "'height'?)");
    CHECK(refused("1,2\n", R"("drop": "a")") ==
          " drop names the column 'a', the file has no header: give its position");
    CHECK(refused(text, R"("targets": 3)") ==
          " targets names column 3, the file has columns 0 to 2 (-1 is the last)");
    CHECK(refused(text, R"("targets": ["y", -1])") == " targets names column 'y' twice");
    CHECK(refused(text, R"("inputs": ["y"])") ==
          " column 'y' is named for two uses: inputs, targets or part");
    CHECK(refused(text, R"("drop": ["y"])") == " column 'y' is named in drop and for another use");
    CHECK(refused(text, R"("drop": "width", "categories": "width")") ==
          " categories names column 'width', which is not read");
    CHECK(refused(text, R"("missing": "zero")") ==
          "missing must be \"error\", \"nan\", \"mean\" or a number, got 'zero'");
    CHECK(refused(text, R"("delimiter": "::")") == "delimiter must be one character, got '::'");
    CHECK(refused(text, R"("delimiter": "1")") == " the delimiter '1' cannot separate numbers");
    CHECK(refused(text, R"("targets": 1.5)").find("must be the name of a column") !=
          std::string::npos);
    CHECK(refused(text, R"("dtype": "i64")") == "dtype must be f32 or f64");
  }

  TEST_CASE("data.csv reads 65536 columns at most, with and without a header") {
    std::string row = "1";
    for (int i = 0; i < 65536; ++i) row += ",1";
    const std::string problem =
        "1: the row has 65537 columns, at most 65536 are read: split the table, or write it as a "
        ".npy file";
    CHECK(refused(row + "\n") == problem);
    CHECK(refused(row + "\n", R"("header": true)") == problem);
    row.resize(row.size() - 2);
    CHECK(read(row + "\n").inputs.sizes() == std::vector<int64_t>{1, 65535});
  }

  TEST_CASE("data.csv codes many values of text, but not as many as could fill the memory") {
    const auto table = [](int rows) {
      std::string text = "a,y\n";
      for (int i = 0; i < rows; ++i) text += "v" + std::to_string(i) + ",1\n";
      return text;
    };
    const Samples samples = read(table(10000), R"("categories": "a")");
    CHECK(samples.fitted["inputs"][0]["categories"].size() == 10000);
    const std::string problem = refused(table(100000), R"("categories": "a")");
    CHECK(problem.find("column 'a': ") != std::string::npos);
    CHECK(problem.find(" different values of text take more memory than is allowed for a file of "
                       "888894 bytes: drop columns of text") != std::string::npos);
  }

  TEST_CASE("data.csv writes any names and values into what was fitted") {
    const Samples samples = read("\"a\"\"b\\\",\"\xc3\xa4, c\",\n1,\"x\ny\",2\n3,z,4\n",
                                 R"("header": true, "categories": [1], "missing": "mean")");
    const tenon::Json inputs = samples.fitted["inputs"];
    CHECK(inputs[0]["column"].text() == "a\"b\\");
    CHECK(inputs[0]["mean"].number() == 2);
    CHECK(inputs[1]["column"].text() == "\xc3\xa4, c");
    CHECK(inputs[1]["categories"][0].text() == "x\ny");
    CHECK(inputs[1]["categories"][1].text() == "z");
    CHECK(samples.fitted["targets"][0]["column"].integer() == 2);  // it has no name
  }

  TEST_CASE("data.csv reads past a long cell of a column that is dropped") {
    std::string quotes(3 << 20, '"');  // a cell of as many quotes, each written twice
    const std::string text = "a,b,y\n1,\"" + quotes + "\",3\n4,\"say \"\"b\"\"\",6\n";
    const Samples samples = read(text, R"("drop": "b")");
    check_values(samples.inputs, {2, 1}, {1, 4});
    check_values(samples.targets, {2}, {3, 6});
    CHECK(refused(text, R"("categories": "b")").find("a cell with quotes in it has more than") !=
          std::string::npos);
  }

  TEST_CASE("data.csv codes wide tables of text in a small file") {
    std::string text;
    constexpr int columns = 200, rows = 250;
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column)
        text += "v" + std::to_string(row * columns + column) + ",";
      text += "1\n";
    }
    const Samples samples = read(text, R"("header": false, "categories": "auto")");
    CHECK(samples.inputs.sizes() == std::vector<int64_t>{rows, columns});
    CHECK(samples.fitted["inputs"][0]["categories"].size() == rows);
  }

  TEST_CASE("data.csv takes one column for the parts") {
    CHECK(refused("x,y,a,b\n1,2,train,test\n", R"("part": ["a", "b"], "targets": "y")") ==
          " part names 2 columns: name one");
    const Samples first = read("x,y,a,b\n1,2,train,test\n", R"("inputs": "x", "targets": "y")");
    CHECK(refused("x,y,a,b\n1,2,train,test\n", fitted(first) + R"(, "part": ["a", "b"])") ==
          " part names 2 columns: name one");
    // A text to predict from has none.
    CHECK(read("x,y\n1,2\n", fitted(first) + R"(, "part": "a")").parts.numel() == 0);
  }

  TEST_CASE("data.csv predicts where the position of the part is that of an input") {
    const Samples last = read("x0,x1,y,part\n1,2,3,train\n",
                              R"("inputs": ["x0", "x1"], "targets": "y", "part": -1)");
    const Samples from_last =
        read("x0,x1\n4,5\n", fitted(last) + R"(, "with_targets": false, "part": -1)");
    check_values(from_last.inputs, {1, 2}, {4, 5});
    CHECK(from_last.parts.numel() == 0);
    const Samples middle =
        read("7,0,1,2\n8,1,3,4\n", R"("header": false, "targets": 0, "part": 1, "inputs": [2, 3])");
    const Samples from_middle =
        read("0,5,6\n", fitted(middle) + R"(, "header": false, "with_targets": false, "part": 1)");
    check_values(from_middle.inputs, {1, 2}, {5, 6});
    CHECK(from_middle.parts.numel() == 0);
  }

  TEST_CASE("data.csv reads gzipped files and refuses broken ones") {
    // printf 'a,y\n1,2\n3,4\n' | gzip -n, twice.
    const std::string one(
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xd4\xa9\xe4\x32\xd4\x31\xe2\x32\xd6\x31\xe1"
        "\x02\x00\xfa\x93\x98\x11\x0c\x00\x00\x00",
        32);
    check_values(read(one).inputs, {2, 1}, {1, 3});
    CHECK(refused(one + one) ==
          "4:1: column 'a': 'a' is not a number; the row repeats the name of the column: remove "
          "it");  // one file after another
    CHECK(refused(one.substr(0, 20)) == " the file ends in its compressed data");
    CHECK(refused(one + "x") == " other data follows the compressed data");
    std::string wrong = one;
    wrong[25] = '\0';
    CHECK(refused(wrong) == " the compressed data is broken: incorrect data check");
  }

  TEST_CASE("what is written in any dialect is read as it was") {
    const tenon::Draws draws{5, 0};
    int64_t drawn = 0;
    const auto below = [&](uint64_t n) { return draws.bits(drawn++) % n; };
    const auto chance = [&](uint64_t n) { return below(n) == 0; };
    const std::vector<std::string> words = {"elm",    "o\"ak\"",      "fir\nred", "yew; old", "a,b",
                                            "x|y\tz", "\xc3\xa4sche", "nut\r\n2", "  ",       "q"};
    for (int round = 0; round < 300; ++round) {
      CAPTURE(round);
      const auto rows = static_cast<int64_t>(1 + below(30));
      const auto columns = static_cast<int64_t>(2 + below(6));
      const char delimiter = ",;\t|"[below(4)];
      const char point = delimiter != ',' && chance(3) ? ',' : '.';
      const std::string end = chance(2) ? "\r\n" : "\n";
      const bool header = chance(2), missing = chance(2);
      std::vector<bool> text(static_cast<size_t>(columns));
      for (size_t c = 1; c < text.size(); ++c) text[c] = chance(3);
      const auto write = [&](const std::string& cell) {
        const bool special = cell.find_first_of("\"\n\r,;\t| ") != std::string::npos;
        if (!special && !chance(6)) return std::string(below(2), ' ') + cell;
        std::string quoted = "\"";
        for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
        return quoted + "\"" + std::string(below(2), ' ');
      };
      std::string file = chance(4) ? "\xef\xbb\xbf" : "", categories;
      const auto add = [&](int64_t column, const std::string& cell) {
        file += write(cell) + (column + 1 == columns ? end : std::string(1, delimiter));
      };
      if (header) {
        for (int64_t c = 0; c < columns; ++c) add(c, "c\"" + std::to_string(c));
      }
      std::vector<double> expected;
      std::vector<std::string> texts;  // "" for numbers
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          double value = 0;
          std::string cell;
          if (text[static_cast<size_t>(c)]) {
            cell = words[below(words.size())];
            texts.push_back(cell);
          } else if (missing && c != 0 && c + 1 != columns && chance(5)) {
            value = std::numeric_limits<double>::quiet_NaN();
            texts.emplace_back();
          } else {
            char number[40];
            const double magnitude = std::exp2(static_cast<double>(below(60)) - 30);
            value = static_cast<double>(
                static_cast<float>((static_cast<double>(below(2000001)) - 1e6) * magnitude));
            std::snprintf(number, sizeof(number), chance(2) ? "%.9g" : "%.12f", value);
            value = static_cast<double>(std::strtof(number, nullptr));
            cell = number;
            for (char& character : cell) character = character == '.' ? point : character;
            texts.emplace_back();
          }
          expected.push_back(value);
          add(c, cell);
        }
      }
      for (int64_t c = 0; c < columns; ++c) {
        if (!text[static_cast<size_t>(c)]) continue;
        std::set<std::string> values;
        for (int64_t r = 0; r < rows; ++r)
          values.insert(texts[static_cast<size_t>(r * columns + c)]);
        for (int64_t r = 0; r < rows; ++r) {
          const auto i = static_cast<size_t>(r * columns + c);
          expected[i] = static_cast<double>(std::distance(values.begin(), values.find(texts[i])));
        }
        categories += (categories.empty() ? "" : ", ") + std::to_string(c);
      }
      std::string keywords = R"("targets": [], "categories": [)" + categories + "]";
      if (missing) keywords += R"(, "missing": "nan")";
      if (point == ',') keywords += R"(, "decimal": ",")";
      if (chance(2)) keywords += R"(, "header": )" + std::string(header ? "true" : "false");
      if (chance(2)) {
        keywords += R"(, "delimiter": ")" +
                    (delimiter == '\t' ? std::string("\\t") : std::string(1, delimiter)) + "\"";
      }
      CAPTURE(file);
      CAPTURE(keywords);
      const Samples samples = read(file, keywords);
      REQUIRE(samples.inputs.sizes() == std::vector<int64_t>{rows, columns});
      check_close(samples.inputs.to_vector<double>(), expected, 0);
    }
  }
}
