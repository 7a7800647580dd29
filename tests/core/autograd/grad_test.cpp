// requires_grad, .grad, and what may be assigned to it.
#include "core/autograd/engine/grad.hpp"

#include <doctest/doctest.h>

#include "core/autograd/graph/accumulator.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/base/error.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;
using tenon::test::values_of;

TEST_SUITE("grad") {
  TEST_CASE("only floating tensors require grad, and only leaves change it") {
    const TensorRef integers = tensor_of<int64_t>({1}, {1});
    CHECK_THROWS_WITH_AS(set_requires_grad(*integers, true),
                         doctest::Contains("floating point and complex dtype"), Error);
    set_requires_grad(*integers, false);
    const TensorRef leaf = tensor_of<float>({2}, {1, 2});
    set_requires_grad(*leaf, true);
    CHECK(leaf->requires_grad());
    set_requires_grad(*leaf, false);
    CHECK_FALSE(leaf->requires_grad());
    CHECK_THROWS_WITH_AS(retain_grad(*leaf), doctest::Contains("does not require grad"), Error);
  }

  TEST_CASE("an assigned gradient has the shape and the dtype of its tensor") {
    const TensorRef leaf = tensor_of<float>({2}, {1, 2});
    CHECK_FALSE(grad_of(*leaf));
    CHECK_THROWS_WITH_AS(set_grad(*leaf, tensor_of<float>({1}, {1}).get()),
                         "assigned grad has shape [1] but the tensor has shape [2]", Error);
    CHECK_THROWS_WITH_AS(set_grad(*leaf, tensor_of<double>({2}, {1, 2}).get()),
                         "assigned grad has dtype f64 but the tensor has dtype f32", Error);
    const TensorRef grad = tensor_of<float>({2}, {3, 4});
    set_grad(*leaf, grad.get());
    CHECK(grad_of(*leaf).get() == grad.get());
    set_grad(*leaf, nullptr);
    CHECK_FALSE(grad_of(*leaf));
  }

  TEST_CASE("the first gradient is kept, as a copy where it is shared") {
    const TensorRef leaf = tensor_of<float>({2}, {1, 2});
    TensorRef own = tensor_of<float>({2}, {3, 4});
    Tensor* const raw = own.get();
    accumulate_grad(*leaf, raw, false);
    CHECK(grad_of(*leaf).get() == raw);
    set_grad(*leaf, nullptr);
    const TensorRef shared = own;
    accumulate_grad(*leaf, raw, false);
    CHECK(grad_of(*leaf).get() != raw);
    CHECK(values_of<float>(*grad_of(*leaf)) == std::vector<float>{3, 4});
  }

  TEST_CASE("another value keeps hooks and requires_grad, with a gradient of its dtype") {
    const TensorRef leaf = tensor_of<float>({2}, {1, 2});
    set_requires_grad(*leaf, true);
    const Edge edge = gradient_edge(*leaf);
    const TensorRef value = tensor_of<double>({2}, {5, 6});
    const TensorRef grad = tensor_of<double>({2}, {7, 8});
    replace_value(*leaf, *value, grad.get());
    CHECK(leaf->requires_grad());
    CHECK(is_leaf(*leaf));
    CHECK(grad_of(*leaf).get() == grad.get());
    CHECK(edge.node->outputs()[0].dtype == TENON_F64);
    CHECK(gradient_edge(*leaf).node.get() == edge.node.get());
  }
}
