// Walks over trees of modules, and what is done to all of them.
#include "core/autograd/engine/grad.hpp"
#include "core/nn/module.hpp"
#include "core/tensor/copy.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("nn/walk") {
  TEST_CASE("walks go parents first, under the first name of what is shared") {
    const Types types;
    const ModuleRef root = types.make(), left = types.make(), right = types.make();
    register_child(*root, "left", left.get());
    register_child(*left, "inner", right.get());
    register_child(*root, "right", right.get());
    CHECK(names(*root, Walk::Modules) == Names{"", "left", "left.inner"});
    CHECK(names(*root, Walk::Parameters) == Names{"weight", "left.weight", "left.inner.weight"});
    WalkOptions all;
    all.duplicates = true;
    CHECK(names(*root, Walk::Parameters, all) ==
          Names{"weight", "left.weight", "left.inner.weight", "right.weight"});
    WalkOptions own;
    own.recurse = false;
    CHECK(names(*root, Walk::Parameters, own) == Names{"weight"});
    CHECK(names(*root, Walk::Children, own) == Names{"left", "right"});
    CHECK(find_child(*root, "left.inner") == right.get());
    CHECK(has(refusal([&] { find_child(*root, "left.none"); }, TENON_ERROR_VALUE), "none"));
  }

  TEST_CASE("training is a property of the whole tree") {
    const Types types;
    const ModuleRef root = types.make(), child = types.make();
    register_child(*root, "child", child.get());
    set_training(*root, false);
    CHECK_FALSE(root->training);
    CHECK_FALSE(child->training);
    set_training(*root, true);
    CHECK(child->training);
  }

  TEST_CASE("a conversion keeps handles, and leaves integers alone") {
    const Types types;
    const ModuleRef module = types.make();
    Tensor* const weight = find_tensor(*module, "weight");
    const std::vector<float> before = read(*weight);
    const TensorRef count = contiguous_copy(*floats({7}), TENON_I64);
    register_buffer(*module, "count", count.get(), true);
    convert(*module, TENON_F64);
    CHECK(find_tensor(*module, "weight") == weight);
    CHECK(weight->view.dtype == TENON_F64);
    CHECK(weight->requires_grad());
    CHECK(read(*weight) == before);
    CHECK(find_tensor(*module, "count")->view.dtype == TENON_I64);
  }
}
