// Shapes: counts, strides, broadcasting.
#include "core/tensor/shape.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

using Values = std::vector<int64_t>;

Values values(const Sizes& sizes) { return {sizes.values, sizes.values + sizes.rank}; }
Values strides_of(const Values& shape) {
  Values strides(shape.size());
  contiguous_strides(shape, strides.data());
  return strides;
}

}  // namespace

TEST_SUITE("shape") {
  TEST_CASE("text") {
    CHECK(shape_text(Values{2, 3}) == "[2, 3]");
    CHECK(shape_text(Values{}) == "[]");
  }

  TEST_CASE("counts are checked") {
    CHECK(element_count(Values{}) == 1);
    CHECK(element_count(Values{2, 3, 4}) == 24);
    CHECK(element_count(Values{2, 0, 4}) == 0);
    CHECK(element_count(Values{INT64_MAX, INT64_MAX, 0}) == 0);
    CHECK_THROWS_WITH_AS(element_count(Values{2, -1}), "negative size -1 in shape [2, -1]", Error);
    CHECK_THROWS_WITH_AS(element_count(Values{0, -1}), "negative size -1 in shape [0, -1]", Error);
    CHECK_THROWS_AS(element_count(Values{INT64_MAX, 2}), Error);
    CHECK(element_count(Values(16, 1)) == 1);
    CHECK_THROWS_WITH_AS(element_count(Values(17, 1)),
                         "a shape has at most 16 dimensions, this one has 17", Error);
  }

  TEST_CASE("contiguous strides, with empty dimensions too") {
    CHECK(strides_of({2, 3, 4}) == Values{12, 4, 1});
    CHECK(strides_of({}) == Values{});
    CHECK(strides_of({2, 0, 4}) == Values{4, 4, 1});
  }

  TEST_CASE("broadcasting aligns to the right") {
    CHECK(values(broadcast_shapes(Values{2, 3}, Values{3})) == Values{2, 3});
    CHECK(values(broadcast_shapes(Values{2, 1}, Values{4, 1, 3})) == Values{4, 2, 3});
    CHECK(values(broadcast_shapes(Values{}, Values{5})) == Values{5});
    CHECK(values(broadcast_shapes(Values{0}, Values{1})) == Values{0});
    CHECK_THROWS_WITH_AS(
        broadcast_shapes(Values{2, 3}, Values{4}),
        "shapes [2, 3] and [4] cannot be broadcast together: sizes 3 and 4 differ at dimension 1",
        Error);
    CHECK_THROWS_AS(broadcast_shapes(Values{0}, Values{2}), Error);
  }

  TEST_CASE("expanding repeats sizes of one") {
    CHECK(values(expanded_strides(Values{2, 1}, Values{1, 1}, Values{4, 2, 3})) == Values{0, 1, 0});
    CHECK(values(expanded_strides(Values{}, Values{}, Values{2})) == Values{0});
    CHECK_THROWS_WITH_AS(
        expanded_strides(Values{3}, Values{1}, Values{2, 2}),
        "shape [3] cannot be expanded to [2, 2]: sizes 3 and 2 differ at dimension 1", Error);
    CHECK_THROWS_AS(expanded_strides(Values{1, 3}, Values{3, 1}, Values{3}), Error);
  }
}
