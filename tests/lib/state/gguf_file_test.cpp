// GGUF files: what comes back of numbers and blocks, and hostile headers.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/state/gguf_file.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using tenon_test::TemporaryFolder;
using Sizes = std::vector<int64_t>;

namespace {

template <class Number>
std::string bytes(Number number) {
  std::string text(sizeof number, '\0');
  std::memcpy(text.data(), &number, sizeof number);
  return text;
}
std::string text(const std::string& value) { return bytes(uint64_t{value.size()}) + value; }
std::string floats(const std::vector<float>& values) {
  std::string data;
  for (const float value : values) data += bytes(value);
  return data;
}

// Sizes as the file has them, the fastest dimension first; offsets from the begin of the data.
struct Entry {
  std::string name;
  Sizes shape;
  uint32_t type;
  int64_t offset;
};
std::string file_of(const std::vector<Entry>& entries, const std::string& data,
                    const std::string& pairs = "", uint64_t pair_count = 0, uint32_t version = 3) {
  std::string file = "GGUF" + bytes(version) + bytes(uint64_t{entries.size()}) + bytes(pair_count);
  file += pairs;
  for (const Entry& entry : entries) {
    file += text(entry.name) + bytes(static_cast<uint32_t>(entry.shape.size()));
    for (const int64_t size : entry.shape) file += bytes(size);
    file += bytes(entry.type) + bytes(entry.offset);
  }
  file.resize((file.size() + 31) / 32 * 32);
  return file + data;
}
std::string padded(std::string data) {
  data.resize((data.size() + 31) / 32 * 32);
  return data;
}

class File {
 public:
  explicit File(const std::string& contents) { tenon_test::put_bytes(path(), contents); }
  std::string path() const { return folder_ / "x.gguf"; }
  std::string fault() const {
    try {
      state::load_gguf(path());
    } catch (const Error& error) {
      const std::string begin = "'" + path() + "' is not a GGUF file that can be read: ";
      REQUIRE(std::string(error.what()).substr(0, begin.size()) == begin);
      return std::string(error.what()).substr(begin.size());
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

constexpr uint32_t kF32 = 0, kQ4 = 2, kQ8 = 8, kQ6 = 14;

}  // namespace

TEST_SUITE("state/gguf_file") {
  TEST_CASE("numbers come back with the sizes of other formats, and pairs are skipped") {
    const std::string pairs =
        text("general.name") + bytes(uint32_t{8}) + text("tiny") + text("tokens") +
        bytes(uint32_t{9}) + bytes(uint32_t{8}) + bytes(uint64_t{2}) + text("a") + text("bc") +
        text("ids") + bytes(uint32_t{9}) + bytes(uint32_t{5}) + bytes(uint64_t{2}) +
        bytes(int32_t{1}) + bytes(int32_t{2}) + text("flag") + bytes(uint32_t{7}) + '\1';
    const File file(file_of({{"weight", {3, 2}, kF32, 0}, {"bias", {2}, kF32, 32}},
                            padded(floats({1, 2, 3, 4, 5, 6})) + floats({7, 8}), pairs, 4));
    const state::NamedTensors tensors = state::load_gguf(file.path());
    REQUIRE(tensors.size() == 2);
    CHECK(tensors[0].first == "weight");
    CHECK(tensors[0].second.sizes() == Sizes{2, 3});
    CHECK(tensors[0].second.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(state::load_gguf(file.path(), {"bias"})[0].second.to_vector<float>() ==
          std::vector<float>{7, 8});
    CHECK_THROWS_AS(state::load_gguf(file.path(), {"none"}), ValueError);
    const Module linear = Module::create("Linear", arg("in_features") = 3, arg("out_features") = 2);
    state::load(linear, file.path());
    CHECK(linear.tensor("bias").detach().to_vector<float>() == std::vector<float>{7, 8});
  }

  TEST_CASE("blocks of q8_0 and q4_0 become the numbers that they stand for") {
    const std::string half = bytes(uint16_t{0x3800});  // 0.5
    std::string eight = half, four = half;
    for (int i = 0; i < 32; ++i) eight += static_cast<char>(i - 16);
    for (int i = 0; i < 16; ++i) four += static_cast<char>(i | (15 - i) << 4);
    const File file(
        file_of({{"q8", {32}, kQ8, 0}, {"q4", {32, 1}, kQ4, 64}}, padded(eight) + four));
    const state::NamedTensors tensors = state::load_gguf(file.path());
    std::vector<float> expected_eight, expected_four;
    for (int i = 0; i < 32; ++i) {
      expected_eight.push_back(0.5F * static_cast<float>(i - 16));
      expected_four.push_back(0.5F * static_cast<float>(i < 16 ? i - 8 : 23 - i));
    }
    CHECK(tensors[0].second.to_vector<float>() == expected_eight);
    CHECK(tensors[1].second.to_vector<float>() == expected_four);
    CHECK(tensors[1].second.sizes() == Sizes{1, 32});
  }

  TEST_CASE("a tensor in other blocks leaves the others readable") {
    const File file(file_of({{"a", {256}, kQ6, 0}, {"b", {1}, kF32, 256}},
                            std::string(256, 'x') + floats({3})));
    CHECK(file.fault() == "tensor 'a' is in blocks of kind 14; numbers, q8_0 and q4_0 are read");
    CHECK(state::load_gguf(file.path(), {"b"})[0].second.to_vector<float>() ==
          std::vector<float>{3});
  }

  TEST_CASE("a module loads what is not in other blocks, and names its tensor that is") {
    const std::string stored = std::string(256, 'x') + padded(floats({1, 2})) + floats({3, 4});
    const auto file_with = [&](const char* first) {
      return file_of(
          {{first, {256}, kQ6, 0}, {"weight", {1, 2}, kF32, 256}, {"bias", {2}, kF32, 288}},
          stored);
    };
    const File other(file_with("head.weight")), own(file_with("l.weight"));
    const Module linear = Module::create("Linear", arg("in_features") = 1, arg("out_features") = 2);
    const state::LoadReport report = state::load(linear, other.path(), false);
    CHECK(report.unexpected == std::vector<std::string>{"head.weight"});
    CHECK(linear.tensor("bias").detach().to_vector<float>() == std::vector<float>{3, 4});
    const auto refused = [&](const File& file, const char* prefix) -> std::string {
      try {
        state::load(linear, file.path(), true, false, prefix);
      } catch (const ValueError& error) {
        return error.what();
      }
      return "";
    };
    CHECK(refused(other, "").find("tensor 'head.weight' is in blocks of kind 14") !=
          std::string::npos);
    CHECK(refused(own, "l.").find("tensor 'l.weight' is in blocks of kind 14") !=
          std::string::npos);
  }

  TEST_CASE("a tensor behind 5 GiB is read from its place, one without elements is empty") {
    constexpr int64_t far = int64_t{5} << 30;
    const std::string header =
        file_of({{"none", {0, 4}, kF32, 0}, {"far", {1}, kF32, far}}, std::string());
    const File file(header);
    std::filesystem::resize_file(
        file.path(), header.size() + static_cast<size_t>(far));  // takes no room on the disk
    std::ofstream(file.path(), std::ios::binary | std::ios::app) << floats({7});
    const state::NamedTensors tensors = state::load_gguf(file.path());
    CHECK(tensors[0].second.sizes() == Sizes{4, 0});
    CHECK(tensors[1].second.to_vector<float>() == std::vector<float>{7});
  }

  TEST_CASE("headers that cannot be right are refused") {
    const std::string four = floats({1});
    const auto fault = [&](const std::vector<Entry>& entries) {
      return File(file_of(entries, four)).fault();
    };
    CHECK(fault({{"a", {1}, kF32, 0}}) == "");
    CHECK(fault({{"a", {2}, kF32, 0}}) == "it ends in tensor 'a'");
    CHECK(fault({{"a", {1}, kF32, 4}}) == "tensor 'a' is not aligned to 32 bytes");
    CHECK(fault({{"a", {-1}, kF32, 0}}) == "tensor 'a' has a negative size");
    CHECK(fault({{"a", {INT64_MAX, 4}, kF32, 0}}) ==
          "tensor 'a' has sizes or an offset beyond any file");
    CHECK(fault({{"a", {1}, kF32, -32}}) == "tensor 'a' has sizes or an offset beyond any file");
    CHECK(fault({{"a", {31}, kQ8, 0}}) ==
          "tensor 'a' has rows of 31 elements, not whole blocks of 32");
    CHECK(fault({{"a", {1}, kF32, 0}, {"a", {1}, kF32, 0}}) == "two tensors have the name 'a'");
    CHECK(fault({{"a", {1}, kF32, 0}, {"b", {1}, kF32, 0}}) ==
          "tensors 'a' and 'b' share bytes of the file");
    CHECK(fault({{"a", Sizes(17, 1), kF32, 0}}) == "tensor 'a' has 17 dimensions");
    CHECK(File(file_of({}, "", "", 0, 1)).fault() == "version 1 is not read; 2 and 3 are");
    CHECK(File("GGML").fault() == "it does not begin with GGUF");
    CHECK(File(file_of({}, "", "", UINT64_MAX)).fault() == "it ends in its header");
    CHECK(File("GGUF" + bytes(uint32_t{3}) + bytes(UINT64_MAX) + bytes(uint64_t{0}))
              .fault()
              .find("it says that it has ") == 0);
    const std::string whole = file_of({{"a", {1}, kF32, 0}}, four);
    for (size_t i = 0; i < whole.size(); ++i)
      CHECK_THROWS_AS(state::load_gguf(File(whole.substr(0, i)).path()), IOError);
  }
}
