// f8, f6 and f4 in safetensors files: their bytes, packed where elements have fewer than 8 bits.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using tenon_test::TemporaryFolder;

namespace {

using Bytes = std::vector<uint8_t>;

Tensor codes(DType dtype, const Bytes& bytes) {
  Tensor tensor = empty_tensor({static_cast<int64_t>(bytes.size())}, dtype);
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(tensor.view_record().data));
  return tensor;
}
Bytes codes_of(const Tensor& tensor) {
  const auto* data = static_cast<const uint8_t*>(tensor.view_record().data);
  return Bytes(data, data + tensor.numel());
}
// The data of a file with one tensor.
Bytes data_of(const std::string& path) {
  const std::string file = tenon_test::bytes_of(path);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return Bytes(file.begin() + 8 + static_cast<std::ptrdiff_t>(length), file.end());
}

}  // namespace

TEST_SUITE("state/narrow_file") {
  TEST_CASE("every narrow dtype comes back, copied and mapped, of one piece and of several") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.safetensors";
    const std::pair<DType, int> dtypes[] = {{f8_e4m3, 256}, {f8_e5m2, 256}, {f8_e8m0, 256},
                                            {f6_e2m3, 64},  {f6_e3m2, 64},  {f4_e2m1, 16}};
    for (const auto& [dtype, count] : dtypes) {
      for (const size_t size : {size_t{0}, size_t{8}, size_t{200'000}}) {
        CAPTURE(dtype_text(dtype));
        Bytes bytes(size);
        for (size_t i = 0; i < size; ++i)
          bytes[i] = static_cast<uint8_t>(i * 7 % static_cast<size_t>(count));
        state::save_tensors(path, {{"w", codes(dtype, bytes)}, {"b", ones({3})}});
        for (const auto& read : {state::load_tensors, state::map_tensors}) {
          const state::NamedTensors back = read(path, {"w"});
          CHECK(back[0].second.dtype() == dtype);
          CHECK(codes_of(back[0].second) == bytes);
        }
      }
    }
  }

  TEST_CASE("elements of 4 and 6 bits are packed from the lowest bit of each byte on") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.safetensors";
    state::save_tensors(path, {{"w", codes(f4_e2m1, {0x1, 0x2, 0xf, 0x0})}});
    CHECK(data_of(path) == Bytes{0x21, 0x0f});
    CHECK(tenon_test::bytes_of(path).find(R"("dtype":"F4","shape":[4])") != std::string::npos);
    state::save_tensors(path, {{"w", codes(f6_e2m3, {0x01, 0x3f, 0x00, 0x2a})}});
    CHECK(data_of(path) == Bytes{0xc1, 0x0f, 0xa8});
  }

  TEST_CASE("elements that do not fill whole bytes are neither written nor read") {
    const TemporaryFolder folder;
    const std::string path = folder / "a.safetensors";
    CHECK_THROWS_AS(state::save_tensors(path, {{"w", codes(f4_e2m1, {1, 2, 3})}}), ValueError);
    std::string header = R"({"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})";
    header.resize(56, ' ');
    tenon_test::put_bytes(path, std::string(1, static_cast<char>(header.size())) +
                                    std::string(7, '\0') + header + "xy");
    CHECK_THROWS_AS(state::load_tensors(path), ValueError);
  }
}
