// DLPack: what another library sees of a tensor, what a tensor sees of another library's memory, and
// structs that are refused.
#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/dlpack.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

using Sizes = std::vector<int64_t>;

// Memory of another library, as it gives it.
template <class Managed>
struct Foreign {
  alignas(16) std::array<float, 8> numbers{0, 1, 2, 3, 4, 5, 6, 7};
  Sizes shape, strides;
  int released = 0;
  Managed managed{};

  Foreign(Sizes sizes, Sizes steps) : shape(std::move(sizes)), strides(std::move(steps)) {
    managed.tensor = {numbers.data(),
                      {TENON_DL_CPU, 0},
                      static_cast<int32_t>(shape.size()),
                      {TENON_DL_FLOAT, 32, 1},
                      shape.data(),
                      strides.empty() ? nullptr : strides.data(),
                      0};
    managed.manager = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager)->released; };
    if constexpr (std::is_same_v<Managed, tenon_dl_managed_versioned>)
      managed.version = {TENON_DL_MAJOR, TENON_DL_MINOR};
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
};
using Versioned = Foreign<tenon_dl_managed_versioned>;
using Legacy = Foreign<tenon_dl_managed>;

template <class Managed>
std::string refusal(Managed& foreign, bool copy = false) {
  try {
    from_dlpack(&foreign.managed, copy);
  } catch (const Error& error) {
    CHECK(foreign.released == 0);
    return error.what();
  }
  return "";
}
bool begins(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

}  // namespace

