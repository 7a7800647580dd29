// Typed tensors as plain ones and back, by the functions of their types, which the test writes.
//
// Types are of the process's table, which tensors' ids refer to, and stay: each test has its own.
#include "core/dispatch/types/conversion.hpp"

#include "core/autograd/engine/grad.hpp"
#include "core/dispatch/call/call.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Floats = std::vector<float>;

tenon_status add_one(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                     tenon_error**) {
  TensorRef made = contiguous_copy(*arguments[0].as.tensor);
  for (int64_t i = 0; i < made->view.count; ++i) static_cast<float*>(made->view.data)[i] += 1;
  results[0] = tensor_value(made.give());
  return TENON_OK;
}
tenon_status add_one_in_place(void*, tenon_context*, const tenon_value* arguments,
                              tenon_value* results, tenon_error**) {
  Tensor& x = *arguments[0].as.tensor;
  for (int64_t i = 0; i < x.view.count; ++i) static_cast<float*>(x.view.data)[i] += 1;
  results[0] = tensor_value(TensorRef(&x).give());
  return TENON_OK;
}
const tenon_op* op(const char* name) {
  static const Registry& registry = []() -> const Registry& {
    const tenon_op_descriptor ops[] = {
        descriptor("convert.one(Tensor x) -> Tensor", add_one),
        descriptor("convert.one_(Tensor(a!) x) -> Tensor(a!)", add_one_in_place)};
    const tenon_op_descriptor* pointers[] = {&ops[0], &ops[1]};
    auto* const made = new Registry;
    made->commit("converting", pointers);
    return *made;
  }();
  return registry.find(name);
}

// An object that holds one tensor.
struct Held {
  Tensor* tensor;
};
void destroy(void* payload) {
  if (Tensor* tensor = static_cast<Held*>(payload)->tensor) tensor->release();
}
tenon_tensor** held_place(void* payload, int64_t) { return &static_cast<Held*>(payload)->tensor; }
tenon_status copy_held(void*, const void* payload, void* copy, tenon_error**) {
  *static_cast<Held*>(copy) = *static_cast<const Held*>(payload);
  if (Tensor* tensor = static_cast<Held*>(copy)->tensor) tensor->retain();
  return TENON_OK;
}
const char* const kComponents[] = {"held"};

Tensor* held_by(const Tensor& object) {
  return static_cast<Held*>(object.payload()->data())->tensor;
}

tenon_status to_held(void*, tenon_tensor* tensor, tenon_tensor** result, tenon_error**) {
  *result = TensorRef(held_by(*tensor)).give();
  return TENON_OK;
}
tenon_status to_copy(void*, tenon_tensor* tensor, tenon_tensor** result, tenon_error**) {
  *result = contiguous_copy(*held_by(*tensor)).give();
  return TENON_OK;
}
tenon_status to_nothing(void*, tenon_tensor*, tenon_tensor**, tenon_error**) { return TENON_OK; }
tenon_status to_itself(void*, tenon_tensor* tensor, tenon_tensor** result, tenon_error**) {
  *result = TensorRef(tensor).give();
  return TENON_OK;
}
tenon_status to_another_shape(void*, tenon_tensor*, tenon_tensor** result, tenon_error**) {
  *result = floats({1, 2, 3}).give();
  return TENON_OK;
}
tenon_status to_error(void*, tenon_tensor*, tenon_tensor**, tenon_error** error) {
  *error = new tenon_error{Error(TENON_ERROR_VALUE, std::string("it cannot be spread"))};
  return TENON_ERROR_VALUE;
}
tenon_status from_nothing(void*, tenon_tensor*, tenon_tensor*, tenon_tensor**, tenon_error**) {
  return TENON_OK;
}

using ToTensor = decltype(tenon_type_descriptor::to_tensor);

struct Made {
  const char* name;
  ToTensor to_tensor = nullptr;
  uint32_t fallback = TENON_FALLBACK_DECLINE;
  bool has_component = true;
  decltype(tenon_type_descriptor::from_tensor) from_tensor = nullptr;
};
const TensorType& add_type(const Made& made) {
  Plugin plugin{"converting", {}, {}};
  tenon_type_descriptor& type = plugin.type(made.name);
  type.payload_size = sizeof(Held);
  type.destroy = destroy;
  type.copy = copy_held;
  type.metadata = TENON_METADATA_KEEP;
  type.to_tensor = made.to_tensor;
  type.from_tensor = made.from_tensor;
  type.fallback = made.fallback;
  if (made.has_component) {
    type.components = kComponents;
    type.component_count = 1;
    type.component = held_place;
  }
  plugin.commit(TypeTable::process());
  return *TypeTable::process().find(made.name);
}
TensorRef object(const TensorType& type, const TensorRef& held) {
  const int64_t shape[] = {2};
  TensorRef made = make_dataless(TENON_F32, shape, type.id);
  const PayloadRef payload(make_payload(type.id, sizeof(Held)));
  payload->destroy = destroy;
  static_cast<Held*>(payload->data())->tensor = TensorRef(held).give();
  set_type(*made, type.id, payload.get());
  return made;
}
std::string conversion_fault(const Made& made, tenon_status kind = TENON_ERROR_TYPE) {
  const TensorRef x = object(add_type(made), floats({1, 2}));
  return refusal([&] { to_plain(*x); }, kind);
}

}  // namespace

