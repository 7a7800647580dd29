// The op call: binding, flags, versions, views, errors.
#include "core/dispatch/call/call.hpp"

#include "core/autograd/engine/grad.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status give_first(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error**) {
  results[0] = arguments[0];
  arguments[0].as.tensor->retain();
  return TENON_OK;
}
tenon_status give_row(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                      tenon_error**) {
  const Tensor& x = *arguments[0].as.tensor;
  const int64_t shape[] = {x.view.shape[1]}, strides[] = {x.view.strides[1]};
  results[0] = tensor_value(make_alias(x, shape, strides, 0).give());
  return TENON_OK;
}
tenon_status give_count(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error**) {
  results[0] = integer(arguments[1].tag == TENON_VALUE_NONE ? -1 : arguments[1].length);
  return TENON_OK;
}
tenon_status give_half(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                       tenon_error**) {
  arguments[0].as.tensor->retain();
  results[0] = arguments[0];
  return TENON_ERROR_INDEX;
}
tenon_status no_rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}
tenon_status forget(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

tenon_status give_list(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                       tenon_error**) {
  std::vector<TensorRef> list;
  for (uint32_t k = 0; k < arguments[0].length; ++k) list.emplace_back(arguments[0].as.tensors[k]);
  results[0] = make_tensor_list(std::move(list));
  return TENON_OK;
}

struct Ops {
  Ops() {
    const tenon_op_descriptor ops[] = {
        descriptor("t.first(Tensor x, float weight=2, *, int n=1) -> Tensor", give_first),
        descriptor("t.change_(Tensor(a!) x) -> Tensor(a!)", give_first),
        descriptor("t.row(Tensor(a) x) -> Tensor(a)", give_row),
        descriptor("t.count(Tensor x, int[2] size) -> int", give_count),
        descriptor("t.half(Tensor x) -> (Tensor, Tensor)", give_half),
        descriptor("t.forget(Tensor x) -> (Tensor, Tensor)", forget),
        descriptor("t.all_(Tensor(a!)[] xs) -> Tensor(a!)[]", give_list),
    };
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    registry.commit("provider", pointers);
  }
  const tenon_op* operator[](const char* name) const { return registry.find(name); }
  Registry registry;
};

}  // namespace

