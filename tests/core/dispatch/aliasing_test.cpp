// Versions of what a run has changed, and bases of the views that it has made.
#include "core/dispatch/call/aliasing.hpp"

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

struct Op {
  explicit Op(const char* schema)
      : implementation(make_implementation(descriptor(schema, nothing), "test")) {
    implementation->op = &handle;
  }
  tenon_op handle{"t.op"};
  std::unique_ptr<Implementation> implementation;
};

TensorRef part_of(const TensorRef& whole) {
  const int64_t shape[] = {1}, strides[] = {1};
  return make_alias(*whole, shape, strides, 0);
}

}  // namespace

TEST_SUITE("dispatch/aliasing") {
  TEST_CASE("every operand that is changed has a new version, which names the op") {
    const Op op("t.op(Tensor(a!) x, Tensor y, Tensor(b!)[] more) -> Tensor(a!)");
    const TensorRef x = floats({1}), y = floats({1}), a = floats({1}), b = floats({1});
    Tensor* const list[] = {a.get(), nullptr, b.get()};
    tenon_value arguments[3] = {tensor_value(x.get()), tensor_value(y.get())};
    arguments[2].tag = TENON_VALUE_TENSOR_LIST;
    arguments[2].length = 3;
    arguments[2].as.tensors = list;
    tenon_value results[1] = {tensor_value(x.get())};
    update_aliasing(*op.implementation, arguments, results);
    for (const TensorRef& changed : {x, a, b}) {
      CHECK(changed->version() == 1);
      CHECK(changed->storage->last_writer.load() == &op.handle);
    }
    CHECK(y->version() == 0);
    CHECK(x->view_base == nullptr);
  }

  TEST_CASE("out is noted where it was given") {
    const Op op("t.op(Tensor x, *, Tensor(a!)? out=None) -> Tensor");
    const TensorRef x = floats({1}), out = floats({1});
    tenon_value arguments[2] = {tensor_value(x.get()), {}};
    note_out(*op.implementation, arguments);
    CHECK(x->version() == 0);
    arguments[1] = tensor_value(out.get());
    note_out(*op.implementation, arguments);
    CHECK(out->version() == 1);
  }

  TEST_CASE("a result that shares memory with its argument is a view of it") {
    const Op op("t.op(Tensor(a) x) -> Tensor(a)");
    const TensorRef x = floats({1, 2}), view = part_of(x), copy = floats({1});
    const tenon_value arguments[] = {tensor_value(x.get())};
    tenon_value results[] = {tensor_value(view.get())};
    update_aliasing(*op.implementation, arguments, results);
    CHECK(view->view_base == x.get());
    CHECK(view->has_flag(TENON_TENSOR_VIEW));
    CHECK(x->references == 2);
    results[0] = tensor_value(copy.get());
    update_aliasing(*op.implementation, arguments, results);
    CHECK(copy->view_base == nullptr);
    CHECK(x->version() == 0);
  }

  TEST_CASE("a view of a view is one of the first base") {
    const TensorRef x = floats({1, 2}), view = part_of(x), inner = part_of(view);
    set_view_base(*view, *x);
    set_view_base(*inner, *view);
    CHECK(inner->view_base == x.get());
    CHECK(x->references == 3);
    CHECK(view->references == 1);
  }

  TEST_CASE("a view remembers in which mode it was made, and views of it do too") {
    const TensorRef x = floats({1, 2}), recorded = part_of(x), unrecorded = part_of(x),
                    inner = part_of(unrecorded);
    set_view_base(*recorded, *x);
    {
      const GradModeGuard no_grad(false);
      set_view_base(*unrecorded, *x);
    }
    set_view_base(*inner, *unrecorded);
    CHECK(recorded->view_origin == ViewOrigin::recorded);
    CHECK(unrecorded->view_origin == ViewOrigin::no_grad);
    CHECK(inner->view_origin == ViewOrigin::no_grad);
  }
}