TEST_SUITE("dispatch/conversion") {
  TEST_CASE("a plain tensor is its own plain form, a subclass a plain handle of the same data") {
    const TensorRef plain = floats({1, 2});
    CHECK(to_plain(*plain).get() == plain.get());
    Plugin plugin{"converting", {}, {}};
    plugin.type("ConvertChild", "Tensor");
    plugin.commit(TypeTable::process());
    const TensorRef child = make_detached(*plain);
    set_type(*child, TypeTable::process().find("ConvertChild")->id, nullptr);
    const TensorRef back = to_plain(*child);
    CHECK(back.get() != child.get());
    CHECK_FALSE(back->typed());
    CHECK(back->view.data == plain->view.data);
  }

  TEST_CASE("an object is what its type converts it to, or the one tensor that it holds") {
    const TensorRef held = floats({1, 2});
    const TensorRef converted = object(add_type({"ConvertTo", to_copy}), held);
    CHECK(read(*to_plain(*converted)) == Floats{1, 2});
    CHECK(to_plain(*converted)->view.data != held->view.data);
    const TensorRef holder = object(add_type({"ConvertHolder"}), held);
    CHECK(to_plain(*holder)->view.data == held->view.data);
  }

  TEST_CASE("a conversion that gives nothing, a typed tensor or another shape is refused by name") {
    CHECK(conversion_fault({"ConvertNothing", to_nothing}) ==
          "to_tensor of ConvertNothing gave no plain Tensor");
    CHECK(conversion_fault({"ConvertItself", to_itself}) ==
          "to_tensor of ConvertItself gave no plain Tensor");
    CHECK(conversion_fault({"ConvertShape", to_another_shape}) ==
          "to_tensor of ConvertShape gave a tensor of shape [3] for one of shape [2]");
    CHECK(conversion_fault({"ConvertError", to_error}, TENON_ERROR_VALUE) == "it cannot be spread");
    CHECK(conversion_fault({"ConvertNever", nullptr, TENON_FALLBACK_DECLINE, false}) ==
          "ConvertNever has no conversion to Tensor");
  }

  TEST_CASE("a fallback runs the op on what the object converts to") {
    const TensorRef x =
        object(add_type({"FallbackTo", to_copy, TENON_FALLBACK_TO_TENSOR}), floats({1, 2}));
    Outcome outcome;
    call(outcome, op("convert.one"), {tensor_value(x.get())});
    CHECK_FALSE(outcome.tensor()->typed());
    CHECK(read(*outcome.tensor()) == Floats{2, 3});
    CHECK(read(*held_by(*x)) == Floats{1, 2});
  }

  TEST_CASE(
      "a fallback that wraps again gives an object with the result in the place of its tensor") {
    const TensorType& type = add_type({"FallbackWrap", nullptr, TENON_FALLBACK_UNWRAP_REWRAP});
    const TensorRef x = object(type, floats({1, 2}));
    Outcome outcome;
    call(outcome, op("convert.one"), {tensor_value(x.get())});
    Tensor& result = *outcome.tensor();
    CHECK(result.view.type == type.id);
    CHECK(result.payload() != x->payload());
    CHECK(read(*held_by(result)) == Floats{2, 3});
    CHECK(read(*held_by(*x)) == Floats{1, 2});
  }

  TEST_CASE("what is changed in place through a fallback is the operand, which comes back itself") {
    const TensorRef x = object(add_type({"FallbackInPlace", nullptr, TENON_FALLBACK_UNWRAP_REWRAP}),
                               floats({1, 2}));
    Outcome outcome;
    call(outcome, op("convert.one_"), {tensor_value(x.get())});
    CHECK(outcome.tensor() == x.get());
    CHECK(read(*held_by(*x)) == Floats{2, 3});
  }

  TEST_CASE("a change in place that would be of a copy is refused, and nothing is changed") {
    const TensorRef x =
        object(add_type({"FallbackCopy", to_copy, TENON_FALLBACK_TO_TENSOR}), floats({1, 2}));
    Outcome outcome;
    call(outcome, op("convert.one_"), {tensor_value(x.get())});
    CHECK(outcome.status == TENON_ERROR_TYPE);
    CHECK(has(outcome.message, "which makes a copy, so that nothing of it would change"));
    CHECK(has(outcome.message, "convert.one_[FallbackCopy]"));
    CHECK(read(*held_by(*x)) == Floats{1, 2});
  }

  TEST_CASE("a wrapping that gives nothing is refused by name, and leaves no result") {
    const TensorRef x = object(
        add_type({"FallbackVoid", to_held, TENON_FALLBACK_UNWRAP_REWRAP, true, from_nothing}),
        floats({1, 2}));
    Outcome outcome;
    call(outcome, op("convert.one"), {tensor_value(x.get())});
    CHECK(outcome.status == TENON_ERROR_TYPE);
    CHECK(has(outcome.message, "from_tensor of FallbackVoid gave nothing"));
    CHECK(outcome.results[0].tag == TENON_VALUE_NONE);
  }
}
