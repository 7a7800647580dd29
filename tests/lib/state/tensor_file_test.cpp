// Tensor files: layout, round trips, and hostile files. Case names begin with the conformance id.
#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using state::load_tensors;
using state::map_tensors;
using state::NamedTensors;
using state::save_tensors;
using Values = std::vector<int64_t>;
namespace fs = std::filesystem;

namespace {

// Sanitizers slow a program down by up to this factor.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::clock_t kSeconds = 20;
#else
constexpr std::clock_t kSeconds = 1;
#endif

class File {
 public:
  std::string path() const { return folder_ / "a.safetensors"; }
  std::string bytes() const { return tenon_test::bytes_of(path()); }
  const File& write(std::string_view bytes) const {
    tenon_test::put_bytes(path(), bytes);
    return *this;
  }
  // The fault that reading reports, after the path.
  std::string fault() const {
    try {
      load_tensors(path());
    } catch (const ValueError& error) {
      const std::string message = error.what();
      const std::string begin = "'" + path() + "' is not a valid tensor file: ";
      REQUIRE(message.substr(0, begin.size()) == begin);
      return message.substr(begin.size());
    }
    return "";
  }

 private:
  tenon_test::TemporaryFolder folder_;
};

IntList list(const Values& values) {
  return IntList(values.data(), static_cast<int64_t>(values.size()));
}
// A tensor of these elements, as they are in memory.
template <class T>
Tensor raw(DType dtype, const Values& shape, std::initializer_list<T> elements) {
  Tensor tensor = empty_tensor(list(shape), dtype);
  std::copy(elements.begin(), elements.end(),
            static_cast<T*>(tenon_tensor_get_view(tensor.handle())->data));
  return tensor;
}
template <class T>
const T* elements_of(const Tensor& tensor) {
  return static_cast<const T*>(tenon_tensor_get_view(tensor.handle())->data);
}
Tensor at(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  FAIL("there is no tensor " << name);
  return {};
}
Json object(const std::vector<std::pair<std::string, std::string>>& pairs) {
  JsonObject made;
  for (const auto& [key, value] : pairs) made.set(key, value);
  return made.json();
}

std::string length_field(uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data = "") {
  return length_field(header.size()) + header + data;
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

std::string save_fault(const NamedTensors& tensors, const Json& metadata = {}) {
  const File file;
  try {
    save_tensors(file.path(), tensors, metadata);
  } catch (const ValueError& error) {
    CHECK_FALSE(fs::exists(file.path()));
    const std::string message = error.what();
    return message.substr(message.find("': ") + 3);
  }
  return "";
}

// How much refusing a file adds to the peak of memory, measured in a separate process; LONG_MAX where it
// is loaded.
long kilobytes_to_refuse(const File& file) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    bool loaded = true;
    try {
      load_tensors(file.path());
    } catch (const Error&) {
      loaded = false;
    }
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    long kilobytes = 0;  // sanitizers use more memory
#else
    long kilobytes = after.ru_maxrss - before.ru_maxrss;
#endif
    if (loaded) kilobytes = LONG_MAX;
    _exit(write(ends[1], &kilobytes, sizeof(kilobytes)) == sizeof(kilobytes) ? 0 : 1);
  }
  close(ends[1]);
  long kilobytes = LONG_MAX;
  CHECK(read(ends[0], &kilobytes, sizeof(kilobytes)) == sizeof(kilobytes));
  close(ends[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return kilobytes;
}

}  // namespace

TEST_SUITE("state/tensor_file") {
  TEST_CASE("ST-01: byte layout of one tensor") {
    const File file;
    const Tensor tensor = raw<int32_t>(i32, {2, 2}, {0, 0, 0, 0});
    std::string header = R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})";
    header.resize(64, ' ');
    save_tensors(file.path(), NamedTensors{{"test", tensor}});
    CHECK(file.bytes() == length_field(0x40) + header + std::string(16, '\0'));

