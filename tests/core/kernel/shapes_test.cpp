// Calls that compute shapes and dtypes alone.
#include "core/autograd/engine/grad.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/dispatch/support.hpp"
#include "tests/support/emulation.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

int runs = 0;          // runs of kernels
float first_read = 0;  // first element of a kernel's operand

TensorRef doubled_rows(const Tensor& x) {
  const int64_t shape[] = {2 * x.view.shape[0]};
  return make_empty(TENON_F64, shape);
}
tenon_status run_kernel_of_ours(void*, tenon_context*, const tenon_value* arguments,
                                tenon_value* results, tenon_error** error) {
  return guarded(error, [&] {
    ++runs;
    first_read = static_cast<const float*>(arguments[0].as.tensor->view.data)[0];
    TensorRef made = doubled_rows(*arguments[0].as.tensor);
    fill(*made, number(7));
    results[0] = tensor_value(made.give());
  });
}
tenon_status rule(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                  tenon_error** error) {
  return guarded(error,
                 [&] { results[0] = tensor_value(doubled_rows(*arguments[0].as.tensor).give()); });
}
// Writes into its operand, and returns it and a new tensor.
tenon_status run_statistics(void*, tenon_context*, const tenon_value* arguments,
                            tenon_value* results, tenon_error** error) {
  return guarded(error, [&] {
    ++runs;
    fill(*arguments[0].as.tensor, number(9));
    results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
    results[1] = tensor_value(doubled_rows(*arguments[0].as.tensor).give());
  });
}
tenon_status run_change(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error** error) {
  return guarded(error, [&] {
    ++runs;
    fill(*arguments[0].as.tensor, number(9));
    results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
  });
}
tenon_status run_half(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                      tenon_error** error) {
  return guarded(error, [&] {
    ++runs;
    const int64_t shape[] = {1}, strides[] = {1};
    results[0] = tensor_value(make_alias(*arguments[0].as.tensor, shape, strides, 0).give());
  });
}

struct Ops {
  Ops() {
    std::vector<tenon_op_descriptor> ops = {
        descriptor("t.kernel(Tensor x) -> Tensor", run_kernel_of_ours),
        descriptor("t.ruled(Tensor x) -> Tensor", run_kernel_of_ours),
        descriptor("t.counted(Tensor x) -> Tensor", run_kernel_of_ours),
        descriptor(
            "t.outer(Tensor x) -> Tensor",
            [](void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
               tenon_error** error) { return call_op(counted, arguments, 1, results, error); }),
        descriptor("t.change_(Tensor(a!) x) -> Tensor(a!)", run_change),
        descriptor("t.statistics(Tensor(a!) x) -> (Tensor(a!), Tensor)", run_statistics),
        descriptor("t.first(Tensor(a) x) -> Tensor(a)", run_half),
        descriptor("t.found(Tensor x) -> Tensor", run_kernel_of_ours),
    };
    ops[1].shape_rule = rule;
    ops[2].shape_rule = rule;
    ops[2].multiply_adds = [](void*, const tenon_value* arguments) {
      return arguments[0].as.tensor->view.count;
    };
    ops[3].multiply_adds = [](void*, const tenon_value*) { return int64_t{1000}; };
    ops[7].flags = TENON_OP_DATA_DEPENDENT_SHAPE;
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    registry.commit("provider", pointers);
    counted = registry.find("t.counted");
    runs = 0;
  }
  const tenon_op* operator[](const char* name) const { return registry.find(name); }
  Registry registry;
  static const tenon_op* counted;
};
const tenon_op* Ops::counted = nullptr;

struct Scope {
  Scope() { set_shapes_only(&multiply_adds); }
  ~Scope() { set_shapes_only(nullptr); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  int64_t multiply_adds = 0;
};

}  // namespace

TEST_SUITE("kernel/shapes") {
  TEST_CASE("an op without a rule runs, and gives zeros of its result's shape") {
    const Ops ops;
    const TensorRef x = floats({3, 4});
    set_requires_grad(*x, true);
    Outcome outcome;
    {
      const Scope scope;
      call(outcome, ops["t.kernel"], {tensor_value(x.get())});
    }
    CHECK(runs == 1);
    CHECK(first_read == 3);
    const Tensor& result = *outcome.tensor();
    CHECK(result.view.dtype == TENON_F64);
    CHECK(read(result) == std::vector<float>(4, 0));
    CHECK_FALSE(result.requires_grad());
    Outcome after;
    call(after, ops["t.ruled"], {tensor_value(x.get())});
    CHECK(runs == 2);
  }

  TEST_CASE("F-243 a rule takes the place of the kernel, and what is declared is added up") {
    const Ops ops;
    const TensorRef x = floats({3, 4});
    const Scope scope;
    Outcome ruled, counted, outer;
    call(ruled, ops["t.ruled"], {tensor_value(x.get())});
    CHECK(ruled.tensor()->view.shape[0] == 4);
    CHECK(scope.multiply_adds == 0);
    call(counted, ops["t.counted"], {tensor_value(x.get())});
    CHECK(scope.multiply_adds == 2);
    CHECK(runs == 0);
    // An op that counts itself counts for those that it calls.
    call(outer, ops["t.outer"], {tensor_value(x.get())});
    CHECK(scope.multiply_adds == 1002);
    CHECK(runs == 0);
  }

  TEST_CASE("operands are not changed") {
    const Ops ops;
    const TensorRef x = floats({3, 4});
    const uint32_t version = x->version();
    const Scope scope;
    Outcome change, statistics;
    call(change, ops["t.change_"], {tensor_value(x.get())});
    CHECK(runs == 0);
    CHECK(change.tensor() == x.get());
    call(statistics, ops["t.statistics"], {tensor_value(x.get())});
    CHECK(runs == 1);
    CHECK(statistics.tensor(0) == x.get());
    CHECK(read(*statistics.tensor(1)) == std::vector<float>(4, 0));
    CHECK(read(*x) == std::vector<float>{3, 4});
    CHECK(x->version() == version);
  }

  TEST_CASE("views are views") {
    const Ops ops;
    const TensorRef x = floats({3, 4});
    const Scope scope;
    Outcome outcome;
    call(outcome, ops["t.first"], {tensor_value(x.get())});
    CHECK(outcome.tensor()->storage == x->storage);
  }

#if !defined(__SANITIZE_THREAD__)  // which has no room for such a mapping
  TEST_CASE("large results take no memory until they are written") {
    if (tenon_test::cannot_emulate(tenon_test::kPageRecords)) return;
    const Ops ops;
    const Scope scope;
    const int64_t shape[] = {int64_t{1} << 40};
    const TensorRef x = make_empty(TENON_F32, shape);
    CHECK(static_cast<const float*>(x->view.data)[shape[0] - 1] == 0);
    Outcome outcome;
    call(outcome, ops["t.ruled"], {tensor_value(x.get())});
    CHECK(outcome.tensor()->view.shape[0] == int64_t{1} << 41);
    static_cast<double*>(outcome.tensor()->view.data)[12345] = 1;
  }
#endif

  TEST_CASE("a shape that depends on elements is refused") {
    const Ops ops;
    const TensorRef x = floats({3, 4});
    const Scope scope;
    Outcome outcome;
    call(outcome, ops["t.found"], {tensor_value(x.get())});
    CHECK(outcome.status == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(outcome.message ==
          "found(): the shape of its result depends on the elements of its operands; it is not "
          "known before the op runs");
    CHECK(runs == 0);
  }
}
