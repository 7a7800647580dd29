// Histories and gradients of tensors of other types: what a gradient becomes for its tensor's type,
// what conversions connect, and what is refused instead of being lost.
//
// Types are of the process's table, which tensors' ids refer to, and stay: each test has its own.
#include "core/autograd/typed/typed.hpp"

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Floats = std::vector<float>;
using Project = decltype(tenon_type_descriptor::project_gradient);

tenon_status project_tenfold(void*, tenon_tensor* gradient, tenon_tensor** result, tenon_error**) {
  *result = scaled(*gradient, 10).give();
  return TENON_OK;
}
tenon_status project_to_one(void*, tenon_tensor*, tenon_tensor** result, tenon_error**) {
  *result = floats({1}).give();
  return TENON_OK;
}
tenon_status project_to_nothing(void*, tenon_tensor*, tenon_tensor**, tenon_error**) {
  return TENON_OK;
}

const TensorType& add_type(const char* name, const char* parent = nullptr,
                           Project project = nullptr, tenon_handler_function handler = nullptr) {
  tenon_type_descriptor type{};
  type.size = sizeof type;
  type.name = name;
  type.parent = parent;
  type.project_gradient = project;
  type.handler = handler;
  const tenon_type_descriptor* const pointer = &type;
  TypeTable& table = TypeTable::process();
  table.commit(table.prepare("typed", {&pointer, 1}, {}, {}, {}, {}));
  return *table.find(name);
}
// An object without data, of shape [2].
TensorRef object(const TensorType& type) {
  const int64_t shape[] = {2};
  return make_dataless(TENON_F32, shape, type.id);
}
TensorRef integers() { return contiguous_copy(*floats({1, 2}), TENON_I64); }

std::string node_name(const Tensor& tensor) {
  return tensor.node == nullptr ? "" : static_cast<const Node*>(tensor.node)->name();
}
void backward(Tensor& root, const TensorRef& seed) {
  Tensor* const roots[] = {&root};
  Tensor* const seeds[] = {seed.get()};
  run_backward(roots, seeds, nullptr, {});
}

struct Level {
  Level() { enter_dual_level(); }
  ~Level() { exit_dual_level(); }
};

}  // namespace

