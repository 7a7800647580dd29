// Scopes of saved-tensor hooks: what is packed, what comes back, and what is refused.
#include "core/autograd/hooks/saved_hooks.hpp"

#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Hooks that keep the tensor itself, and count.
struct Counts {
  int packed = 0, unpacked = 0, dropped = 0, destroyed = 0;
  std::function<void(Tensor&)> while_packing;
  TensorRef instead;  // result of unpack
};

tenon_saved_hooks hooks(Counts& counts) {
  tenon_saved_hooks made{};
  made.size = sizeof made;
  made.state = &counts;
  made.pack = [](void* state, Tensor* tensor, void** packed, tenon_error** error) {
    return guarded(error, [&] {
      auto& own = *static_cast<Counts*>(state);
      ++own.packed;
      if (own.while_packing) own.while_packing(*tensor);
      *packed = TensorRef(tensor).give();
    });
  };
  made.unpack = [](void* state, void* packed, Tensor** tensor, tenon_error**) {
    auto& own = *static_cast<Counts*>(state);
    ++own.unpacked;
    *tensor = (own.instead ? own.instead : TensorRef(static_cast<Tensor*>(packed))).give();
    return tenon_status{TENON_OK};
  };
  made.drop = [](void* state, void* packed) {
    ++static_cast<Counts*>(state)->dropped;
    static_cast<Tensor*>(packed)->release();
  };
  made.destroy = [](void* state) { ++static_cast<Counts*>(state)->destroyed; };
  return made;
}

struct Scope {
  explicit Scope(Counts& counts) { push_saved_hooks(hooks(counts)); }
  ~Scope() { pop_saved_hooks(); }
};

}  // namespace

TEST_SUITE("autograd/saved_hooks") {
  TEST_CASE("a tensor is packed without its history, which stays beside it") {
    Counts counts;
    bool had_history = true;
    counts.while_packing = [&](Tensor& tensor) { had_history = tensor.requires_grad(); };
    const TensorRef x = leaf({1, 2});
    std::unique_ptr<PackedTensor> packed;
    {
      const Scope scope(counts);
      packed.reset(pack_saved(*x, true, "node"));
    }
    REQUIRE(packed);
    CHECK_FALSE(had_history);
    CHECK(packed->edge.node.get() == gradient_edge(*x).node.get());
    CHECK(packed->shape == std::vector<int64_t>{2});
    CHECK(read(*unpack_saved(*packed, "node")) == std::vector<float>{1, 2});
    CHECK_FALSE(unpack_saved(*packed, "node")->requires_grad());
    CHECK(counts.unpacked == 2);
    CHECK(counts.destroyed == 0);  // packed values keep the hooks
    packed.reset();
    CHECK(counts.dropped == 1);
    CHECK(counts.destroyed == 1);
  }

  TEST_CASE("the innermost scope packs, outside of which hooks do not see themselves") {
    Counts outer, inner;
    bool scope_seen = true, records_inside = true;
    inner.while_packing = [&](Tensor&) {
      scope_seen = thread_state.saved_scope != nullptr;
      records_inside = records();
    };
    const TensorRef x = floats({1});
    {
      const Scope first(outer);
      const Scope second(inner);
      delete pack_saved(*x, false, "node");
    }
    CHECK(outer.packed == 0);
    CHECK(inner.packed == 1);
    CHECK_FALSE(scope_seen);
    CHECK_FALSE(records_inside);
    CHECK(outer.destroyed == 1);
    CHECK(inner.destroyed == 1);
  }

  TEST_CASE("a pack hook that changes the tensor is refused, and what it packed is dropped") {
    Counts counts;
    counts.while_packing = [](Tensor& tensor) { fill(tensor, int_value(0)); };
    const TensorRef x = floats({1});
    const Scope scope(counts);
    CHECK(has(refusal([&] { pack_saved(*x, false, "MulBackward0"); }, TENON_ERROR_RUNTIME),
              "modifying its input in place: what MulBackward0 saves"));
    CHECK(counts.dropped == 1);
  }

  TEST_CASE("what comes back has the shape and the dtype that were packed") {
    Counts counts;
    const TensorRef x = floats({1, 2});
    const Scope scope(counts);
    const std::unique_ptr<PackedTensor> packed(pack_saved(*x, false, "node"));
    counts.instead = floats({1, 2, 3});
    CHECK(has(refusal([&] { unpack_saved(*packed, "MulBackward0"); }, TENON_ERROR_RUNTIME),
              "gave f32 [3] where MulBackward0 had saved f32 [2]"));
  }

  TEST_CASE("hooks are not opened where they are disabled, nor disabled where they are open") {
    disable_saved_hooks("not while exporting");
    Counts counts;
    CHECK(refusal([&] { push_saved_hooks(hooks(counts)); }, TENON_ERROR_RUNTIME) ==
          "not while exporting");
    CHECK(pack_saved(*floats({1}), false, "node") == nullptr);
    pop_saved_hooks();
    {
      const Scope scope(counts);
      CHECK(refusal([] { disable_saved_hooks("too late"); }, TENON_ERROR_RUNTIME) == "too late");
    }
    CHECK(has(refusal([] { pop_saved_hooks(); }, TENON_ERROR_RUNTIME), "no scope"));
  }

  TEST_CASE("hooks need all of pack, unpack and drop") {
    Counts counts;
    for (int missing = 0; missing < 3; ++missing) {
      tenon_saved_hooks given = hooks(counts);
      if (missing == 0) given.pack = nullptr;
      if (missing == 1) given.unpack = nullptr;
      if (missing == 2) given.drop = nullptr;
      CHECK(has(refusal([&] { push_saved_hooks(given); }, TENON_ERROR_ARGUMENT), "need all of"));
    }
    CHECK(thread_state.saved_scope == nullptr);
  }
}