TEST_SUITE("dispatch/call") {
  TEST_CASE("missing arguments take defaults, and ints stand for floats") {
    const Ops ops;
    const TensorRef x = floats({1});
    for (const std::vector<tenon_value>& arguments :
         {std::vector<tenon_value>{tensor_value(x.get())},
          {tensor_value(x.get()), integer(3)},
          {tensor_value(x.get()), number(3), integer(4)}}) {
      Outcome outcome;
      call(outcome, ops["t.first"], arguments);
      CHECK(outcome.tensor() == x.get());
    }
    CHECK(x->references.load() == 1);
  }

  TEST_CASE("what cannot be bound is refused with op and provider") {
    const Ops ops;
    const TensorRef x = floats({1});
    const auto refused = [&](const char* name, const std::vector<tenon_value>& arguments) {
      Outcome outcome;
      call(outcome, ops[name], arguments);
      CHECK(outcome.status == TENON_ERROR_TYPE);
      CHECK(outcome.op == name);
      CHECK(outcome.provider == "provider");
      return outcome.message;
    };
    CHECK(refused("t.first", {}) == "first() missing 1 required positional argument: 'x'");
    CHECK(refused("t.first", {integer(1)}) ==
          "first(): argument 'x' (position 1) must be Tensor, not int");
    CHECK(refused("t.first", std::vector<tenon_value>(4, tensor_value(x.get()))) ==
          "first() takes from 1 to 2 positional arguments but 4 were given");
    tenon_value forged{};
    forged.tag = 32 + TENON_VALUE_TENSOR;
    CHECK(has(refused("t.first", {forged, number(1), integer(1)}), "unknown tag 38"));
  }

  TEST_CASE("lists of fixed length are checked, and one number stands for all") {
    const Ops ops;
    const TensorRef x = floats({1});
    const int64_t three[] = {1, 2, 3};
    tenon_value list{};
    list.tag = TENON_VALUE_INT_LIST;
    list.as.integers = three;
    list.length = 2;
    Outcome right, spread, wrong;
    call(right, ops["t.count"], {tensor_value(x.get()), list});
    CHECK(right.results[0].as.integer == 2);
    call(spread, ops["t.count"], {tensor_value(x.get()), integer(7)});
    CHECK(spread.results[0].as.integer == 2);
    list.length = 3;
    call(wrong, ops["t.count"], {tensor_value(x.get()), list});
    CHECK(wrong.message ==
          "count(): argument 'size' (position 2) must be list of 2 ints, not list of 3 ints");
  }

  TEST_CASE("in-place changes raise the version and name the writer") {
    const Ops ops;
    const TensorRef x = floats({1});
    Outcome outcome;
    call(outcome, ops["t.change_"], {tensor_value(x.get())});
    CHECK(outcome.tensor() == x.get());
    CHECK(x->version() == 1);
    CHECK(x->storage->last_writer.load() == ops["t.change_"]);
  }

  TEST_CASE("views know the tensor at their bottom") {
    const Ops ops;
    const TensorRef x = floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
    const int64_t shape[] = {2, 2}, strides[] = {2, 1};
    const TensorRef middle = make_alias(*x, shape, strides, 0);
    set_view_base(*middle, *x);
    Outcome outcome;
    call(outcome, ops["t.row"], {tensor_value(middle.get())});
    CHECK(outcome.tensor()->view_base == x.get());
    CHECK(outcome.tensor()->has_flag(TENON_TENSOR_VIEW));
    CHECK_FALSE(make_detached(*outcome.tensor())->has_flag(TENON_TENSOR_VIEW));
  }

  TEST_CASE("a read-only operand is not written") {
    const Ops ops;
    const TensorRef x = floats({1});
    x->view.flags |= TENON_TENSOR_READ_ONLY;
    Outcome refused, read_only;
    call(refused, ops["t.change_"], {tensor_value(x.get())});
    CHECK(refused.status == TENON_ERROR_RUNTIME);
    CHECK(has(refused.message, "read-only"));
    call(read_only, ops["t.first"], {tensor_value(x.get())});
    CHECK(read_only.status == TENON_OK);
  }

  TEST_CASE("a run that fails halfway or forgets leaves no reference and no garbage") {
    const Ops ops;
    const TensorRef x = floats({1});
    Outcome half;
    half.results[0] = half.results[1] = tenon_value{};
    call(half, ops["t.half"], {tensor_value(x.get())});
    CHECK(half.status == TENON_ERROR_INDEX);
    CHECK(half.op == "t.half");
    CHECK(has(half.message, "no message"));
    CHECK(x->references.load() == 1);
    tenon_value results[2];
    std::fill_n(reinterpret_cast<unsigned char*>(results), sizeof(results),
                static_cast<unsigned char>(0xee));
    const tenon_value argument = tensor_value(x.get());
    CHECK(call_op(ops["t.forget"], &argument, 1, results, nullptr) == TENON_ERROR_TYPE);
    CHECK(results[0].tag == TENON_VALUE_NONE);
    CHECK(results[1].tag == TENON_VALUE_NONE);
  }

  TEST_CASE("a recorded call that is refused before it runs touches no result") {
    tenon_op_descriptor op =
        descriptor("t.ruled(Tensor x, *, Tensor(a!)? out=None) -> Tensor", give_first);
    op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    op.backward = no_rule;
    const tenon_op_descriptor* pointer = &op;
    Registry registry;
    registry.commit("provider", {&pointer, 1});
    const TensorRef x = floats({1}), out = floats({1});
    set_requires_grad(*x, true);
    tenon_value result;
    std::fill_n(reinterpret_cast<unsigned char*>(&result), sizeof(result),
                static_cast<unsigned char>(0));
    result.tag = TENON_VALUE_TENSOR;
    result.as.tensor = out.get();
    const tenon_value arguments[] = {tensor_value(x.get()), tensor_value(out.get())};
    CHECK(call_op(registry.find("t.ruled"), arguments, 2, &result, nullptr) == TENON_ERROR_RUNTIME);
    CHECK(out->references.load() == 1);
  }

  TEST_CASE("what a call changes in a list is checked, and gets a new version") {
    const Ops ops;
    const TensorRef x = floats({1}), fixed = floats({1});
    Tensor* tensors[] = {x.get(), fixed.get()};
    tenon_value list{};
    list.tag = TENON_VALUE_TENSOR_LIST;
    list.length = 2;
    list.as.tensors = tensors;
    const uint32_t before = x->version();
    {
      Outcome outcome;
      call(outcome, ops["t.all_"], {list});
      CHECK(outcome.status == TENON_OK);
      CHECK(x->version() == before + 1);
    }
    fixed->view.flags |= TENON_TENSOR_READ_ONLY;
    Outcome outcome;
    call(outcome, ops["t.all_"], {list});
    CHECK(outcome.status == TENON_ERROR_RUNTIME);
    CHECK(has(outcome.message, "an operand that it changes is read-only"));
    CHECK(x->version() == before + 1);
  }

  TEST_CASE("an error that names another op becomes the cause") {
    const Ops ops;
    const Implementation& outer = *ops["t.first"]->implementation.load();
    auto* error = new tenon_error{Error(TENON_ERROR_VALUE, "deep")};
    add_error_context(&error, *ops["t.row"]->implementation.load(), TENON_ERROR_VALUE);
    add_error_context(&error, *ops["t.row"]->implementation.load(), TENON_ERROR_VALUE);
    CHECK(error->error.cause == nullptr);
    add_error_context(&error, outer, TENON_ERROR_VALUE);
    CHECK(error->error.op == "t.first");
    CHECK(error->error.message == "first(): row(): deep");
    REQUIRE(error->error.cause != nullptr);
    CHECK(error->error.cause->error.op == "t.row");
    CHECK(error->error.cause->error.message == "row(): deep");
    // The message has both ends of a chain.
    add_error_context(&error, *ops["t.count"]->implementation.load(), TENON_ERROR_VALUE);
    CHECK(error->error.message == "count(): row(): deep");
    CHECK(error->error.cause->error.message == "first(): row(): deep");
    delete error;
    for (const char* named : {"row(): deep", "t.row() is deep", "the op 'row' is deep"}) {
      error = new tenon_error{Error(TENON_ERROR_VALUE, named)};
      add_error_context(&error, *ops["t.row"]->implementation.load(), TENON_ERROR_VALUE);
      CHECK(error->error.message == named);
      delete error;
    }
    // Rules name themselves.
    error = new tenon_error{Error(TENON_ERROR_VALUE, "deep")};
    add_error_context(&error, outer, TENON_ERROR_VALUE, FailureOf::rule);
    CHECK(error->error.message == "deep");
    delete error;
    add_error_context(nullptr, outer, TENON_ERROR_VALUE);
  }
}
