// data.npy, data.npz, data.safetensors: samples from arrays; files of tensors with names.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "../compare.hpp"

using namespace compare;

namespace {

using Samples = std::tuple<Tensor, Tensor, std::string>;

// A file of the test, removed with it.
class Place {
 public:
  explicit Place(std::string name) : path(std::move(name)) {}
  ~Place() { std::filesystem::remove(path); }
  const std::string path;
};

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

const std::vector<std::string> kNames = {"inputs", "targets", "empty"};
std::array<tenon_string, 3> names_value() {
  std::array<tenon_string, 3> list;
  for (size_t i = 0; i < 3; ++i) list[i] = tenon::detail::string_of(kNames[i]);
  return list;
}
std::vector<Tensor> tensors() {
  return {numbers({4, 2, 3}), tenon::tensor({3, 1, 0, 2}), tenon::zeros({0, 5}, tenon::u8)};
}

// As NumPy 1.24 writes it: np.savez_compressed(file, a=np.arange(6, dtype=np.float32).reshape(2, 3)).
const std::string numpy_compressed = std::string(
    "\x50\x4b\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00\x4f\xe9\x00\x2a\x55\x00\x00\x00"
    "\x98\x00\x00\x00\x05\x00\x14\x00\x61\x2e\x6e\x70\x79\x01\x00\x10\x00\x98\x00\x00\x00\x00"
    "\x00\x00\x00\x55\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50"
    "\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa2\xae\xa3\xa0\x9e\x96\x5f\x54\x52"
    "\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02"
    "\xf9\x1a\x46\x3a\x0a\xc6\x9a\x3a\x0a\xb5\x0a\x64\x03\x2e\x06\x30\x68\xb0\x07\x12\x0e\x40"
    "\x04\xc4\x0d\x40\xbc\xc0\x01\x00\x50\x4b\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00\x00\x00"
    "\x21\x00\x4f\xe9\x00\x2a\x55\x00\x00\x00\x98\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x61\x2e\x6e\x70\x79\x50\x4b\x05\x06\x00\x00\x00"
    "\x00\x01\x00\x01\x00\x33\x00\x00\x00\x8c\x00\x00\x00\x00\x00",
    213);

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("a safetensors file is read by names where another tensor has an unknown dtype") {
    const Place file("unknown.safetensors");
    const std::string header = R"({"inputs":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                               R"("targets":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},)"
                               R"("other":{"dtype":"Q4","shape":[2],"data_offsets":[5,6]}})";
    const uint64_t length = header.size();
    write(file.path, std::string(reinterpret_cast<const char*>(&length), 8) + header +
                         std::string("\0\0\x80?\2x", 6));
    static const tenon::Op samples("data.safetensors");
    const auto [inputs, targets, fitted] = samples.call<Samples>(file.path);
    check_values(inputs, {1, 1}, {1});
    CHECK(targets.to_vector<int64_t>() == std::vector<int64_t>{2});
    const tenon::ConfiguredOp chosen = tenon::configure(
        tenon::Json::parse(R"({"op": "data.read_safetensors", "only": ["targets"]})"));
    const auto [names, list] =
        chosen.call<std::tuple<std::vector<std::string>, std::vector<Tensor>>>(file.path);
    CHECK(names == std::vector<std::string>{"targets"});
    for (const char* const asked : {R"({"op": "data.read_safetensors", "only": ["other"]})",
                                    R"({"op": "data.read_safetensors"})"}) {
      const std::string message = refusal_of("read", [&] {
        tenon::configure(tenon::Json::parse(asked))
            .call<std::tuple<std::vector<std::string>, std::vector<Tensor>>>(file.path);
      });
      CHECK(message.find("tensor 'other': dtype 'Q4' cannot be read") != std::string::npos);
    }
  }

  TEST_CASE("what write_npz and write_safetensors write is read as it was") {
    const Place file("arrays_test.bin");
    const auto check = [&](const char* op) {
      const auto [names, read] =
          tenon::Op(op).call<std::tuple<std::vector<std::string>, std::vector<Tensor>>>(file.path);
      REQUIRE(std::set<std::string>(names.begin(), names.end()) ==
              std::set<std::string>(kNames.begin(), kNames.end()));
      for (size_t i = 0; i < names.size(); ++i) {
        const auto at =
            static_cast<size_t>(std::find(kNames.begin(), kNames.end(), names[i]) - kNames.begin());
        CHECK(read[i].dtype() == tensors()[at].dtype());
        check_close(read[i], tensors()[at], 0);
      }
    };
    for (const bool compress : {false, true}) {
      tenon::data::write_npz(file.path, names_value(), tensors(), compress);
      check("data.read_npz");
    }
    tenon::data::write_safetensors(file.path, names_value(), tensors());
    check("data.read_safetensors");
    CHECK(refusal_of("write_npz", [&] {
            tenon::data::write_npz(file.path, names_value(), std::vector<Tensor>{tenon::ones({1})});
          }) == "there are 3 names for 1 tensors");
    std::array<tenon_string, 3> twice = names_value();
    twice[1] = twice[0];
    CHECK(refusal_of("write_npz", [&] { tenon::data::write_npz(file.path, twice, tensors()); }) ==
          "two tensors have the name 'inputs'");
  }

  TEST_CASE("read_npz reads what NumPy compressed, and names what is wrong with a file") {
    const Place file("arrays_test.npz");
    const auto read = [&](const std::string& bytes) {
      write(file.path, bytes);
      return std::get<1>(tenon::data::read_npz(file.path)).at(0);
    };
    check_values(read(numpy_compressed), {2, 3}, {0, 1, 2, 3, 4, 5});
    const auto refused = [&](const std::string& bytes) {
      const std::string text = refusal_of("read_npz", [&] { read(bytes); });
      return text.rfind(file.path + ": ", 0) == 0 ? text.substr(file.path.size() + 2) : text;
    };
    // Facts of the member, in its header and in the directory.
    const size_t directory = numpy_compressed.find("PK\1\2"), end = numpy_compressed.find("PK\5\6");
    const auto changed = [&](size_t at, const std::string& bytes) {
      std::string file_bytes = numpy_compressed;
      return file_bytes.replace(at, bytes.size(), bytes);
    };
    CHECK(refused("PK\3\4") == "this is not a whole zip file: the record at its end is missing");
    CHECK(refused("") == "this is not a whole zip file: the record at its end is missing");
    CHECK(refused(numpy_compressed.substr(0, end + 10)) ==
          "this is not a whole zip file: the record at its end is missing");
    CHECK(refused(changed(directory + 24, std::string("\xff\xff\xff\x7f", 4)))
              .find("'a.npy' claims 2147483647 bytes, which ") == 0);
    CHECK(refused(changed(directory + 20, std::string("\xff\xff\xff\x7f", 4))) ==
          "'a.npy' is not within the file");
    CHECK(refused(changed(directory + 42, std::string("\xff\xff\xff\x7f", 4))) ==
          "'a.npy' is not within the file");
    CHECK(refused(changed(directory + 42, std::string("\1\0\0\0", 4))) ==
          "'a.npy' has no header where it should be");
    CHECK(refused(changed(directory + 46, "b.npy")) == "'b.npy' has another name in its header");
    CHECK(refused(changed(directory + 8, "\1")) == "'a.npy' is encrypted");
    CHECK(refused(changed(directory + 10, "\x0c")) ==
          "'a.npy' is compressed by method 12; 0 (stored) and 8 (deflated) are read");
    CHECK(refused(changed(directory + 16, std::string("\0\0\0\0", 4))) ==
          "'a.npy': 'a.npy' is damaged: its checksum differs");
    CHECK(refused(changed(end + 4, "\1")) == "the zip file is one of several parts");
    CHECK(refused(changed(end + 8, "\2").replace(end + 10, 1, "\2")) ==
          "the directory has fewer members than it says");
    CHECK(refused(
              changed(end + 8, std::string("\0", 1)).replace(end + 10, 1, std::string("\0", 1))) ==
          "the directory has more members than it says");
    CHECK(refused(changed(end + 16, std::string("\xff\xff\xff\x7f", 4))) ==
          "the directory of the zip file is not within the file");
    // Two members on the same bytes: the directory's entry twice.
    std::string twice = numpy_compressed;
    twice.insert(end, numpy_compressed.substr(directory, end - directory));
    const size_t moved = end + (end - directory);
    twice[moved + 8] = twice[moved + 10] = '\2';
    twice[moved + 12] = static_cast<char>(2 * (end - directory));
    CHECK(refused(twice) == "'a.npy' is there twice");
    // No change of one byte is read as other numbers.
    for (size_t at = 0; at < numpy_compressed.size(); ++at) {
      std::string damaged = numpy_compressed;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
      try {
        const Tensor tensor = read(damaged);
        CAPTURE(at);
        check_close(tensor.reshape({6}), tenon::arange(0, 6, 1, tenon::f32), 0);
      } catch (const tenon::Error&) {
        continue;
      } catch (const std::out_of_range&) {
        continue;  // the member's name is no longer that of an array
      }
    }
  }

  TEST_CASE("data.npy reads inputs of any dtype and targets from another file") {
    const Place inputs("samples_test.npy"), targets("samples_test_y.npy");
    tenon::data::write_npy(inputs.path, tenon::tensor({{0, 51}, {102, 255}}, tenon::u8));
    tenon::data::write_npy(targets.path, tenon::tensor({1, 0}));
    const auto [x, y, fitted] =
        tenon::data::npy(inputs.path, targets.path, tenon::none, false, 1.0 / 255);
    CHECK(x.dtype() == tenon::f32);
    check_values(x, {2, 2}, {0, 0.2, 0.4, 1});
    CHECK(y.dtype() == tenon::i64);
    check_values(y, {2}, {1, 0});
    CHECK(fitted == R"({"shape":[2]})");
    for (const tenon::DType dtype : {tenon::u8, tenon::boolean, tenon::f64}) {
      tenon::data::write_npy(targets.path, tenon::tensor({1, 0}, dtype));
      const Tensor converted = std::get<1>(tenon::data::npy(inputs.path, targets.path));
      CHECK(converted.dtype() == (dtype == tenon::f64 ? tenon::f32 : tenon::i64));
      check_values(converted, {2}, {1, 0});
    }
    CHECK(std::get<1>(tenon::data::npy(inputs.path)).sizes() == std::vector<int64_t>{2, 0});
    const auto bare = tenon::data::npy(inputs.path, "gone.npy", tenon::none, false, 1, true,
                                       tenon::f64, false, fitted);
    CHECK(std::get<0>(bare).dtype() == tenon::f64);
    CHECK(std::get<2>(bare) == fitted);
    check_values(std::get<0>(tenon::data::npy(inputs.path, "", {1, 2, 1})), {2, 1, 2, 1},
                 {0, 51, 102, 255});
  }

  TEST_CASE("images with the channels last become images with the channels first") {
    const Place file("samples_test.npy");
    const Tensor images = numbers({2, 4, 5, 3});
    tenon::data::write_npy(file.path, images);
    check_close(std::get<0>(tenon::data::npy(file.path, "", tenon::none, true)),
                images.permute({0, 3, 1, 2}), 0);
  }

  TEST_CASE("data.npz and data.safetensors take two arrays of a file by name") {
    const Place file("samples_test.bin");
    tenon::data::write_npz(file.path, names_value(), tensors(), true);
    const Samples samples = tenon::data::npz(file.path);
    check_close(std::get<0>(samples), tensors()[0], 0);
    check_close(std::get<1>(samples), tensors()[1], 0);
    CHECK(refusal_of("npz", [&] { tenon::data::npz(file.path, "input"); }) ==
          "samples_test.bin: no array is named 'input' (did you mean 'inputs'?); the file has "
          "'inputs', 'targets', 'empty'");
    CHECK(refusal_of("npz", [&] { tenon::data::npz(file.path, "empty"); }) ==
          "samples_test.bin: 'empty' has the shape [0, 5], which holds no samples");
    tenon::data::write_safetensors(file.path, names_value(), tensors());
    check_close(std::get<0>(tenon::data::safetensors(file.path)), tensors()[0], 0);
    CHECK(std::get<1>(tenon::data::safetensors(file.path, "inputs", "")).numel() == 0);
  }

  TEST_CASE("readers of arrays refuse what is not samples") {
    const Place inputs("samples_test.npy"), targets("samples_test_y.npy");
    const auto refused = [&](const Tensor& x, const Tensor& y, const tenon::Argument& shape,
                             bool channels_last = false, std::string_view fitted = "") {
      tenon::data::write_npy(inputs.path, x);
      tenon::data::write_npy(targets.path, y);
      return refusal_of("npy", [&] {
        tenon::data::npy(inputs.path, targets.path, shape, channels_last, 1, true, tenon::f32, true,
                         fitted);
      });
    };
    const Tensor x = tenon::ones({2, 3}), y = tenon::ones({2});
    Tensor broken = tenon::ones({2, 3});
    broken.data<float>()[4] = std::numeric_limits<float>::quiet_NaN();
    CHECK(refused(broken, y, tenon::none) ==
          "samples_test.npy: 'inputs' has nan at [1, 1]; say check_finite=false to read it");
    broken.data<float>()[4] = -std::numeric_limits<float>::infinity();
    CHECK(refused(x, broken, tenon::none) ==
          "samples_test_y.npy: 'targets' has -inf at [1, 1]; say check_finite=false to "
          "read it");
    CHECK(refused(x, tenon::ones({3}), tenon::none) ==
          "samples_test_y.npy: 'targets' has 3 targets, for 2 samples");
    CHECK(refused(x, tenon::ones({2, 1, 1}), tenon::none) ==
          "samples_test_y.npy: 'targets' has the shape [2, 1, 1]; targets are [samples] "
          "or [samples, columns]");
    CHECK(refused(tenon::tensor(1.5), y, tenon::none) ==
          "samples_test.npy: 'inputs' has the shape [], which holds no samples");
    CHECK(refused(x, y, {2, 2}) ==
          "samples_test.npy: 'inputs' has 3 numbers in each sample, [3], which do not make [2, 2]");
    CHECK(refused(x, y, tenon::none, true) ==
          "samples_test.npy: 'inputs' has the shape [2, 3]; channels_last=true takes [samples, "
          "height, width, channels]");
    CHECK(refused(x, y, tenon::none, false, R"({"shape": [4]})") ==
          "samples_test.npy: 'inputs' has samples of shape [3], the file that was fitted has [4]");
  }
}
