// The last layer: what is left of a run that fails, declines, or gives what it should not.
#include "core/dispatch/call/kernel.hpp"

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Results of the next run, and its status.
std::vector<TensorRef> given;
tenon_status ends = TENON_OK;
tenon_status run(void*, tenon_context*, const tenon_value*, tenon_value* results, tenon_error**) {
  for (size_t i = 0; i < given.size(); ++i) results[i] = tensor_value(TensorRef(given[i]).give());
  return ends;
}

// The layer alone, on bound arguments.
struct Kernel {
  explicit Kernel(const char* schema)
      : implementation(make_implementation(descriptor(schema, run), "test")) {
    implementation->op = &handle;
  }
  tenon_status operator()(Outcome& outcome, const std::vector<tenon_value>& arguments,
                          tenon_status end = TENON_OK) {
    ends = end;
    tenon_error* error = nullptr;
    Call call{*implementation, arguments.data(), outcome.results, &error};
    outcome.status = run_kernel(call);
    outcome.take(error);
    return outcome.status;
  }
  tenon_op handle{"t.op"};
  std::unique_ptr<Implementation> implementation;
};

}  // namespace

TEST_SUITE("dispatch/kernel") {
  TEST_CASE("results of a run that fails are released, and the error names the op") {
    Kernel kernel("t.op(Tensor x) -> (Tensor, Tensor)");
    const TensorRef x = floats({1}), result = floats({2});
    given = {result};
    Outcome outcome;
    CHECK(kernel(outcome, {tensor_value(x.get())}, TENON_ERROR_INDEX) == TENON_ERROR_INDEX);
    given.clear();
    CHECK(result->references == 1);
    CHECK(outcome.results[0].tag == TENON_VALUE_NONE);
    CHECK(outcome.op == "t.op");
    CHECK(outcome.provider == "test");
  }

  TEST_CASE("a run that forgets a result gives none of them") {
    Kernel kernel("t.op(Tensor x) -> (Tensor, Tensor)");
    const TensorRef x = floats({1}), result = floats({2});
    given = {result};
    Outcome outcome;
    CHECK(kernel(outcome, {tensor_value(x.get())}) == TENON_ERROR_TYPE);
    given.clear();
    CHECK(result->references == 1);
    CHECK(outcome.results[0].tag == TENON_VALUE_NONE);
  }

  TEST_CASE("what a run changes in place has a new version, also where it runs without a result") {
    Kernel changing("t.op(Tensor(a!) x) -> Tensor(a!)"), silent("t.op(Tensor(a!) x) -> ()");
    const TensorRef x = floats({1});
    given = {x};
    {
      Outcome outcome;
      CHECK(changing(outcome, {tensor_value(x.get())}) == TENON_OK);
      CHECK(outcome.tensor() == x.get());
    }
    CHECK(x->version() == 1);
    given.clear();
    Outcome outcome;
    CHECK(silent(outcome, {tensor_value(x.get())}) == TENON_OK);
    CHECK(x->version() == 2);
  }

  TEST_CASE("what a failed run was to change has a new version: some of it may be changed") {
    Kernel kernel("t.op(Tensor(a!) x, Tensor y, Tensor(b!)[] z) -> Tensor(a!)");
    const TensorRef x = floats({1}), y = floats({1}), z = floats({1});
    Tensor* const list[] = {z.get()};
    tenon_value more{};
    more.tag = TENON_VALUE_TENSOR_LIST;
    more.length = 1;
    more.as.tensors = list;
    given.clear();
    Outcome outcome;
    CHECK(kernel(outcome, {tensor_value(x.get()), tensor_value(y.get()), more},
                 TENON_ERROR_VALUE) == TENON_ERROR_VALUE);
    CHECK(x->version() == 1);
    CHECK(y->version() == 0);
    CHECK(z->version() == 1);
    Kernel writing("t.op(Tensor x, *, Tensor(a!)? out=None) -> Tensor");
    CHECK(writing(outcome, {tensor_value(y.get()), tensor_value(x.get())}, TENON_ERROR_VALUE) ==
          TENON_ERROR_VALUE);
    CHECK(x->version() == 2);
    CHECK(y->version() == 0);
  }

  TEST_CASE("a view that a run makes has the argument as its base") {
    Kernel kernel("t.op(Tensor(a) x) -> Tensor(a)");
    const TensorRef x = floats({1, 2});
    const int64_t shape[] = {1}, strides[] = {1};
    given = {make_alias(*x, shape, strides, 1)};
    Outcome outcome;
    CHECK(kernel(outcome, {tensor_value(x.get())}) == TENON_OK);
    CHECK(outcome.tensor()->view_base == x.get());
    given.clear();
  }
}
