// Histories of leaves: one accumulator, which keeps the leaf while edges lead to it.
#include "core/autograd/graph/history.hpp"

#include <doctest/doctest.h>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/graph/accumulator.hpp"
#include "core/base/error.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;

TEST_SUITE("history") {
  TEST_CASE("a tensor that requires no grad has no edge") {
    const TensorRef tensor = tensor_of<float>({2}, {1, 2});
    CHECK_FALSE(gradient_edge(*tensor).node);
  }

  TEST_CASE("edges to a leaf share its accumulator and keep the leaf") {
    TensorRef leaf = tensor_of<float>({2}, {1, 2});
    set_requires_grad(*leaf, true);
    Tensor* const raw = leaf.get();
    const Edge first = gradient_edge(*leaf);
    Edge second = gradient_edge(*leaf);
    REQUIRE(first.node);
    CHECK(first.node.get() == second.node.get());
    CHECK(raw->references == 2);
    second = {};
    CHECK(raw->references == 2);
    leaf = {};
    CHECK(raw->references == 1);
    CHECK(&static_cast<Accumulator&>(*first.node).leaf() == raw);
  }

  TEST_CASE("an accumulator without edges stays with its leaf, and is used again") {
    const TensorRef leaf = tensor_of<float>({2}, {1, 2});
    set_requires_grad(*leaf, true);
    Node* const node = gradient_edge(*leaf).node.get();
    CHECK(leaf->references == 1);
    CHECK(gradient_edge(*leaf).node.get() == node);
  }

  TEST_CASE("a history is owned by its tensor, and replaced as a whole") {
    TensorRef leaf = tensor_of<float>({2}, {1, 2});
    set_requires_grad(*leaf, true);
    const TensorRef alias = make_detached(*leaf);
    set_history(*alias, gradient_edge(*leaf));
    CHECK(alias->requires_grad());
    CHECK(leaf->references == 2);
    set_history(*alias, gradient_edge(*alias));
    CHECK(leaf->references == 2);
    CHECK_FALSE(is_leaf(*alias));
    CHECK_THROWS_AS(set_requires_grad(*alias, false), Error);
  }
}
