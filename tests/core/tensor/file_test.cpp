// Tensor files: layout, round trips, and hostile files. Case names begin with the conformance id.
#include "core/tensor/file.hpp"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/base/error.hpp"
#include "core/tensor/copy.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;
using tenon::test::Values;
using tenon::test::values_of;
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
  File() {
    char name[] = "/tmp/tenon-tensors-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~File() { fs::remove_all(folder_); }

  std::string path() const { return folder_ / "a.safetensors"; }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const File& write(std::string_view bytes) const {
    std::ofstream(path(), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return *this;
  }
  // The fault that reading reports, after the path.
  std::string fault() const {
    try {
      load_tensors(path());
    } catch (const Error& error) {
      CHECK(error.kind == TENON_ERROR_VALUE);
      const std::string begin = "'" + path() + "' is not a valid tensor file: ";
      REQUIRE(error.message.substr(0, begin.size()) == begin);
      return error.message.substr(begin.size());
    }
    return "";
  }

 private:
  fs::path folder_;
};

std::string length_field(uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data = "") {
  return length_field(header.size()) + header + data;
}

bool begins(const std::string& text, std::string_view with) { return text.starts_with(with); }

std::string save_fault(const std::vector<NamedTensor>& tensors, const FileMetadata& metadata = {}) {
  const File file;
  try {
    save_tensors(file.path(), tensors, metadata);
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK_FALSE(fs::exists(file.path()));
    return error.message.substr(error.message.find("': ") + 3);
  }
  return "";
}

// Growth of the peak of memory by loading, measured in a separate process; LONG_MAX where the file
// is not loaded, or not refused, as expected.
long kilobytes_to_load(const File& file, bool sound) {
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
    if (loaded != sound) kilobytes = LONG_MAX;
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

TEST_SUITE("tensor file") {
  TEST_CASE("ST-01: byte layout of one tensor") {
    const File file;
    const TensorRef tensor = tensor_of<int32_t>({2, 2}, {0, 0, 0, 0});
    std::string header = R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})";
    header.resize(64, ' ');
    save_tensors(file.path(), std::vector<NamedTensor>{{"test", tensor}});
    CHECK(file.bytes() == length_field(0x40) + header + std::string(16, '\0'));

    static_cast<int32_t*>(tensor->view.data)[3] = 1;
    save_tensors(file.path(), std::vector<NamedTensor>{{"test", tensor}});
    CHECK(file.bytes() ==
          length_field(0x40) + header + std::string(12, '\0') + std::string("\1\0\0\0", 4));
  }

  TEST_CASE("ST-03: empty file and metadata") {
    const File file;
    save_tensors(file.path(), {});
    CHECK(file.bytes() == length_field(8) + "{}      ");
    CHECK(load_tensors(file.path()).tensors.empty());

    save_tensors(file.path(), {}, {{"framework", "pt"}});
    CHECK(begins(file.bytes(), length_field(40) + R"({"__metadata__":{"framework":"pt"}})"));
    CHECK(load_tensors(file.path()).metadata.find("framework") == "pt");

    save_tensors(file.path(), std::vector<NamedTensor>{{"a", tensor_of<uint8_t>({1}, {7})}},
                 {{"k", "\"\\\n\x01"}});
    CHECK(begins(file.bytes().substr(8), R"({"__metadata__":{"k":"\"\\\u000a\u0001"},"a":)"));
    CHECK(load_tensors(file.path()).metadata.find("k") == "\"\\\n\x01");

    CHECK(begins(file.write(file_of(R"({"__metadata__":{"a":1}})")).fault(),
                 "invalid header: the metadata 'a'"));
    CHECK(begins(file.write(file_of(R"({"__metadata__":"x"})")).fault(),
                 "invalid header: __metadata__"));
  }

  TEST_CASE("ST-04: minimal reads") {
    const File file;
    file.write(file_of(R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})",
                       std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16)));
    const TensorRef square = load_tensors(file.path()).at("test");
    CHECK(square->view.dtype == TENON_I32);
    CHECK(values_of<int32_t>(*square) == std::vector<int32_t>{1, 2, 3, 4});

    file.write(file_of(R"({"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}})",
                       std::string("\5\0\0\0", 4)));
    const TensorRef scalar = load_tensors(file.path()).at("test");
    CHECK(scalar->view.rank == 0);
    CHECK(item(*scalar).as.integer == 5);

    file.write(file_of(R"({"test":{"dtype":"I32","shape":[2,0],"data_offsets":[0,0]}})"));
    const TensorRef empty = load_tensors(file.path()).at("test");
    CHECK(empty->view.count == 0);
    CHECK(empty->view.shape[0] == 2);
  }

  TEST_CASE("ST-08: missing tensor and missing file") {
    const File file;
    save_tensors(file.path(), std::vector<NamedTensor>{{"weight", tensor_of<float>({1}, {7})}});
    const TensorFile loaded = load_tensors(file.path());
    CHECK(loaded.find("bias") == nullptr);
    CHECK_THROWS_WITH_AS(
        loaded.at("weigth"),
        ("'" + file.path() + "' holds no tensor 'weigth' (did you mean 'weight'?)").c_str(), Error);
    try {
      load_tensors("/nowhere/a.safetensors");
      FAIL("loaded");
    } catch (const Error& error) {
      CHECK(error.kind == TENON_ERROR_IO);
      CHECK(error.message == "cannot read '/nowhere/a.safetensors': No such file or directory");
    }
    CHECK_THROWS_WITH_AS(load_tensors("/tmp"), "cannot read '/tmp': Is a directory", Error);
    CHECK_THROWS_WITH_AS(load_tensors("/dev/zero"),
                         "cannot read '/dev/zero': it is not a regular file", Error);
  }

  TEST_CASE("tensors of every dtype and layout come back, wide ones first") {
    const File file;
    const TensorRef matrix = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const std::vector<NamedTensor> tensors = {
        {"bool", tensor_of<bool>({3}, {true, false, true})},
        {"u8", tensor_of<uint8_t>({1}, {255})},
        {"transposed \xC3\xA4 \"x\"", make_alias(*matrix, Values{3, 2}, Values{1, 3}, 0)},
        {"f64", tensor_of<double>({}, {0.1})},
        {"f32", matrix},
        {"i8", tensor_of<int8_t>({2}, {-1, 1})},
        {"i16", tensor_of<int16_t>({1}, {-300})},
        {"i64", tensor_of<int64_t>({1}, {INT64_MIN})},
        {"expanded", make_alias(*matrix, Values{2, 3}, Values{0, 1}, 3)},
    };
    save_tensors(file.path(), tensors);
    const TensorFile loaded = load_tensors(file.path());
    std::vector<std::string> names;
    for (const NamedTensor& entry : loaded.tensors) names.push_back(entry.name);
    CHECK(names == std::vector<std::string>{"f64", "i64", "transposed \xC3\xA4 \"x\"", "f32",
                                            "expanded", "i16", "bool", "u8", "i8"});
    CHECK(values_of<float>(*loaded.at("transposed \xC3\xA4 \"x\"")) ==
          std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(values_of<float>(*loaded.at("expanded")) == std::vector<float>{4, 5, 6, 4, 5, 6});
    CHECK(values_of<bool>(*loaded.at("bool")) == std::vector<bool>{true, false, true});
    CHECK(item(*loaded.at("f64")).as.number == 0.1);
    CHECK(item(*loaded.at("i64")).as.integer == INT64_MIN);
    CHECK(item(*loaded.at("i16")).as.integer == -300);
  }

  TEST_CASE("f16, bf16 and unsigned integers have the names and bytes of the format") {
    const File file;
    save_tensors(file.path(), std::vector<NamedTensor>{
                                  {"a", tensor_of<uint64_t>({1}, {UINT64_MAX})},
                                  {"b", tensor_of<uint32_t>({1}, {UINT32_MAX})},
                                  {"c", tensor_of<tenon_bf16>({2}, {{0x3f80}, {0xff80}})},
                                  {"d", tensor_of<tenon_f16>({1}, {{0x3c00}})},
                                  {"e", tensor_of<uint16_t>({1}, {0x0102})},
                              });
    const std::string bytes = file.bytes();
    for (const char* part : {R"("a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]})",
                             R"("b":{"dtype":"U32","shape":[1],"data_offsets":[8,12]})",
                             R"("c":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]})",
                             R"("d":{"dtype":"F16","shape":[1],"data_offsets":[16,18]})",
                             R"("e":{"dtype":"U16","shape":[1],"data_offsets":[18,20]})"})
      CHECK_MESSAGE(bytes.find(part) != std::string::npos, part);
    CHECK(bytes.substr(bytes.size() - 8) == std::string("\x80\x3f\x80\xff\x00\x3c\x02\x01", 8));
    const TensorFile loaded = load_tensors(file.path());
    CHECK(values_of<uint64_t>(*loaded.at("a")) == std::vector<uint64_t>{UINT64_MAX});
    CHECK(loaded.at("c")->view.dtype == TENON_BF16);
    CHECK(values_of<float>(*contiguous_copy(*loaded.at("c"), TENON_F32)) ==
          std::vector<float>{1, -std::numeric_limits<float>::infinity()});
    CHECK(item(*loaded.at("d")).as.number == 1);
  }

  TEST_CASE("c64 has a name in the format, c128 has none") {
    const File file;
    const TensorRef parts = tensor_of<float>({4}, {1, 2, 3, 4});
    const Values shape{2}, strides{1};
    save_tensors(file.path(), std::vector<NamedTensor>{
                                  {"z", make_alias_as(*parts, TENON_C64, shape, strides, 0)}});
    CHECK(file.bytes().find(R"("z":{"dtype":"C64","shape":[2],"data_offsets":[0,16]})") !=
          std::string::npos);
    const TensorFile loaded = load_tensors(file.path());
    CHECK(loaded.at("z")->view.dtype == TENON_C64);
    CHECK(static_cast<const tenon_c64*>(loaded.at("z")->view.data)[1].imag == 4);
    try {
      save_tensors(file.path(), std::vector<NamedTensor>{{"wide", make_zeros(TENON_C128, shape)}});
      FAIL("saved");
    } catch (const Error& error) {
      CHECK(error.message.find("the format has no c128, the dtype of tensor 'wide': save "
                               "view_as_real() of it, or convert it to c64") != std::string::npos);
    }
  }

  TEST_CASE("a mapped file is read where it is used, and never written") {
    const File file;
    save_tensors(file.path(),
                 std::vector<NamedTensor>{{"a", tensor_of<float>({2, 2}, {1, 2, 3, 4})},
                                          {"b", tensor_of<int64_t>({1}, {9})},
                                          {"none", tensor_of<float>({0}, {})}});
    const std::string bytes = file.bytes();
    TensorRef kept;
    {
      const TensorFile mapped = map_tensors(file.path());
      CHECK(values_of<float>(*mapped.at("a")) == std::vector<float>{1, 2, 3, 4});
      CHECK(values_of<int64_t>(*mapped.at("b")) == std::vector<int64_t>{9});
      CHECK(mapped.at("none")->view.count == 0);
      kept = mapped.at("a");
    }
    static_cast<float*>(kept->view.data)[0] = 7;
    CHECK(values_of<float>(*kept) == std::vector<float>{7, 2, 3, 4});
    CHECK(file.bytes() == bytes);
    CHECK(values_of<float>(*map_tensors(file.path()).at("a"))[0] == 1);
    // A file that is replaced meanwhile is still the old one for its tensors.
    save_tensors(file.path(), std::vector<NamedTensor>{{"a", tensor_of<float>({1}, {5})}});
    CHECK(values_of<float>(*kept) == std::vector<float>{7, 2, 3, 4});
  }

  TEST_CASE("tensors across the bounds of their elements are copied out of the mapping") {
    const File file;
    std::string header = R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("y":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
    file.write(file_of(header, std::string("\x07\x00\x00\x80\x3f", 5)));
    const TensorFile mapped = map_tensors(file.path());
    CHECK(values_of<float>(*mapped.at("y")) == std::vector<float>{1});
    CHECK(reinterpret_cast<uintptr_t>(mapped.at("y")->view.data) % 4 == 0);
  }

  TEST_CASE("what cannot be saved is refused before the file is touched") {
    const TensorRef tensor = tensor_of<float>({1}, {1});
    CHECK(save_fault({{"a", tensor}, {"a", tensor}}) == "two tensors have the name 'a'");
    CHECK(save_fault({{"__metadata__", tensor}}) ==
          "the name '__metadata__' is reserved by the format");
    CHECK(begins(save_fault({{"\xFF", tensor}}), "a tensor's name is not valid UTF-8"));
    CHECK(save_fault({{"a", TensorRef()}}) == "the tensor 'a' is undefined");
    CHECK(save_fault({{"a", make_shape_only(*tensor)}}) ==
          "the tensor 'a' has a shape but no data");
    CHECK(save_fault({}, {{"k", "1"}, {"k", "2"}}) == "the metadata key 'k' is there twice");
  }

  TEST_CASE("as many tensors as are read are saved, more are refused before the file is touched") {
    const File file;
    constexpr size_t kMost = (16 << 20) / 480;  // without data
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < kMost; ++i)
      tensors.push_back({std::to_string(i), make_empty(TENON_F32, std::vector<int64_t>{0})});
    save_tensors(file.path(), tensors);
    CHECK(load_tensors(file.path()).tensors.size() == kMost);
    const std::string before = file.bytes();
    tensors.push_back({"one more", make_empty(TENON_F32, std::vector<int64_t>{0})});
    CHECK_THROWS_WITH_AS(save_tensors(file.path(), tensors),
                         doctest::Contains("34953 tensors with 0 bytes of data, at most 34952 are "
                                           "read back; join small tensors into fewer"),
                         Error);
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
    const std::string refused = save_fault({}, {{"k", std::string(100'000'000, 'x')}});
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
        file_of(header(100'000, R"({"dtype":"F32","shape":[200,200],"data_offsets":[0,160000]})"),
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
    CHECK(load_tensors(file.path()).tensors[0].name == "\xC3\xA4\xF0\x9F\x98\x80\n");

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
      CHECK(kilobytes_to_load(file, false) < 2 * 20'000'000 / 1000 + 4096);
    }
    file.write(file_of(pairs));
    CHECK(kilobytes_to_load(file, true) < 2 * 20'000'000 / 1000 + 4096);
  }

  TEST_CASE("metadata is found by its key and visited in the order of the file") {
    std::mt19937 random(3);
    std::vector<std::pair<std::string, std::string>> pairs;
    for (int i = 0; i < 3000; ++i) {
      std::string key = "key " + std::to_string(random() % 100000) + " \"" + std::to_string(i);
      pairs.emplace_back(std::move(key), "\\" + std::to_string(random()));
    }
    const File file;
    save_tensors(file.path(), {}, pairs);
    const StoredMetadata metadata = load_tensors(file.path()).metadata;
    for (const auto& [key, value] : pairs) CHECK(metadata.find(key) == value);
    CHECK(metadata.find("key") == std::nullopt);
    size_t visited = 0;
    metadata.each([&](const std::string& key, const std::string& value) {
      CHECK(key == pairs[visited].first);
      CHECK(value == pairs[visited++].second);
    });
    CHECK(visited == pairs.size());
    CHECK(StoredMetadata().find("x") == std::nullopt);
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
