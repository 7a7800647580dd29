// Saved tensors: the values that a node keeps.
#include "core/autograd/graph/saved_tensor.hpp"

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;

TEST_SUITE("saved_tensor") {
  TEST_CASE("it owns a reference, and says what it keeps") {
    const TensorRef tensor = tensor_of<double>({2, 3}, {1, 2, 3, 4, 5, 6});
    SavedTensor saved;
    saved.tensor = TensorRef(tensor).give();
    CHECK(saved.bytes() == 48);
    CHECK_FALSE(saved.packs());
    CHECK(tensor->references == 2);
    saved.release();
    CHECK(tensor->references == 1);
  }

  TEST_CASE("results of the node and listed tensors are distinguished by their kind") {
    using Kind = SavedTensor::Kind;
    for (const Kind kind : {Kind::Argument, Kind::ShapeOnly, Kind::Result, Kind::Listed,
                            Kind::ListedOwnResult, Kind::ListedIntermediate}) {
      SavedTensor saved;
      saved.kind = kind;
      CHECK(saved.own_result() == (kind == Kind::Result || kind == Kind::ListedOwnResult));
      CHECK(saved.is_listed() ==
            (kind != Kind::Argument && kind != Kind::ShapeOnly && kind != Kind::Result));
    }
  }
}
