// Headers of tensor files as texts: entries, metadata, and ranges that do not fit.
#include "core/tensor/file_header.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

FileHeader header(const std::string& text) {
  return FileHeader(std::make_shared<const std::string>(text));
}

std::string fault(const std::string& text, int64_t bytes = -1) {
  try {
    const FileHeader read = header(text);
    if (bytes >= 0) read.check_ranges(bytes);
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    return error.message;
  }
  return "";
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  int64_t begin, int64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

}  // namespace

TEST_SUITE("file_header") {
  TEST_CASE("every dtype that files know is written as it is read") {
    for (const FileDtype& known : kFileDtypes) {
      CHECK(dtype_file_text(known.dtype) == known.text);
      const FileHeader read = header("{" + entry("x", std::string(known.text), "[0]", 0, 0) + "}");
      CHECK(read.tensor(0).dtype == known.dtype);
    }
  }

  TEST_CASE("random headers are read back, in the order of their data") {
    std::mt19937 random(9);
    for (int round = 0; round < 100; ++round) {
      struct Expected {
        std::string name;
        std::vector<int64_t> shape;
        int64_t begin, end;
      };
      std::vector<Expected> expected;
      int64_t at = 0;
      for (size_t i = random() % 6; i > 0; --i) {
        Expected one{"t" + std::to_string(i), {}, at, at};
        int64_t count = 1;
        for (size_t d = random() % 4; d > 0; --d) {
          one.shape.push_back(static_cast<int64_t>(random() % 4));
          count *= one.shape.back();
        }
        at += 4 * count;
        one.end = at;
        expected.push_back(one);
      }
      std::vector<Expected> written = expected;
      std::shuffle(written.begin(), written.end(), random);
      std::string text = "{";
      for (const Expected& one : written) {
        std::string shape;
        for (const int64_t size : one.shape)
          shape += (shape.empty() ? "" : ",") + std::to_string(size);
        text += (text.size() == 1 ? "" : ",") +
                entry(one.name, "F32", "[" + shape + "]", one.begin, one.end);
      }
      const FileHeader read = header(text + "}");
      CHECK_NOTHROW(read.check_ranges(at));
      CHECK_THROWS_AS(read.check_ranges(at + 1), Error);
      REQUIRE(read.size() == expected.size());
      std::map<std::string, FileHeader::Tensor> found;
      int64_t last = 0;
      for (size_t i = 0; i < read.size(); ++i) {
        const FileHeader::Tensor tensor = read.tensor(i);
        CHECK(tensor.begin >= last);
        last = tensor.begin;
        found.emplace(tensor.name, tensor);
      }
      for (const Expected& one : expected) {
        REQUIRE(found.contains(one.name));
        const FileHeader::Tensor& tensor = found.at(one.name);
        CHECK(tensor.begin == one.begin);
        CHECK(tensor.end == one.end);
        const Shape shape = tensor.shape;
        CHECK(std::vector<int64_t>(shape.begin(), shape.end()) == one.shape);
      }
    }
  }

  TEST_CASE("metadata is found by key, and given in the order of the file") {
    FileHeader read = header(R"({"__metadata__":{"b":"1","a":"\u00e9\n","c":""}})");
    CHECK(read.size() == 0);
    const StoredMetadata metadata = read.take_metadata();
    CHECK(metadata.find("a") == "\u00e9\n");
    CHECK(metadata.find("c") == "");
    CHECK_FALSE(metadata.find("d").has_value());
    std::string keys;
    metadata.each([&](const std::string& key, const std::string&) { keys += key; });
    CHECK(keys == "bac");
    CHECK_FALSE(StoredMetadata().find("a").has_value());
  }

  TEST_CASE("gaps, overlaps and sizes that do not fit are each refused") {
    const auto two = [](int64_t begin, int64_t end) {
      return "{" + entry("a", "F32", "[2]", 0, 8) + "," + entry("b", "F32", "[1]", begin, end) +
             "}";
    };
    CHECK(fault(two(8, 12), 12) == "");
    CHECK(fault(two(12, 16), 16) != "");
    CHECK(fault(two(4, 8), 8) != "");
    CHECK(fault(two(8, 16), 16) != "");
    CHECK(fault(two(8, 4), 12) != "");
  }

  TEST_CASE("a name or a field that is there twice is refused") {
    CHECK(fault("{" + entry("a", "F32", "[0]", 0, 0) + "," + entry("a", "F32", "[0]", 0, 0) +
                "}") != "");
    CHECK(fault(R"({"__metadata__":{"a":"1","a":"2"}})") != "");
    CHECK(fault(R"({"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})") != "");
  }

  TEST_CASE("a text cut at any byte is refused") {
    const std::string text =
        R"({"__metadata__":{"k":"v"},)" + entry("a", "I64", "[1,2]", 0, 16) + "}";
    CHECK(fault(text, 16) == "");
    for (size_t size = 0; size < text.size(); ++size) CHECK(fault(text.substr(0, size)) != "");
  }
}