TEST_SUITE("sdk/dlpack") {
  TEST_CASE("another library sees the memory of a tensor, with its strides, until it lets it go") {
    Tensor tensor = arange(6).to(f32).reshape({2, 3});
    const void* const memory = tensor.view_record().data;
    tenon_dl_managed_versioned* given = to_dlpack(tensor.t());
    tensor = {};
    CHECK(given->version.major == 1);
    CHECK(given->version.minor == 3);
    CHECK(given->flags == 0);
    CHECK(given->tensor.data == memory);
    CHECK(given->tensor.byte_offset == 0);
    CHECK(given->tensor.device.type == TENON_DL_CPU);
    CHECK(given->tensor.rank == 2);
    CHECK(Sizes(given->tensor.shape, given->tensor.shape + 2) == Sizes{3, 2});
    CHECK(Sizes(given->tensor.strides, given->tensor.strides + 2) == Sizes{1, 3});
    CHECK(static_cast<const float*>(given->tensor.data)[5] == 5);
    given->deleter(given);
  }

  TEST_CASE("every dtype makes the round trip without a copy, by both structs") {
    for (const DType dtype :
         {boolean, u8,  u16, u32,  u64,     i8,      i16,     i32,     i64,     f16,    bf16,
          f32,     f64, c64, c128, f8_e4m3, f8_e5m2, f8_e8m0, f6_e2m3, f6_e3m2, f4_e2m1}) {
      CAPTURE(dtype_text(dtype));
      const Tensor tensor = empty_tensor({2, 3}, dtype);
      const Tensor back = from_dlpack(to_dlpack(tensor));
      CHECK(back.dtype() == dtype);
      CHECK(back.sizes() == tensor.sizes());
      CHECK(back.view_record().data == tensor.view_record().data);
      const bool packed = dtype == f6_e2m3 || dtype == f6_e3m2 || dtype == f4_e2m1;
      if (packed)
        CHECK_THROWS_AS(to_dlpack_legacy(tensor), TypeError);
      else
        CHECK(from_dlpack(to_dlpack_legacy(tensor)).dtype() == dtype);
    }
  }

  TEST_CASE("a copy is marked as one, and shares nothing") {
    const Tensor tensor = arange(4).to(f32);
    tenon_dl_managed_versioned* given = to_dlpack(tensor, true);
    CHECK(given->flags == TENON_DL_IS_COPIED);
    CHECK(given->tensor.data != tensor.view_record().data);
    given->deleter(given);
  }

  TEST_CASE("a tensor that requires grad and one without data are refused") {
    CHECK_THROWS_AS(to_dlpack(ones({2}).requires_grad_()), ValueError);
    CHECK_THROWS_AS(to_dlpack(Tensor()), Error);
  }

  TEST_CASE("memory of another library is used in place and released once, by the last tensor") {
    Versioned foreign({2, 2}, {4, 1});
    foreign.managed.tensor.byte_offset = 4;
    Tensor tensor = from_dlpack(&foreign.managed);
    Tensor row = tensor.select(0, 1);
    CHECK(tensor.to_vector<float>() == std::vector<float>{1, 2, 5, 6});
    fill_elements(row, 9);
    CHECK(foreign.numbers[5] == 9);
    tensor = {};
    CHECK(foreign.released == 0);
    std::thread([&] { row = {}; }).join();
    CHECK(foreign.released == 1);
  }

  TEST_CASE("structs before 1.0 and those without strides are row-major") {
    Legacy foreign({2, 4}, {});
    Tensor tensor = from_dlpack(&foreign.managed);
    CHECK(tensor.is_contiguous());
    CHECK(tensor.to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    tensor = {};
    CHECK(foreign.released == 1);
  }

  TEST_CASE("a read-only tensor stays so on the way in and out") {
    Versioned foreign({8}, {1});
    foreign.managed.flags = TENON_DL_READ_ONLY;
    Tensor tensor = from_dlpack(&foreign.managed);
    CHECK_THROWS_AS(fill_elements(tensor, 1), ValueError);
    tenon_dl_managed_versioned* given = to_dlpack(tensor);
    CHECK(given->flags == TENON_DL_READ_ONLY);
    given->deleter(given);
    CHECK_THROWS_AS(to_dlpack_legacy(tensor), ValueError);
    tenon_dl_managed* copied = to_dlpack_legacy(tensor, true);
    copied->deleter(copied);
  }

  TEST_CASE("negative strides are refused, or copied when asked") {
    Versioned foreign({4}, {-2});
    foreign.managed.tensor.byte_offset = 7 * sizeof(float);
    CHECK(begins(refusal(foreign),
                 "a DLPack tensor has the negative stride -2 in dimension 0: take a "
                 "copy of it"));
    const Tensor copy = from_dlpack(&foreign.managed, true);
    CHECK(foreign.released == 1);
    CHECK(copy.to_vector<float>() == std::vector<float>{7, 5, 3, 1});
  }

  TEST_CASE("zero sizes and no dimensions are read") {
    Versioned none({0, 3}, {3, 1});
    none.managed.tensor.data = nullptr;
    CHECK(from_dlpack(&none.managed).sizes() == Sizes{0, 3});
    CHECK(none.released == 1);
    Versioned number({}, {});
    CHECK(from_dlpack(&number.managed).to_vector<float>() == std::vector<float>{0});
  }

  TEST_CASE("structs that cannot be read are refused and stay the caller's") {
    const auto changed = [](auto&& change) {
      Versioned foreign({2, 2}, {2, 1});
      change(foreign.managed);
      return refusal(foreign);
    };
    CHECK(changed([](auto&) {}) == "");
    CHECK(begins(changed([](auto& m) { m.version.major = 2; }),
                 "a DLPack tensor is of version 2.3; 1.x is read"));
    CHECK(begins(changed([](auto& m) {
                   m.tensor.device = {TENON_DL_CUDA, 1};
                 }),
                 "a DLPack tensor is on device 2:1, whose memory the CPU does not read"));
    CHECK(
        begins(changed([](auto& m) { m.tensor.dtype.lanes = 4; }),
               "a DLPack tensor has elements of code 2, 32 bits and 4 lanes, which no dtype has"));
    CHECK(begins(changed([](auto& m) {
                   m.tensor.dtype = {TENON_DL_F4_E2M1FN, 4, 1};
                 }),
                 "a DLPack tensor has packed elements of 4 bits"));
    CHECK(begins(changed([](auto& m) { m.tensor.byte_offset = 2; }),
                 "the data of a DLPack tensor is not aligned to its elements of f32"));
    for (const auto& broken : {Sizes{-1, 2}, Sizes{INT64_MAX, 2}}) {
      Versioned foreign(broken, {2, 1});
      CHECK(refusal(foreign) != "");
    }
    CHECK(changed([](auto& m) { m.tensor.rank = -1; }) != "");
    CHECK(changed([](auto& m) { m.tensor.rank = 17; }) != "");
    CHECK(changed([](auto& m) { m.tensor.data = nullptr; }) != "");
    CHECK(changed([](auto& m) { m.tensor.shape = nullptr; }) != "");
    tenon_dl_managed_versioned* nothing = nullptr;
    CHECK_THROWS_AS(from_dlpack(nothing), Error);
  }
}
