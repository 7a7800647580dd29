// Which layouts hold one element in several places.
#include "core/autograd/record/inplace.hpp"

#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;

TEST_SUITE("inplace") {
  TEST_CASE("no overlap is missed, and none is seen in layouts that nest") {
    std::mt19937 random(3);
    int overlapping = 0;
    for (int round = 0; round < 2000; ++round) {
      std::vector<int64_t> shape(random() % 4);
      std::vector<int64_t> strides(shape.size());
      for (int64_t& size : shape) size = static_cast<int64_t>(random() % 4);
      for (int64_t& stride : strides) stride = static_cast<int64_t>(random() % 13) - 6;
      std::multiset<int64_t> places{0};
      for (size_t d = 0; d < shape.size(); ++d) {
        std::multiset<int64_t> more;
        for (const int64_t place : places) {
          for (int64_t i = 0; i < shape[d]; ++i) more.insert(place + i * strides[d]);
        }
        places = more;
      }
      const std::set<int64_t> distinct(places.begin(), places.end());
      if (distinct.size() == places.size()) continue;
      ++overlapping;
      CHECK(may_overlap(shape, strides));
    }
    CHECK(overlapping > 100);
    CHECK_FALSE(may_overlap(std::vector<int64_t>{3, 4}, std::vector<int64_t>{4, 1}));
    CHECK_FALSE(may_overlap(std::vector<int64_t>{3, 4}, std::vector<int64_t>{1, -3}));
    CHECK(may_overlap(std::vector<int64_t>{3, 4}, std::vector<int64_t>{0, 1}));
  }

  TEST_CASE("a changed leaf or an expanded tensor is refused, with the op's name") {
    const TensorRef leaf = tensor_of<float>({2}, {1, 2});
    leaf->view.flags |= TENON_TENSOR_REQUIRES_GRAD;
    CHECK_THROWS_WITH_AS(check_inplace(*leaf, "scale_"),
                         doctest::Contains("scale_(): a leaf tensor that requires grad"), Error);
    const TensorRef one = tensor_of<float>({1}, {1});
    const int64_t size = 3, stride = 0;
    const TensorRef wide = make_alias(*one, {&size, 1}, {&stride, 1}, 0);
    CHECK_THROWS_WITH_AS(check_inplace(*wide, "scale_"), doctest::Contains("clone it first"),
                         Error);
  }
}