TEST_SUITE("autograd/typed") {
  TEST_CASE("a gradient is projected by the nearest in line, and stays where none projects") {
    const TensorType& projecting = add_type("ProjectTen", nullptr, project_tenfold);
    const TensorType& child = add_type("ProjectTenChild", "ProjectTen");
    const TensorType& other = add_type("ProjectNever");
    const TensorRef gradient = floats({1, 2});
    CHECK(read(*project_gradient(gradient, projecting.id)) == Floats{10, 20});
    CHECK(read(*project_gradient(gradient, child.id)) == Floats{10, 20});
    CHECK(project_gradient(gradient, other.id).get() == gradient.get());
    // One that is of the type is in its structure.
    const TensorRef typed = object(child);
    CHECK(project_gradient(typed, projecting.id).get() == typed.get());
  }

  TEST_CASE("a projection that does not fit is refused with the type and its plugin") {
    const TensorType& small = add_type("ProjectOne", nullptr, project_to_one);
    const TensorType& nothing = add_type("ProjectNothing", nullptr, project_to_nothing);
    const TensorRef gradient = floats({1, 2});
    CHECK(has(refusal([&] { project_gradient(gradient, small.id); }, TENON_ERROR_TYPE),
              "project_gradient of ProjectOne (plugin 'typed') gave a tensor of another shape or "
              "dtype for a gradient of shape"));
    CHECK(has(refusal([&] { project_gradient(gradient, nothing.id); }, TENON_ERROR_TYPE),
              "project_gradient of ProjectNothing (plugin 'typed') gave nothing"));
  }

  TEST_CASE("another handle of a tensor shares its data, and its history where it has one") {
    const TensorRef x = leaf({1, 2}), constant = floats({3});
    const TensorRef shared = share_with_history(*x), plain = share_with_history(*constant);
    CHECK(shared->view.data == x->view.data);
    CHECK(shared->requires_grad());
    CHECK(gradient_edge(*shared).node.get() == gradient_edge(*x).node.get());
    CHECK(plain->view.data == constant->view.data);
    CHECK_FALSE(plain->requires_grad());
  }

  TEST_CASE("the gradient of a conversion's result arrives at what it was made of, projected") {
    provide_core_ops();
    const TensorRef from = object(add_type("Converted", nullptr, project_tenfold));
    set_requires_grad(*from, true);
    const TensorRef result = connect_conversion(floats({1, 2}), *from, kToTensorNode);
    CHECK(node_name(*result) == kToTensorNode);
    backward(*result, floats({3, 4}));
    const TensorRef grad = grad_of(*from);
    REQUIRE(grad);
    CHECK(read(*grad) == Floats{30, 40});
  }

  TEST_CASE("a conversion leaves no node where nothing is recorded or there is no gradient") {
    const TensorType& type = add_type("Unconnected", nullptr, project_tenfold);
    const TensorRef constant = object(type), from = object(type);
    set_requires_grad(*from, true);
    CHECK_FALSE(connect_conversion(floats({1, 2}), *constant, kToTensorNode)->requires_grad());
    CHECK_FALSE(connect_conversion(integers(), *from, kToTensorNode)->requires_grad());
    const GradModeGuard no_grad(false);
    CHECK_FALSE(connect_conversion(floats({1, 2}), *from, kToTensorNode)->requires_grad());
  }

  TEST_CASE("a gradient belongs to a typed leaf, or to the leaf that it converts to, not to both") {
    const TensorRef from = object(add_type("LeafTwice", nullptr, project_tenfold));
    set_requires_grad(*from, true);
    CHECK(has(refusal(
                  [&] {
                    connect_conversion(leaf({1, 2}), *from, kToTensorNode);
                  },
                  TENON_ERROR_RUNTIME),
              "a LeafTwice requires grad as a leaf, and so does the Tensor that it converts to"));
  }

  TEST_CASE("a result that others hold is connected by another handle") {
    const TensorRef from = object(add_type("HeldResult", nullptr, project_tenfold));
    set_requires_grad(*from, true);
    const TensorRef held = floats({1, 2});
    const TensorRef result = connect_conversion(held, *from, kToTensorNode);
    CHECK(result.get() != held.get());
    CHECK(result->view.data == held->view.data);
    CHECK(result->requires_grad());
    CHECK_FALSE(held->requires_grad());
  }

  TEST_CASE("what a subclass of Tensor makes of itself is connected where it is the same data") {
    const TensorType& type = add_type("SameData", "Tensor");
    const TensorRef from = leaf({1, 2});
    set_type(*from, type.id, nullptr);
    TensorRef same = make_detached(*from);
    set_type(*same, 0, nullptr);
    CHECK(node_name(*connect_same_data(same, *from, type)) == kToTensorNode);
    // Other data needs its own history, unless nothing is recorded or there is no gradient.
    const auto other = [&] { return contiguous_copy(*from); };
    CHECK(
        has(refusal([&] { connect_same_data(other(), *from, type); }, TENON_ERROR_NOT_IMPLEMENTED),
            "to_tensor of SameData (plugin 'typed') gave a tensor without the history"));
    const TensorRef tracked = leaf({1, 2});
    CHECK(connect_same_data(tracked, *from, type).get() == tracked.get());
    const TensorRef counted = integers();
    CHECK(connect_same_data(counted, *from, type).get() == counted.get());
    const GradModeGuard no_grad(false);
    CHECK_FALSE(connect_same_data(other(), *from, type)->requires_grad());
  }

  TEST_CASE("a tangent goes to what a conversion made, and is not lost with other data") {
    const TensorType& type = add_type("DualData", "Tensor");
    const Level level;
    const TensorRef from = make_dual(*floats({1, 2}), *floats({3, 4}));
    const TensorRef result = connect_tangent(floats({5, 6}), *from);
    REQUIRE(tangent_of(*result) != nullptr);
    CHECK(read(*tangent_of(*result)) == Floats{3, 4});
    CHECK(tangent_of(*connect_tangent(integers(), *from)) == nullptr);
    CHECK(has(refusal(
                  [&] {
                    connect_same_data(floats({5, 6}), *from, type);
                  },
                  TENON_ERROR_NOT_IMPLEMENTED),
              "gave a tensor without the tangent"));
  }

  TEST_CASE("a constant that a handler returns for what requires grad raises in backward") {
    static Tensor* answer = nullptr;
    const TensorType& type =
        add_type("Losing", nullptr, project_tenfold,
                 [](void*, const tenon_call*, tenon_value* results, tenon_error**) {
                   results[0] = tensor_value(TensorRef(answer).give());
                   return tenon_status{TENON_OK};
                 });
    // As long as the process, as plans refer to their implementations.
    static const Registry& registry = []() -> const Registry& {
      const auto run = [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
        return tenon_status{TENON_ERROR_INTERNAL};
      };
      tenon_op_descriptor ops[] = {descriptor("typed.lost(Tensor x) -> Tensor", run),
                                   descriptor("typed.step(Tensor x) -> Tensor", run)};
      ops[0].differentiable = TENON_DIFFERENTIABLE_FORMULA;
      ops[0].backward = [](void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
        return tenon_status{TENON_OK};
      };
      ops[1].flags = TENON_OP_ZERO_GRADIENT;
      const tenon_op_descriptor* const pointers[] = {&ops[0], &ops[1]};
      auto* const made = new Registry;
      made->commit("op_provider", pointers);
      return *made;
    }();
    const TensorRef x = object(type);
    set_requires_grad(*x, true);
    const auto answered = [&](Outcome& outcome, const char* op, const TensorRef& given) {
      answer = given.get();
      call(outcome, registry.find(op), {tensor_value(x.get())});
      return outcome.tensor();
    };
    const TensorRef constant = floats({1, 2}), tracked = leaf({1, 2});
    Outcome lost, kept, counted, step;
    Tensor* const result = answered(lost, "typed.lost", constant);
    CHECK(result->requires_grad());
    CHECK_FALSE(constant->requires_grad());
    CHECK(has(refusal(
                  [&] {
                    backward(*result, floats({1, 1}));
                  },
                  TENON_ERROR_NOT_IMPLEMENTED),
              "[typed.lost::backward] not implemented: the handler of Losing (plugin 'typed') "
              "returned a tensor without a history"));
    CHECK(answered(kept, "typed.lost", tracked) == tracked.get());
    CHECK_FALSE(answered(counted, "typed.lost", integers())->requires_grad());
    CHECK_FALSE(answered(step, "typed.step", constant)->requires_grad());
    const GradModeGuard no_grad(false);
    Outcome unrecorded;
    CHECK_FALSE(answered(unrecorded, "typed.lost", constant)->requires_grad());
  }
}
