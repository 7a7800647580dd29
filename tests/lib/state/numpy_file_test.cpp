// Files of NumPy: what is written comes back, mapped or copied, in any order of bytes and dimensions.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/state/module_file.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using tenon_test::TemporaryFolder;

namespace {

using Doubles = std::vector<double>;
using Sizes = std::vector<int64_t>;

Sizes strides(const Tensor& tensor) { return {tensor.strides().begin(), tensor.strides().end()}; }

std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& bytes) {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) +
         static_cast<char>(text.size() >> 8) + text + bytes;
}
template <class T>
std::string bytes_of(const std::vector<T>& values, bool reversed = false) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  for (size_t i = 0; reversed && i < bytes.size(); i += sizeof(T))
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  return bytes;
}
Doubles numbers(const Tensor& tensor) { return tensor.to(f64).to_vector<double>(); }

template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("state/numpy_file") {
  TEST_CASE("a saved array comes back, copied or mapped, with its shape and dtype") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npy";
    for (const DType dtype : {f32, f64, f16, i64, u16, c64}) {
      for (const Sizes& shape : std::vector<Sizes>{{}, {0}, {5}, {2, 3}, {2, 3, 4}}) {
        const IntList sizes(shape.data(), static_cast<int64_t>(shape.size()));
        const Tensor tensor = full(sizes, 2.5).to(dtype);
        state::save_npy(path, tensor);
        const state::NpyHeader header = state::npy_header(path);
        CHECK(header.shape == shape);
        CHECK(header.dtype == dtype);
        for (const auto& read : {state::load_npy, state::map_npy}) {
          const Tensor back = read(path);
          CHECK(back.dtype() == dtype);
          CHECK(equal(back, tensor));
        }
      }
    }
  }

  TEST_CASE(
      "a mapped array in Fortran's order has its strides, and writing leaves the file alone") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npy";
    const std::string file =
        npy("<i4", "True", "(2, 3)", bytes_of(std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
    tenon_test::put_bytes(path, file);
    const Tensor mapped = state::map_npy(path);
    CHECK(strides(mapped) == Sizes{1, 2});
    CHECK(numbers(mapped) == Doubles{1, 2, 3, 4, 5, 6});
    CHECK(strides(state::load_npy(path)) == Sizes{3, 1});
    CHECK(numbers(state::load_npy(path)) == Doubles{1, 2, 3, 4, 5, 6});
    fill_elements(mapped, 0);
    CHECK(tenon_test::bytes_of(path) == file);
  }

  TEST_CASE("big-endian numbers are turned around, each part of a complex one alone") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npy";
    for (const auto& read : {state::load_npy, state::map_npy}) {
      tenon_test::put_bytes(path, npy(">f8", "False", "(3,)", bytes_of(Doubles{1, -2, 0.5}, true)));
      CHECK(numbers(read(path)) == Doubles{1, -2, 0.5});
      tenon_test::put_bytes(
          path, npy(">i2", "True", "(2, 2)", bytes_of(std::vector<int16_t>{1, 3, 2, 4}, true)));
      CHECK(numbers(read(path)) == Doubles{1, 2, 3, 4});
      tenon_test::put_bytes(path,
                            npy(">c8", "False", "(1,)", bytes_of(std::vector<float>{3, 4}, true)));
      CHECK(numbers(view_as_real(read(path))) == Doubles{3, 4});
    }
  }

  TEST_CASE("archives come back by name, stored or packed") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npz";
    const state::NamedTensors arrays{{"x", arange(6).to(f32)}, {"y", full({2, 2}, 7)}};
    for (const bool compress : {false, true}) {
      state::save_npz(path, arrays, compress);
      for (const auto& read : {state::load_npz, state::map_npz}) {
        const state::NamedTensors back = read(path, {});
        REQUIRE(back.size() == 2);
        CHECK(back[0].first == "x");
        CHECK(equal(back[0].second, arrays[0].second));
        CHECK(equal(read(path, {"y"})[0].second, arrays[1].second));
      }
      CHECK(refusal([&] { state::load_npz(path, {"z"}); }) ==
            path + ": no array is named 'z'; the file has 'x', 'y'");
    }
    CHECK(refusal([&] {
            state::save_npz(path, {{"x", arange(2)}, {"x", arange(2)}});
          }) == path + ": two tensors have the name 'x'");
  }

  TEST_CASE("a module loads an archive by the names of its members") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npz";
    state::save_npz(path, {{"encoder.weight", full({1, 2}, 3).to(f32)},
                           {"encoder.bias", full({1}, 4).to(f32)},
                           {"other", full({1}, 0)}});
    const Module linear = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 1);
    state::load(linear, path, true, false, "encoder.");
    CHECK(numbers(linear.tensor("weight").detach()) == Doubles{3, 3});
    CHECK(numbers(linear.tensor("bias").detach()) == Doubles{4});
  }

  TEST_CASE("an array without elements is read, whatever its other sizes") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npy";
    for (const char* order : {"True", "False"}) {
      tenon_test::put_bytes(path,
                            npy("<f4", order, "(4611686018427387904, 4611686018427387904, 0)", ""));
      for (const auto& read : {state::load_npy, state::map_npy}) {
        const Tensor array = read(path);
        CHECK(array.sizes() == Sizes{int64_t{1} << 62, int64_t{1} << 62, 0});
      }
    }
  }

  TEST_CASE("names of archives are marked as UTF-8, and others are refused") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npz";
    constexpr char utf8_name = 1 << 3;  // in the second byte of the flags
    state::save_npz(path, {{"gr\xc3\xb6\xc3\x9f"
                            "e",
                            arange(2)}});
    CHECK(tenon_test::bytes_of(path)[7] == utf8_name);
    CHECK(state::load_npz(path)[0].first ==
          "gr\xc3\xb6\xc3\x9f"
          "e");
    CHECK(refusal([&] {
            state::save_npz(path, {{"x\xff", arange(2)}});
          }) == path + ": a tensor's name is not valid UTF-8: 'x?'");
  }

  TEST_CASE("files that end early and arrays of objects are refused with their path") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npy";
    tenon_test::put_bytes(path, npy("<f4", "False", "(4,)", bytes_of(std::vector<float>{1, 2})));
    for (const auto& read : {state::load_npy, state::map_npy}) {
      CHECK_THROWS_AS(read(path), IOError);
      CHECK(refusal([&] { read(path); }) ==
            path + ": the file ends in its data: the shape [4] takes 16 bytes, 8 are there");
    }
    tenon_test::put_bytes(path, npy("|O", "False", "(1,)", "x"));
    CHECK(refusal([&] { state::map_npy(path); }) ==
          path + ": arrays of Python objects are not read: save numbers");
    CHECK_THROWS_AS(state::save_npy(path, full({2}, 1).to(bf16)), TypeError);
  }
}
