// Element types: names, sizes, categories and promotion.
#include "core/tensor/dtype.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

#define TENON_CODE(name, code, ...) code,
constexpr tenon_dtype kAll[] = {TENON_ALL_DTYPES(TENON_CODE)};
constexpr tenon_dtype kTyped[] = {TENON_DTYPES(TENON_CODE)};
#undef TENON_CODE

std::string promoted(tenon_dtype a, tenon_dtype b) { return dtype_text(promote_dtypes(a, b)); }

}  // namespace

TEST_SUITE("dtype") {
  TEST_CASE("sizes and categories") {
    CHECK(dtype_bytes(TENON_BOOL) == 1);
    CHECK(dtype_bytes(TENON_I16) == 2);
    CHECK(dtype_bytes(TENON_F32) == 4);
    CHECK(dtype_bytes(TENON_F64) == 8);
    CHECK(dtype_bytes(TENON_DTYPE_NONE) == 0);
    CHECK(dtype_bytes(200) == 0);
    CHECK(dtype_category(TENON_BOOL) == DtypeCategory::boolean);
    CHECK(dtype_category(TENON_U8) == DtypeCategory::integer);
    CHECK(dtype_floating(TENON_F32));
    CHECK_FALSE(dtype_floating(TENON_I64));
    CHECK_FALSE(dtype_valid(TENON_DTYPE_NONE));
    CHECK_FALSE(dtype_valid(TENON_DTYPE_COUNT));
  }

  TEST_CASE("short and long names are found, and no others") {
    for (const tenon_dtype dtype : kAll) CHECK(dtype_find(dtype_text(dtype)) == dtype);
    CHECK(dtype_find("float32") == TENON_F32);
    CHECK(dtype_find("float64") == TENON_F64);
    CHECK(dtype_find("double") == TENON_F64);
    CHECK(dtype_find("int8") == TENON_I8);
    CHECK(dtype_find("uint8") == TENON_U8);
    CHECK(dtype_find("F32") == TENON_DTYPE_NONE);
    CHECK(dtype_find("") == TENON_DTYPE_NONE);
    CHECK(dtype_find("f8") == TENON_DTYPE_NONE);
    CHECK(dtype_find("half") == TENON_F16);
    CHECK(dtype_find("complex64") == TENON_C64);
    CHECK(dtype_find("complex128") == TENON_C128);
    CHECK(dtype_find("bfloat16") == TENON_BF16);
    CHECK(dtype_find("uint64") == TENON_U64);
    CHECK_THROWS_AS(dtype_check(99), Error);
    CHECK(std::string(dtype_text(99)) == "none");
  }

  TEST_CASE("a float wins over integers, integers over bool, wide over narrow") {
    CHECK(promoted(TENON_BOOL, TENON_BOOL) == "bool");
    CHECK(promoted(TENON_BOOL, TENON_U8) == "u8");
    CHECK(promoted(TENON_I64, TENON_F32) == "f32");
    CHECK(promoted(TENON_F32, TENON_F64) == "f64");
    CHECK(promoted(TENON_U8, TENON_I8) == "i16");
    CHECK(promoted(TENON_I8, TENON_U8) == "i16");
    CHECK(promoted(TENON_U8, TENON_I16) == "i16");
    CHECK(promoted(TENON_I32, TENON_I8) == "i32");
    CHECK(promoted(TENON_DTYPE_NONE, TENON_I8) == "i8");
    CHECK(promoted(TENON_F16, TENON_BF16) == "f32");
    CHECK(promoted(TENON_F16, TENON_F32) == "f32");
    CHECK(promoted(TENON_BF16, TENON_F64) == "f64");
    CHECK(promoted(TENON_BF16, TENON_I64) == "bf16");
  }

  TEST_CASE("u16, u32 and u64 mix with floats alone") {
    CHECK(promoted(TENON_U16, TENON_U16) == "u16");
    CHECK(promoted(TENON_U64, TENON_F16) == "f16");
    CHECK(promoted(TENON_F32, TENON_U32) == "f32");
    for (const tenon_dtype other : {TENON_BOOL, TENON_U8, TENON_I64, TENON_U32})
      CHECK(promoted(TENON_U16, other) == "none");
    CHECK_THROWS_WITH_AS(
        common_dtype(TENON_U16, TENON_I32),
        "u16 and i32 have no common dtype: u16, u32 and u64 mix with floating "
        "and complex dtypes alone; convert one of the tensors with to(), to i64 for example",
        Error);
  }

  TEST_CASE("complex dtypes win over all others, and are as wide as their parts have to be") {
    CHECK(promoted(TENON_F32, TENON_C64) == "c64");
    CHECK(promoted(TENON_F64, TENON_C64) == "c128");
    CHECK(promoted(TENON_F32, TENON_C128) == "c128");
    CHECK(promoted(TENON_BF16, TENON_C64) == "c64");
    CHECK(promoted(TENON_I64, TENON_C64) == "c64");
    CHECK(promoted(TENON_U64, TENON_C64) == "c64");
    CHECK(promoted(TENON_BOOL, TENON_C128) == "c128");
    CHECK(promoted(TENON_C64, TENON_C128) == "c128");
    CHECK(dtype_differentiable(TENON_C64));
    CHECK_FALSE(dtype_floating(TENON_C64));
    CHECK(real_dtype(TENON_C128) == TENON_F64);
    CHECK(complex_dtype(TENON_F16) == TENON_C64);
  }

  TEST_CASE("promotion does not depend on the order, and never loses the category") {
    for (const tenon_dtype a : kAll) {
      for (const tenon_dtype b : kAll) {
        CHECK(promote_dtypes(a, b) == promote_dtypes(b, a));
        if (promote_dtypes(a, b) == TENON_DTYPE_NONE) continue;
        CHECK(dtype_category(promote_dtypes(a, b)) ==
              std::max(dtype_category(a), dtype_category(b)));
      }
    }
  }

  TEST_CASE("visiting gives the C++ type") {
    for (const tenon_dtype dtype : kTyped) {
      visit_dtype(dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        CHECK(dtype_of<T>() == dtype);
        CHECK(static_cast<int64_t>(sizeof(T)) == dtype_bytes(dtype));
      });
    }
    CHECK_THROWS_AS(visit_dtype(0, [](auto) {}), Error);
    CHECK_THROWS_AS(visit_dtype(TENON_F8_E4M3, [](auto) {}), Error);
  }
}
