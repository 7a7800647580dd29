// Classes of operands: what is read, what is refused, and which tensors belong to them.
#include <random>

#include "core/dispatch/table/provider_preference.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

bool holds(const std::string& text, std::vector<int64_t> shape, tenon_dtype dtype = TENON_F32) {
  return ShapeClass(text).contains(*make_empty(dtype, shape));
}

std::string fault(const std::string& text) {
  try {
    static_cast<void>(ShapeClass(text));
    return "none";
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    return error.message;
  }
}

}  // namespace

TEST_SUITE("dispatch/shape_class") {
  TEST_CASE("a class has a dtype or none, and a size, a range or any for each dimension") {
    CHECK(holds("f32[64..127, 784]", {64, 784}));
    CHECK(holds("f32[64..127, 784]", {127, 784}));
    CHECK_FALSE(holds("f32[64..127, 784]", {128, 784}));
    CHECK_FALSE(holds("f32[64..127, 784]", {63, 784}));
    CHECK_FALSE(holds("f32[64..127, 784]", {64, 784, 1}));
    CHECK_FALSE(holds("f32[64..127, 784]", {64, 784}, TENON_F64));
    CHECK(holds("[64..127,784]", {64, 784}, TENON_F64));
    CHECK(holds("float64[*, 5.., ..7]", {0, 5, 7}, TENON_F64));
    CHECK_FALSE(holds("[*, 5.., ..7]", {0, 4, 7}));
    CHECK_FALSE(holds("[*, 5.., ..7]", {0, 5, 8}));
    CHECK(holds("[]", {}));
    CHECK_FALSE(holds("[]", {1}));
    CHECK(ShapeClass("[ 1 .. 2 ,*]").text() == "[ 1 .. 2 ,*]");
  }

  TEST_CASE("what is not a class is refused with an example") {
    for (const char* text :
         {"", "f32", "f32[", "f32]", "f31[1]", "f32[1,]", "[,1]", "[-1]", "[1.5]", "[..]", "[3..2]",
          "[1...2]", "[a]", "[1 2]", "[99999999999999999999]", "[1]x",
          "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"}) {
      CAPTURE(text);
      CHECK(has(fault(text), "is not a class of shapes; write it like 'f32[64..127, 784]'"));
    }
  }

  TEST_CASE("any class holds for the shapes within its bounds, and for no others") {
    std::mt19937 random(3);
    for (int round = 0; round < 500; ++round) {
      std::string text = "[";
      std::vector<int64_t> shape, low, high;
      const auto rank = random() % 4;
      for (size_t i = 0; i < rank; ++i) {
        const auto a = static_cast<int64_t>(random() % 6),
                   b = a + static_cast<int64_t>(random() % 4);
        const auto form = random() % 5;
        low.push_back(form == 1 || form == 4 ? 0 : a);
        high.push_back(form == 2 || form == 4 ? INT64_MAX : form == 3 ? a : b);
        text += (i == 0 ? "" : ", ") + (form == 0   ? std::to_string(a) + ".." + std::to_string(b)
                                        : form == 1 ? ".." + std::to_string(b)
                                        : form == 2 ? std::to_string(a) + ".."
                                        : form == 3 ? std::to_string(a)
                                                    : std::string("*"));
        shape.push_back(static_cast<int64_t>(random() % 10));
      }
      text += "]";
      bool within = true;
      for (size_t i = 0; i < rank; ++i)
        within = within && shape[i] >= low[i] && shape[i] <= high[i];
      CAPTURE(text);
      CHECK(holds(text, shape) == within);
    }
  }
}
