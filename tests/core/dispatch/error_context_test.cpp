// Ops that lead back to themselves end in an error that names them, not in a crash.
#include "core/dispatch/call/error_context.hpp"

#include "tests/core/dispatch/support.hpp"
#include "tests/support/small_stack.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct Chain {
  Chain() {
    // Each calls the next; the last one the first.
    static const char* const schemas[] = {"c.one(Tensor x) -> Tensor", "c.two(Tensor x) -> Tensor",
                                          "c.three(Tensor x) -> Tensor",
                                          "c.self(Tensor x) -> Tensor"};
    static const char* const next[] = {"c.two", "c.three", "c.one", "c.self"};
    std::vector<tenon_op_descriptor> ops;
    for (int i = 0; i < 4; ++i) {
      links[i] = {this, next[i]};
      ops.push_back(descriptor(schemas[i], follow));
      ops.back().self = &links[i];
    }
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    registry.commit("provider", pointers);
  }
  struct Link {
    Chain* chain;
    const char* next;
  };
  static tenon_status follow(void* self, tenon_context*, const tenon_value* arguments,
                             tenon_value* results, tenon_error** error) {
    const auto& link = *static_cast<Link*>(self);
    ++link.chain->calls;
    if (link.chain->calls == link.chain->most) {
      results[0] = arguments[0];
      arguments[0].as.tensor->retain();
      return TENON_OK;
    }
    return call_op(link.chain->registry.find(link.next), arguments, 1, results, error);
  }
  Registry registry;
  Link links[4];
  int calls = 0;
  int most = 0;
};

}  // namespace

TEST_SUITE("dispatch/error_context") {
  TEST_CASE("an op that calls itself without end") {
    Chain chain;
    const TensorRef x = floats({1});
    Outcome outcome;
    call(outcome, chain.registry.find("c.self"), {tensor_value(x.get())});
    CHECK(outcome.status == TENON_ERROR_RUNTIME);
    CHECK(outcome.op == "c.self");
    CHECK(outcome.provider == "provider");
    CHECK(has(outcome.message, "self(): endless recursion"));
    CHECK(has(outcome.message, "... -> c.self -> c.self"));
    CHECK(chain.calls > 1000);
    CHECK(x->references.load() == 1);
    // Later calls work, deep ones too.
    chain.calls = 0;
    chain.most = 1000;
    Outcome fine;
    call(fine, chain.registry.find("c.self"), {tensor_value(x.get())});
    CHECK(fine.tensor() == x.get());
  }

  TEST_CASE("a cycle of ops is named, on threads with a small stack too") {
    Chain chain;
    const TensorRef x = floats({1});
    Outcome outcome;
    tenon_test::on_small_stack(
        [&] { call(outcome, chain.registry.find("c.one"), {tensor_value(x.get())}); });
    CHECK(outcome.status == TENON_ERROR_RUNTIME);
    CHECK(has(outcome.message, "c.one -> c.two -> c.three -> c.one"));
  }
}
