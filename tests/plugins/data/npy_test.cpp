// read_npy and write_npy: every dtype and order, and every fault of a file.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>

#include "../compare.hpp"

using namespace compare;
using tenon::data::read_npy;
using tenon::data::write_npy;

namespace {

const std::string path = "npy_test.npy";

std::string file_of(const std::string& dictionary, const std::string& bytes, int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return file + dictionary + bytes;
}
Tensor read(const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  struct Remove {
    ~Remove() { std::filesystem::remove(path); }
  } const remove;
  return read_npy(path);
}
std::string refused(const std::string& bytes) {
  return refusal_of("read_npy", [&] { read(bytes); });
}
std::string header(const std::string& descr, const std::string& shape,
                   const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("what write_npy writes, read_npy reads, in every dtype and shape") {
    for (const DType dtype :
         {tenon::f32, tenon::f64, tenon::i64, tenon::i32, tenon::i16, tenon::i8, tenon::u8}) {
      for (const std::vector<int64_t>& shape :
           std::vector<std::vector<int64_t>>{{}, {0}, {5}, {2, 3}, {3, 0, 2}, {2, 3, 4, 5}}) {
        const Tensor tensor =
            numbers(shape, dtype == tenon::u8 ? tenon::i64 : dtype).abs().to(dtype);
        write_npy(path, tensor);
        CHECK(std::filesystem::file_size(path) % 64 ==
              static_cast<size_t>(tensor.numel() * tenon::element_size(dtype)) % 64);
        const Tensor back = read_npy(path);
        CHECK(back.dtype() == dtype);
        check_close(back, tensor, 0);
      }
    }
    for (const DType dtype : {tenon::f16, tenon::u16, tenon::u32, tenon::u64}) {
      const Tensor tensor = numbers({3, 4}, tenon::i64).abs().to(dtype);
      write_npy(path, tensor);
      CHECK(read_npy(path).dtype() == dtype);
      check_close(read_npy(path), tensor, 0);
    }
    for (const DType dtype : {tenon::c64, tenon::c128}) {  // <c8 and <c16
      const Tensor tensor = complex(numbers({3, 4}), numbers({3, 4}, tenon::f32, 2)).to(dtype);
      write_npy(path, tensor);
      CHECK(read_npy(path).dtype() == dtype);
      CHECK(equal(read_npy(path), tensor));
    }
    CHECK(refusal_of("write_npy", [] { write_npy(path, numbers({2}).to(tenon::bf16)); }) ==
          ".npy files have no bf16; convert the tensor to f32 with to(), or write a safetensors "
          "file");
    const Tensor truths = numbers({7}) > 0;
    write_npy(path, truths);
    CHECK(read_npy(path).to_vector<bool>() == truths.to_vector<bool>());
    const Tensor turned = numbers({3, 4}).t();
    write_npy(path, turned);
    check_close(read_npy(path), turned, 0);
    std::filesystem::remove(path);
  }

  TEST_CASE(
      "read_npy takes versions 1 to 3, Fortran order, and the ways in which headers are written") {
    const std::string six = bytes_of<float>({0, 1, 2, 3, 4, 5});
    for (const int version : {1, 2, 3}) {
      check_values(read(file_of(header("<f4", "(2, 3)"), six, version)), {2, 3},
                   {0, 1, 2, 3, 4, 5});
    }
    const Tensor turned = read(file_of(header("<f4", "(2, 3)", "True"), six));
    check_values(turned, {2, 3}, {0, 2, 4, 1, 3, 5});
    CHECK(turned.is_contiguous());
    check_values(read(file_of("{\"shape\":(6L,),\"fortran_order\":True,\"descr\":\"=f4\"}", six)),
                 {6}, {0, 1, 2, 3, 4, 5});
    check_values(read(file_of(header("|i1", "()"), "\x07")), {}, {7});
    check_values(read(file_of(header(">i1", "(1,)"), "\xff")), {1}, {-1});
    check_values(read(file_of(header("|b1", "(3,)"), std::string("\0\1\2", 3))), {3}, {0, 1, 1});
    CHECK(read(file_of(header("<f8", "(0, 99999999999999)"), "")).numel() == 0);
  }

  TEST_CASE("read_npy names what is wrong with a file") {
    const std::string four = bytes_of<float>({1});
    CHECK(refused("") ==
          "npy_test.npy: this is not a .npy file: it does not begin with the bytes 93 'NUMPY'");
    CHECK(refused("PK\3\4 a zip file") ==
          "npy_test.npy: this is not a .npy file: it does not begin with the bytes 93 'NUMPY'");
    CHECK(refused("\x93NUMPY\x01") == "npy_test.npy: the file ends in its header");
    CHECK(refused(file_of(header("<f4", "(1,)"), four, 4)) ==
          "npy_test.npy: version 4.0 of the format is not known; 1.0, 2.0 and 3.0 are");
    CHECK(refused(file_of(header("<f4", "(1,)"), four).substr(0, 40)) ==
          "npy_test.npy: the file ends in its header");
    CHECK(refused(file_of(header("<f4", "(2, 3)"), four)) ==
          "npy_test.npy: the file ends in its data: the shape [2, 3] takes 24 bytes, 4 are there");
    CHECK(refused(file_of(header("<f4", "(4611686018427387904, 4)"), four)) ==
          "npy_test.npy: the file ends in its data: the shape [4611686018427387904, 4] takes more "
          "bytes than can be "
          "counted, 4 are there");
    CHECK(refused(file_of(header("<f4", "(99999999999999999999,)"), four)) ==
          "npy_test.npy: a size in the shape is too large");
    CHECK(refused(file_of(header("<f4", "(1,)"), four + "more")) ==
          "npy_test.npy: 4 bytes follow the data of shape [1]");
    CHECK(refused(file_of(header("<c32", "(1,)"), four)) ==
          "npy_test.npy: dtype 'c32' is not read; b1, u1, u2, u4, u8, i1, i2, i4, i8, "
          "f2, f4, f8, c8 and c16 are");
    check_values(read(file_of(header(">f4", "(1,)"), std::string("\x3f\xc0\0\0", 4))), {1}, {1.5});
    CHECK(refused(file_of(header("|O", "(1,)"), four)) ==
          "npy_test.npy: arrays of Python objects are not read: save numbers");
    CHECK(refused(
              file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", four)) ==
          "npy_test.npy: arrays of records are not read: save each field alone");
    CHECK(refused(file_of("{'descr': '<f4', 'shape': (1,)}", four)) ==
          "npy_test.npy: the header has no 'fortran_order'");
    CHECK(refused(file_of("{'descr': '<f4', 'descr': '<f4'}", four)) ==
          "npy_test.npy: the header has 'descr' twice");
    CHECK(refused(file_of("{'evil': 1}", four)) ==
          "npy_test.npy: the header has an unknown key 'evil'");
    CHECK(refused(file_of("{'shape': (1,), 'fortran_order': 1}", four)) ==
          "npy_test.npy: the header is broken at byte 33: expected True or False, found '1}'");
    CHECK(refused(file_of("{'shape': (-1,)}", four)) ==
          "npy_test.npy: the header is broken at byte 11: expected a size, found '-1,)}'");
    CHECK_THROWS_AS(read(file_of(header("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), four)),
                    tenon::ValueError);
    CHECK_THROWS_AS(read(file_of(header("<f4", "(2,)"), four)), tenon::IOError);
    CHECK_THROWS_AS(read(file_of(header("<c32", "(1,)"), four)), tenon::ValueError);
    CHECK(refusal_of("read_npy", [] { read_npy("no such file.npy"); }) ==
          "cannot read 'no such file.npy': No such file or directory");
  }

  TEST_CASE("write_npy that fails leaves the old file") {
    CHECK_THROWS_AS(write_npy("no such folder/x.npy", tenon::ones({2})), tenon::IOError);
    write_npy(path, tenon::ones({2}));
    write_npy(path, tenon::zeros({3}));
    check_values(read_npy(path), {3}, {0, 0, 0});
    std::filesystem::remove(path);
  }
}
