// Reports about files that are read wrongly, or are lost.
#include <cstring>

#include <tenon/configure.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>

#include "support.hpp"

using namespace reports;

namespace {

std::string tensor_file(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

using Csv = std::tuple<Tensor, Tensor, Tensor, std::string>;

// `keywords` as a config writes them.
Csv read_csv(const std::string& text, const std::string& keywords = "") {
  const TemporaryFolder folder;
  const std::string path = write(folder / "a.csv", text);
  return configure(Json::parse(R"({"op": "data.csv")" + keywords + "}")).call<Csv>(path);
}
Numbers inputs_of(const std::string& text, const std::string& keywords = "") {
  return numbers(std::get<0>(read_csv(text, keywords)));
}

}  // namespace

TEST_SUITE("reports: files") {
  TEST_CASE(
      "safetensors: bytes behind the last tensor, and a file cut short, are refused by name") {
    const TemporaryFolder folder;
    const std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
    const std::string longer = write(folder / "a", tensor_file(header, "xyz"));
    CHECK(contains(refusal([&] { state::load_tensors(longer); }),
                   "the header describes 2 bytes of data, the file has 3"));
    const std::string shorter = write(folder / "b", tensor_file(header, "x"));
    CHECK(contains(refusal([&] { state::load_tensors(shorter); }), "the file has 1"));
    const std::string other = write(folder / "c", "PK\3\4 a zip file, not this format");
    CHECK(contains(refusal([&] { state::load_tensors(other); }), "is not a valid tensor file"));
  }

  TEST_CASE(
      "safetensors: offsets that overlap, leave a gap, run backward or do not fit are refused") {
    const TemporaryFolder folder;
    const auto fault = [&](const std::string& entries) {
      const std::string path =
          write(folder / "a", tensor_file("{" + entries + "}", "0123456789abcdef"));
      return refusal([&] { state::load_tensors(path); });
    };
    const auto entry = [](const char* name, const char* shape, const char* offsets) {
      return std::string("\"") + name + R"(":{"dtype":"F32","shape":)" + shape +
             R"(,"data_offsets":)" + offsets + "}";
    };
    CHECK(fault(entry("a", "[2]", "[0,8]") + "," + entry("b", "[2]", "[8,16]")) == "no error");
    CHECK(contains(fault(entry("a", "[2]", "[0,8]") + "," + entry("b", "[2]", "[0,8]")), "'b'"));
    CHECK(contains(fault(entry("a", "[1]", "[0,4]") + "," + entry("b", "[2]", "[8,16]")), "'b'"));
    CHECK(contains(fault(entry("a", "[1000,1000]", "[0,16]")), "[1000, 1000]"));
    CHECK(contains(fault(entry("a", "[4294967296,4294967296]", "[0,16]")), "'a'"));
    for (const char* offsets : {"[16,0]", "[-16,0]", "[0,16,16]", "[0]", "[0.5,16]", "16"})
      CHECK(contains(fault(entry("a", "[4]", offsets)), "'a'"));
    CHECK(contains(fault(entry("a", "[4.5]", "[0,16]")), "'a'"));
    const std::string list = write(folder / "b", tensor_file("[1, 2]", ""));
    CHECK(contains(refusal([&] { state::load_tensors(list); }), "it must be an object"));
  }

  TEST_CASE("safetensors: tensors that are not contiguous, or share memory, are stored as values") {
    const TemporaryFolder folder;
    const std::string path = folder / "a";
    const Tensor base = row({1, 2, 3, 4, 5, 6}).reshape({2, 3});
    state::save_tensors(path, {{"t", base.t()}, {"part", base.select(0, 1)}, {"base", base}});
    for (const auto& [name, tensor] : state::load_tensors(path)) {
      if (name == "t") CHECK(numbers(tensor) == Numbers{1, 4, 2, 5, 3, 6});
      if (name == "part") CHECK(numbers(tensor) == Numbers{4, 5, 6});
    }
  }

  TEST_CASE("safetensors: mapped tensors keep their values when their file is written again") {
    const TemporaryFolder folder;
    const std::string path = folder / "a";
    state::save_tensors(path, {{"a", row({1, 2, 3})}});
    const state::NamedTensors mapped = state::map_tensors(path);
    Json metadata = JsonObject().set("note", "again").json();
    state::save_tensors(path, mapped, metadata);
    CHECK(numbers(mapped[0].second) == Numbers{1, 2, 3});
    CHECK(numbers(state::load_tensors(path)[0].second) == Numbers{1, 2, 3});
    CHECK(state::metadata(path)["note"].text() == "again");
  }

  TEST_CASE("safetensors: a file without metadata, or with empty ones, is read") {
    const TemporaryFolder folder;
    for (const char* const metadata : {"", R"("__metadata__":{},)"}) {
      const std::string path = write(
          folder / "a", tensor_file("{" + std::string(metadata) +
                                        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                    "\5"));
      CHECK(numbers(state::load_tensors(path)[0].second) == Numbers{5});
      CHECK(state::metadata(path).size() == 0);
    }
  }

  TEST_CASE("CSV: a byte order mark before a quoted cell with delimiters and line ends") {
    const std::string mark = "\xef\xbb\xbf";
    for (const std::string& start : {std::string(), mark}) {
      const auto [inputs, targets, parts, fitted] =
          read_csv(start + "\"a,b\",\"c\nd\",y\n1,2,3\n4,5,6\n");
      CHECK(numbers(inputs) == Numbers{1, 2, 4, 5});
      CHECK(Json::parse(fitted)["inputs"][0]["column"].text() == "a,b");
      CHECK(Json::parse(fitted)["inputs"][1]["column"].text() == "c\nd");
    }
  }

  TEST_CASE("CSV: a CR or LF within quotes is part of its cell, whatever ends the lines") {
    for (const std::string end : {"\n", "\r\n", "\r"}) {
      for (const std::string inside : {"\r", "\r\n", end.c_str()}) {
        CAPTURE(end.size());
        const auto [inputs, targets, parts, fitted] =
            read_csv("a,b,y" + end + "\"p" + inside + "q\",2,3" + end + "r,5,6" + end,
                     R"(, "categories": ["a"])");
        CHECK(numbers(inputs) == Numbers{0, 2, 1, 5});
        CHECK(Json::parse(fitted)["inputs"][0]["categories"][0].text() == "p" + inside + "q");
      }
    }
  }

  TEST_CASE("CSV: line ends inside quotes do not hide the delimiter") {
    CHECK(inputs_of("\"a\nb\";c;y\n1;2;3\n4;5;6\n") == Numbers{1, 2, 4, 5});
    CHECK(inputs_of("\"a,b\";c;y\n1,5;2;3\n4;5;6\n", R"(, "decimal": ",")") ==
          Numbers{1.5, 2, 4, 5});
  }

  TEST_CASE("CSV: a value of another kind far down is refused at its place, not turned into NaN") {
    std::string text = "a,b,y\n";
    for (int i = 0; i < 2000; ++i) text += "1,2,3\n";
    text += "1,9a,3\n";
    CHECK(contains(refusal([&] { read_csv(text); }), ":2002:3: column 'b': '9a' is not a number"));
    CHECK(contains(refusal([&] { read_csv("a,b,y\n1,true,3\n"); }), "'true' is not a number"));
    CHECK(contains(refusal([&] { read_csv("a,b,y\n\n1,2,3\n"); }), "2: the line is blank"));
    CHECK(inputs_of("a,b,y\n 1.1 , 2\t,3\n") == Numbers{static_cast<float>(1.1), 2});
  }

  TEST_CASE("JSON: a key that is there twice, or is not known, is refused with its place") {
    CHECK(contains(refusal([] { Json::parse("{\"a\": 0,\n \"b\": 1,\n \"a\": 2}"); }),
                   "line 3, column 2: duplicate key 'a' (first at line 1, column 2)"));
    CHECK(contains(refusal([] { Json::parse("{\"a\": 0,}"); }), "a comma before '}'"));
  }
}