    const_cast<int32_t*>(elements_of<int32_t>(tensor))[3] = 1;
    save_tensors(file.path(), NamedTensors{{"test", tensor}});
    CHECK(file.bytes() ==
          length_field(0x40) + header + std::string(12, '\0') + std::string("\1\0\0\0", 4));
  }

  TEST_CASE("ST-03: empty file and metadata") {
    const File file;
    save_tensors(file.path(), {});
    CHECK(file.bytes() == length_field(8) + "{}      ");
    CHECK(load_tensors(file.path()).empty());

    save_tensors(file.path(), {}, object({{"framework", "pt"}}));
    CHECK(begins(file.bytes(), length_field(40) + R"({"__metadata__":{"framework":"pt"}})"));
    CHECK(state::metadata(file.path())["framework"].text() == "pt");

    save_tensors(file.path(), NamedTensors{{"a", raw<uint8_t>(u8, {1}, {7})}},
                 object({{"k", "\"\\\n\x01"}}));
    CHECK(begins(file.bytes().substr(8), R"({"__metadata__":{"k":"\"\\\u000a\u0001"},"a":)"));
    CHECK(state::metadata(file.path())["k"].text() == "\"\\\n\x01");

    CHECK(begins(file.write(file_of(R"({"__metadata__":{"a":1}})")).fault(),
                 "invalid header: the metadata 'a'"));
    CHECK(begins(file.write(file_of(R"({"__metadata__":"x"})")).fault(),
                 "invalid header: __metadata__"));
  }

  TEST_CASE("ST-04: minimal reads") {
    const File file;
    file.write(file_of(R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})",
                       std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16)));
    const Tensor square = at(load_tensors(file.path()), "test");
    CHECK(square.dtype() == i32);
    CHECK(square.to_vector<int32_t>() == std::vector<int32_t>{1, 2, 3, 4});

    file.write(file_of(R"({"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}})",
                       std::string("\5\0\0\0", 4)));
    const Tensor scalar = at(load_tensors(file.path()), "test");
    CHECK(scalar.dim() == 0);
    CHECK(scalar.item<int64_t>() == 5);

    file.write(file_of(R"({"test":{"dtype":"I32","shape":[2,0],"data_offsets":[0,0]}})"));
    const Tensor empty = at(load_tensors(file.path()), "test");
    CHECK(empty.numel() == 0);
    CHECK(empty.size(0) == 2);
  }

  TEST_CASE("ST-08: missing tensor and missing file") {
    const File file;
    save_tensors(file.path(), NamedTensors{{"weight", raw<float>(f32, {1}, {7})}});
    CHECK(load_tensors(file.path(), {"weight"}).size() == 1);
    for (const auto read : {load_tensors, map_tensors}) {
      CHECK_THROWS_WITH_AS(
          read(file.path(), {"weigth"}),
          ("'" + file.path() + "' holds no tensor 'weigth' (did you mean 'weight'?)").c_str(),
          ValueError);
      CHECK_THROWS_WITH_AS(read("/nowhere/a.safetensors", {}),
                           "cannot read '/nowhere/a.safetensors': No such file or directory",
                           IOError);
      CHECK_THROWS_WITH_AS(read("/tmp", {}), "cannot read '/tmp': Is a directory", IOError);
      CHECK_THROWS_WITH_AS(read("/dev/zero", {}),
                           "cannot read '/dev/zero': it is not a regular file", IOError);
    }
  }

  TEST_CASE("a pipe is refused at once") {
    const tenon_test::TemporaryFolder folder;
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    alarm(10);  // instead of hanging
    CHECK_THROWS_WITH_AS(
        load_tensors(folder / "pipe"),
        ("cannot read '" + (folder / "pipe") + "': it is not a regular file").c_str(), IOError);
    alarm(0);
  }

  TEST_CASE("tensors of every dtype and layout come back, wide ones first") {
    const File file;
    const Tensor matrix = raw<float>(f32, {2, 3}, {1, 2, 3, 4, 5, 6});
    const NamedTensors tensors = {
        {"bool", raw<bool>(boolean, {3}, {true, false, true})},
        {"u8", raw<uint8_t>(u8, {1}, {255})},
        {"transposed \xC3\xA4 \"x\"", alias_tensor(matrix, list({3, 2}), list({1, 3}), 0)},
        {"f64", raw<double>(f64, {}, {0.1})},
        {"f32", matrix},
        {"i8", raw<int8_t>(i8, {2}, {-1, 1})},
        {"i16", raw<int16_t>(i16, {1}, {-300})},
        {"i64", raw<int64_t>(i64, {1}, {INT64_MIN})},
        {"expanded", alias_tensor(matrix, list({2, 3}), list({0, 1}), 3)},
    };
    save_tensors(file.path(), tensors);
    const NamedTensors loaded = load_tensors(file.path());
    std::vector<std::string> names;
    for (const auto& entry : loaded) names.push_back(entry.first);
    CHECK(names == std::vector<std::string>{"f64", "i64", "transposed \xC3\xA4 \"x\"", "f32",
                                            "expanded", "i16", "bool", "u8", "i8"});
    CHECK(at(loaded, "transposed \xC3\xA4 \"x\"").to_vector<float>() ==
          std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(at(loaded, "expanded").to_vector<float>() == std::vector<float>{4, 5, 6, 4, 5, 6});
    CHECK(at(loaded, "bool").to_vector<bool>() == std::vector<bool>{true, false, true});
    CHECK(at(loaded, "f64").item<double>() == 0.1);
    CHECK(at(loaded, "i64").item<int64_t>() == INT64_MIN);
    CHECK(at(loaded, "i16").item<int64_t>() == -300);
  }

  TEST_CASE("f16, bf16 and unsigned integers have the names and bytes of the format") {
    const File file;
    save_tensors(file.path(), NamedTensors{
                                  {"a", raw<uint64_t>(u64, {1}, {UINT64_MAX})},
                                  {"b", raw<uint32_t>(u32, {1}, {UINT32_MAX})},
                                  {"c", raw<tenon_bf16>(bf16, {2}, {{0x3f80}, {0xff80}})},
                                  {"d", raw<tenon_f16>(f16, {1}, {{0x3c00}})},
                                  {"e", raw<uint16_t>(u16, {1}, {0x0102})},
                              });
    const std::string bytes = file.bytes();
    for (const char* part : {R"("a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]})",
                             R"("b":{"dtype":"U32","shape":[1],"data_offsets":[8,12]})",
                             R"("c":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]})",
                             R"("d":{"dtype":"F16","shape":[1],"data_offsets":[16,18]})",
                             R"("e":{"dtype":"U16","shape":[1],"data_offsets":[18,20]})"})
      CHECK_MESSAGE(bytes.find(part) != std::string::npos, part);
    CHECK(bytes.substr(bytes.size() - 8) == std::string("\x80\x3f\x80\xff\x00\x3c\x02\x01", 8));
    const NamedTensors loaded = load_tensors(file.path());
    CHECK(at(loaded, "a").to_vector<uint64_t>() == std::vector<uint64_t>{UINT64_MAX});
    CHECK(at(loaded, "c").dtype() == bf16);
    CHECK(contiguous_as(at(loaded, "c"), f32).to_vector<float>() ==
          std::vector<float>{1, -std::numeric_limits<float>::infinity()});
    CHECK(at(loaded, "d").item<double>() == 1);
  }

  TEST_CASE("c64 has a name in the format, c128 has none") {
    const File file;
    const Tensor parts = raw<float>(f32, {4}, {1, 2, 3, 4});
    const Values shape{2}, strides{1};
    save_tensors(file.path(),
                 NamedTensors{{"z", alias_tensor_as(parts, c64, list(shape), list(strides), 0)}});
    CHECK(file.bytes().find(R"("z":{"dtype":"C64","shape":[2],"data_offsets":[0,16]})") !=
          std::string::npos);
    const NamedTensors loaded = load_tensors(file.path());
    CHECK(at(loaded, "z").dtype() == c64);
    CHECK(elements_of<tenon_c64>(at(loaded, "z"))[1].imag == 4);
    CHECK(
        save_fault({{"wide", empty_tensor(list(shape), c128)}}) ==
        "the format has no c128, the dtype of tensor 'wide': save view_as_real() of it, or convert "
        "it to c64");
  }

  TEST_CASE("a mapped file is read where it is used, and never written") {
    const File file;
    save_tensors(file.path(), NamedTensors{{"a", raw<float>(f32, {2, 2}, {1, 2, 3, 4})},
                                           {"b", raw<int64_t>(i64, {1}, {9})},
                                           {"none", raw<float>(f32, {0}, {})}});
    const std::string bytes = file.bytes();
    Tensor kept;
    {
      const NamedTensors mapped = map_tensors(file.path());
      CHECK(at(mapped, "a").to_vector<float>() == std::vector<float>{1, 2, 3, 4});
      CHECK(at(mapped, "b").to_vector<int64_t>() == std::vector<int64_t>{9});
      CHECK(at(mapped, "none").numel() == 0);
      kept = at(mapped, "a");
    }
    const_cast<float*>(elements_of<float>(kept))[0] = 7;
    CHECK(kept.to_vector<float>() == std::vector<float>{7, 2, 3, 4});
    CHECK(file.bytes() == bytes);
    CHECK(at(map_tensors(file.path()), "a").to_vector<float>()[0] == 1);
    // A file that is replaced meanwhile is still the old one for its tensors.
    save_tensors(file.path(), NamedTensors{{"a", raw<float>(f32, {1}, {5})}});
    CHECK(kept.to_vector<float>() == std::vector<float>{7, 2, 3, 4});
  }

  TEST_CASE("tensors across the bounds of their elements are copied out of the mapping") {
    const File file;
    std::string header = R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("y":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
    file.write(file_of(header, std::string("\x07\x00\x00\x80\x3f", 5)));
    const NamedTensors mapped = map_tensors(file.path());
    CHECK(at(mapped, "y").to_vector<float>() == std::vector<float>{1});
    CHECK(reinterpret_cast<uintptr_t>(elements_of<float>(at(mapped, "y"))) % 4 == 0);
  }

  TEST_CASE("what cannot be saved is refused before the file is touched") {
    const Tensor tensor = raw<float>(f32, {1}, {1});
    CHECK(save_fault({{"a", tensor}, {"a", tensor}}) == "two tensors have the name 'a'");
    CHECK(save_fault({{"__metadata__", tensor}}) ==
          "the name '__metadata__' is reserved by the format");
    CHECK(begins(save_fault({{"\xFF", tensor}}), "a tensor's name is not valid UTF-8"));
    CHECK(save_fault({{"a", Tensor()}}) == "the tensor 'a' is undefined");
    const std::string most = save_fault({}, [] {
      JsonObject metadata;
      for (int i = 0; i < 32'769; ++i) metadata.set(std::to_string(i), "");
      return metadata.json();
    }());
    CHECK(most == "32769 pairs of metadata, at most 32768 are read back");
    const File file;
    CHECK_THROWS_WITH_AS(save_tensors(file.path(), {}, JsonObject().set("epoch", 3).json()),
                         "metadata 'epoch' must be a string, got 3", TypeError);
    CHECK_FALSE(fs::exists(file.path()));
  }

  TEST_CASE("as many tensors as are read are saved, more are refused before the file is touched") {
    const File file;
    constexpr size_t kMost = (16 << 20) / 640;  // without data
    NamedTensors tensors;
    for (size_t i = 0; i < kMost; ++i) tensors.push_back({std::to_string(i), empty_tensor({0})});
    save_tensors(file.path(), tensors);
    CHECK(load_tensors(file.path()).size() == kMost);
    const std::string before = file.bytes();
    tensors.push_back({"one more", empty_tensor({0})});
    CHECK_THROWS_WITH_AS(save_tensors(file.path(), tensors),
                         doctest::Contains("26215 tensors with 0 bytes of data, at most 26214 are "
                                           "read back; join small tensors into fewer"),
                         ValueError);
    CHECK(file.bytes() == before);
  }

  TEST_CASE("SEC-01: too short") {
    const File file;
    CHECK(begins(file.write("").fault(), "header too small"));
    CHECK(begins(file.write("1234567").fault(), "header too small"));
  }

  TEST_CASE("SEC-02: header length beyond the file") {
    const File file;
    CHECK(begins(file.write(length_field(60)).fault(), "invalid header length"));
    std::string valid = file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x");
    CHECK(file.write(valid).fault() == "");
    valid.replace(0, 8, length_field(1000));
    CHECK(begins(file.write(valid).fault(), "invalid header length"));
  }

  TEST_CASE("SEC-03: header length absurd") {
    const File file;
    for (const uint64_t length : {0xFFFFFF000000003CULL, ~0ULL, 1ULL << 63, 100'000'001ULL}) {
      const std::string fault = file.write(length_field(length) + "{}").fault();
      CHECK(begins(fault, "header too large: " + std::to_string(length) + " bytes"));
    }
    // The bound holds for writing too: no name this long could be read back.
    const std::string refused = save_fault({}, object({{"k", std::string(100'000'000, 'x')}}));
    CHECK(begins(refused, "its header would be too large"));
  }

  TEST_CASE("SEC-04: not UTF-8, not JSON") {
    const File file;
    CHECK(begins(file.write(file_of("\xFF")).fault(), "invalid header: it is invalid UTF-8"));
    CHECK(begins(file.write(file_of("{")).fault(), "invalid header: invalid JSON"));
    CHECK(begins(file.write(file_of("")).fault(), "invalid header"));
    for (const char* header :
         {"[]", "null", "3", "{} x", "{}{}", " {}", "{}\\0", "{\"a\":{},\"a\":{}}"}) {
      CHECK_MESSAGE(begins(file.write(file_of(header)).fault(), "invalid header"), header);
    }
    CHECK(begins(file.write(file_of(std::string("{}\0", 3))).fault(), "invalid header"));
    CHECK(begins(file.write(file_of(std::string(100000, '['))).fault(), "invalid header"));
    CHECK(file.write(file_of("{}  \n")).fault() == "");
  }

  TEST_CASE("SEC-05: overlapping offsets") {
    const File file;
    const auto header = [](int names, const std::string& entry) {
      std::string text = "{";
      for (int i = 0; i < names; ++i)
        text += (i == 0 ? "\"w" : ",\"w") + std::to_string(i) + "\":" + entry;
      return text + "}";
    };
    file.write(file_of(header(10, R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})"),
                       std::string(16, '\0')));
    CHECK(begins(file.fault(), "invalid offset of tensor 'w1'"));

    file.write(
        file_of(header(26'000, R"({"dtype":"F32","shape":[200,200],"data_offsets":[0,160000]})"),
                std::string(160000, '\0')));
    const std::clock_t start = std::clock();
    CHECK(begins(file.fault(), "invalid offset of tensor 'w1'"));
    CHECK((std::clock() - start) / CLOCKS_PER_SEC < kSeconds);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    CHECK(usage.ru_maxrss < int64_t{4} << 20);  // in KiB

    // Gaps and ranges that run backwards are refused, too.
    CHECK(
        begins(file.write(file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xx"))
                   .fault(),
               "invalid offset of tensor 'a'"));
    CHECK(begins(
        file.write(file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,-1]}})")).fault(),
        "invalid header of tensor 'a'"));
    file.write(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                       R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,1]}})",
                       "xx"));
    CHECK(begins(file.fault(), "invalid offset of tensor 'b'"));
  }

  TEST_CASE("SEC-07: range and size disagree, dtype unknown, field missing") {
    const File file;
    const auto fault = [&](const std::string& entry, const std::string& data = "0123") {
      return file.write(file_of("{\"a\":" + entry + "}", data)).fault();
    };
    CHECK(fault(R"({"dtype":"I32","shape":[2,2],"data_offsets":[0,4]})") ==
          "invalid info of tensor 'a': I32 of shape [2, 2] does not take the 4 bytes of its range");
    CHECK(begins(fault(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})"),
                 "invalid header of tensor 'a': dtype 'F33'"));
    CHECK(begins(fault(R"({"shape":[1],"data_offsets":[0,4]})"),
                 "invalid header of tensor 'a': the field 'dtype'"));
    CHECK(begins(fault(R"({"dtype":"F32","data_offsets":[0,4]})"),
                 "invalid header of tensor 'a': the field 'shape'"));
    CHECK(begins(fault(R"({"dtype":"F32","shape":[1]})"),
                 "invalid header of tensor 'a': the field 'data_offsets'"));
    CHECK(begins(fault("3"), "invalid header of tensor 'a'"));
    CHECK(begins(fault(R"({"dtype":3,"shape":[1],"data_offsets":[0,4]})"),
                 "invalid header of tensor 'a'"));
    CHECK(begins(fault(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"),
                 "invalid header of tensor 'a'"));
    CHECK(begins(fault(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})"),
                 "invalid header of tensor 'a'"));
    CHECK(begins(fault(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})"),
                 "invalid header of tensor 'a'"));
    CHECK(
        begins(fault(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", ""),
               "invalid info of tensor 'a'"));
    CHECK(begins(fault(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]})", ""),
                 "invalid info of tensor 'a'"));
    CHECK(begins(
        fault(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]})",
              "x"),
        "invalid info of tensor 'a'"));
  }

  TEST_CASE("SEC-08: extra or missing data") {
    const File file;
    const std::string valid =
        file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "0123");
    CHECK(file.write(valid).fault() == "");
    CHECK(begins(file.write(valid + "PK").fault(), "incomplete buffer"));
    CHECK(begins(file.write(valid.substr(0, valid.size() - 2)).fault(), "incomplete buffer"));
  }

  TEST_CASE("what is read and what is not") {
    const File file;
    const auto fault = [&](const std::string& header, const std::string& data = "") {
      return file.write(file_of(header, data)).fault();
    };
    // Fields that are not known are skipped, names may be written with escapes, blanks are free.
    file.write(
        file_of("{ \"\\u00e4\\ud83d\\ude00\\n\" : {\"more\": [1.5e3, -0, {\"x\": null}, true],\n"
                "\"data_offsets\":[0 ,1], \"shape\" :[ 1 ], \"dtype\": \"\\u00558\"}}",
                "x"));
    CHECK(file.fault() == "");
    CHECK(load_tensors(file.path()).front().first == "\xC3\xA4\xF0\x9F\x98\x80\n");

    const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    CHECK(fault("{\"a\":" + entry + ",\"\\u0061\":" + entry + "}") ==
          "invalid header: the tensor 'a' is there twice");
    CHECK(fault(R"({"__metadata__":{"a":"","b":"","\u0061":""}})") ==
          "invalid header: the metadata 'a' is there twice");
    CHECK(fault(R"({"__metadata__":{},"__metadata__":{}})") ==
          "invalid header: __metadata__ is there twice");
    CHECK(begins(fault(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
                 "invalid header of tensor 'a': the field 'dtype' is there twice"));
    CHECK(begins(fault(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})"),
                 "invalid header of tensor 'a': data_offsets must be [begin, end]"));
    for (const char* header :
         {"{,}", "{\"a\"}", "{\"a\":}", "{\"a\":{}", "{\"a\":{},}", "{\"\\ud800\":{}}",
          "{\"\\x\":{}}", "{\"\n\":{}}", "{\"a\":{\"x\":01}}", "{\"a\":{\"x\":1.}}",
          "{\"a\":{\"x\":nul}}", "{\"a\":{\"x\":[[[[[[[[[[1]]]]]]]]]]}}",
          "{\"a\":{\"shape\":[1,]}}"}) {
      CAPTURE(header);
      CHECK(begins(fault(header), "invalid header"));
    }
    // Nothing of a name reaches a terminal that would obey it.
    CHECK(fault("{\"\x7f\xc2\x9b\xe2\x80\xae\":3}") ==
          "invalid header of tensor '\\x7f\\u009b\\u202e': found a number, expected an object");
  }

  TEST_CASE("a header takes at most twice its length, sound or not") {
    std::string wide = "{\"a\":[0";
    wide.reserve(20'000'020);
    while (wide.size() < 20'000'000) wide += ",0";
    wide += "]}";
    std::string many = "{";
    while (many.size() < 20'000'000) {
      many += (many.size() > 1 ? ",\"" : "\"") + std::to_string(many.size()) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    std::string pairs = "{\"__metadata__\":{";
    while (pairs.size() < 20'000'000)
      pairs += (pairs.back() == '{' ? "\"" : ",\"") + std::to_string(pairs.size()) + "\":\"\"";
    pairs += "}}";
    const std::string strings = "{\"a\":{\"x\":\"" + std::string(20'000'000, 'x') + "\"}}";
    const std::string numbers = "{\"a\":{\"shape\":[" + std::string(20'000'000, '1') + "]}}";
    const File file;
    for (const std::string* header :
         std::initializer_list<const std::string*>{&wide, &many, &pairs, &strings, &numbers}) {
      CAPTURE(header->substr(0, 40));
      file.write(file_of(*header, "more"));  // bytes after the header's tensors
      CHECK(kilobytes_to_refuse(file) < 2 * 20'000'000 / 1000 + 4096);
    }
  }

  TEST_CASE("metadata comes back in the order of the file") {
    std::mt19937 random(3);
    std::vector<std::pair<std::string, std::string>> pairs;
    for (int i = 0; i < 3000; ++i) {
      std::string key = "key " + std::to_string(random() % 100000) + " \"" + std::to_string(i);
      pairs.emplace_back(std::move(key), "\\" + std::to_string(random()));
    }
    const File file;
    save_tensors(file.path(), {}, object(pairs));
    const Json metadata = state::metadata(file.path());
    REQUIRE(metadata.size() == static_cast<int64_t>(pairs.size()));
    for (size_t i = 0; i < pairs.size(); ++i) {
      CHECK(metadata.key(static_cast<int64_t>(i)) == pairs[i].first);
      CHECK(metadata[pairs[i].first].text() == pairs[i].second);
    }
    CHECK_FALSE(metadata["key"].defined());
  }

  TEST_CASE("a tensor of a dtype that Tenon does not have leaves the others readable") {
    const File file;
    file.write(file_of(R"({"a":{"dtype":"F8_E4M3FNUZ","shape":[3],"data_offsets":[0,3]},)"
                       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
                       "xyz7"));
    CHECK(begins(file.fault(), "invalid header of tensor 'a': dtype 'F8_E4M3FNUZ' cannot be read"));
    for (const auto read : {load_tensors, map_tensors}) {
      CHECK(at(read(file.path(), {"b"}), "b").to_vector<uint8_t>() == std::vector<uint8_t>{'7'});
      CHECK_THROWS_AS(read(file.path(), {"a"}), ValueError);
    }
  }

  TEST_CASE("random headers are read back, in the order of their data") {
    std::mt19937 random(9);
    for (int round = 0; round < 100; ++round) {
      struct Expected {
        std::string name;
        Values shape;
        int64_t begin, end;
      };
      std::vector<Expected> expected;
      int64_t position = 0;
      for (size_t i = random() % 6; i > 0; --i) {
        Expected one{"t" + std::to_string(i), {}, position, position};
        int64_t count = 1;
        for (size_t d = random() % 4; d > 0; --d) {
          one.shape.push_back(static_cast<int64_t>(random() % 4));
          count *= one.shape.back();
        }
        position += 4 * count;
        one.end = position;
        expected.push_back(one);
      }
      std::vector<Expected> written = expected;
      std::shuffle(written.begin(), written.end(), random);
      std::string text = "{";
      for (const Expected& one : written) {
        std::string shape;
        for (const int64_t size : one.shape)
          shape += (shape.empty() ? "" : ",") + std::to_string(size);
        text += (text.size() == 1 ? "\"" : ",\"") + one.name + R"(":{"dtype":"F32","shape":[)" +
                shape + R"(],"data_offsets":[)" + std::to_string(one.begin) + "," +
                std::to_string(one.end) + "]}";
      }
      const File file;
      file.write(file_of(text + "}", std::string(static_cast<size_t>(position), '\0')));
      const NamedTensors read = load_tensors(file.path());
      REQUIRE(read.size() == expected.size());
      for (const Expected& one : expected) {
        const IntList shape = at(read, one.name).shape();
        CHECK(Values(shape.begin(), shape.end()) == one.shape);
      }
      file.write(file_of(text + "}", std::string(static_cast<size_t>(position) + 1, '\0')));
      CHECK(begins(file.fault(), "incomplete buffer"));
    }
  }

  TEST_CASE("files cut or changed at any byte are refused or read, never worse") {
    const File file;
    const std::string valid =
        file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"__metadata__":{"x":"y"}})",
                "0123");
    for (size_t i = 0; i < valid.size(); ++i) {
      CHECK(file.write(valid.substr(0, i)).fault() != "");
      for (const char byte : {'\0', '"', '9', '}', '\xFF'}) {
        std::string changed = valid;
        changed[i] = byte;
        file.write(changed).fault();
      }
    }
  }
}
