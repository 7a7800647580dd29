// Histories of tensors that are made of others: they follow their components, however these change.
//
// Types are of the process's table, which tensors' ids refer to, and stay: each test has its own.
#include "core/autograd/typed/component_history.hpp"

#include <random>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Floats = std::vector<float>;

// The payload: as many of them as the type has components.
struct Parts {
  Tensor* tensors[2];
};
Parts& parts_of(const Tensor& tensor) { return *static_cast<Parts*>(tensor.payload()->data()); }

tenon_tensor** part(void* payload, int64_t index) {
  return &static_cast<Parts*>(payload)->tensors[index];
}
tenon_status copy_parts(void*, const void* payload, void* copy, tenon_error**) {
  *static_cast<Parts*>(copy) = *static_cast<const Parts*>(payload);
  for (Tensor* tensor : static_cast<Parts*>(copy)->tensors) {
    if (tensor != nullptr) tensor->retain();
  }
  return TENON_OK;
}
void destroy_parts(void* payload) {
  for (Tensor* tensor : static_cast<Parts*>(payload)->tensors) {
    if (tensor != nullptr) tensor->release();
  }
}
const char* const kNames[] = {"first", "second"};

const TensorType& add_type(const char* name, int64_t components, const char* parent = nullptr,
                           bool can_copy = true) {
  tenon_type_descriptor type{};
  type.size = sizeof type;
  type.name = name;
  type.parent = parent;
  type.payload_size = sizeof(Parts);
  type.destroy = destroy_parts;
  type.components = kNames;
  type.component_count = components;
  type.component = part;
  if (can_copy) type.copy = copy_parts;
  const tenon_type_descriptor* const pointer = &type;
  TypeTable& table = TypeTable::process();
  table.commit(table.prepare("components", {&pointer, 1}, {}, {}, {}, {}));
  return *table.find(name);
}
TensorRef object(const TensorType& type, const TensorRef& first, const TensorRef& second = {}) {
  const PayloadRef payload(make_payload(type.id, sizeof(Parts)));
  payload->destroy = destroy_parts;
  auto& parts = *static_cast<Parts*>(payload->data());
  parts.tensors[0] = TensorRef(first).give();
  if (second) parts.tensors[1] = TensorRef(second).give();
  TensorRef made =
      type.is_tensor ? contiguous_copy(*first) : make_dataless(TENON_F32, first->shape(), type.id);
  set_type(*made, type.id, payload.get());
  return made;
}
void replace(const Tensor& tensor, size_t index, const TensorRef& by) {
  Tensor*& place = parts_of(tensor).tensors[index];
  place->release();
  place = TensorRef(by).give();
}

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

TEST_SUITE("autograd/component_history") {
  TEST_CASE("a tensor-like has a history while a component has one") {
    const TensorRef a = leaf({1, 2});
    const TensorRef pair = object(add_type("PairShown", 2), a, floats({3, 4}));
    CHECK_FALSE(pair->requires_grad());
    CHECK(refresh_components(*pair) == 0);
    CHECK(pair->requires_grad());
    CHECK(node_name(*pair) == "FromComponentsBackward0");
    CHECK(has_held_history(*pair));
    const GraphNode* const node = pair->node;
    refresh_components(*pair);
    CHECK(pair->node == node);
    set_requires_grad(*a, false);
    refresh_components(*pair);
    CHECK_FALSE(pair->requires_grad());
    CHECK_FALSE(has_held_history(*pair));
  }

  TEST_CASE("a gradient of the type reaches each component that requires one") {
    provide_core_ops();
    const TensorType& type = add_type("PairGradient", 2);
    const TensorRef a = leaf({1, 2}), b = leaf({3, 4}), constant = floats({5, 6});
    const TensorRef both = object(type, a, b), one = object(type, constant, a);
    const TensorRef seed = object(type, floats({10, 20}), floats({30, 40}));
    backward(*both, seed);
    CHECK(read(*grad_of(*a)) == Floats{10, 20});
    CHECK(read(*grad_of(*b)) == Floats{30, 40});
    set_grad(*a, nullptr);
    backward(*one, seed);
    CHECK(read(*grad_of(*a)) == Floats{30, 40});
    CHECK_FALSE(grad_of(*constant));
  }

  TEST_CASE("a plain gradient is that of the only component, and of several it is refused") {
    provide_core_ops();
    const TensorRef a = leaf({1, 2});
    const TensorRef one = object(add_type("OnePart", 1), a);
    backward(*one, floats({3, 4}));
    CHECK(read(*grad_of(*a)) == Floats{3, 4});
    const TensorRef pair = object(add_type("PairPlain", 2), a, floats({1, 1}));
    CHECK(has(refusal(
                  [&] {
                    backward(*pair, floats({3, 4}));
                  },
                  TENON_ERROR_NOT_IMPLEMENTED),
              "no gradient reaches the components 'first', 'second' of type PairPlain (plugin "
              "'components'): a gradient of type Tensor does not say what it is for its "
              "components"));
  }

  TEST_CASE("a gradient belongs to the object, or to a component, not to both") {
    const TensorRef a = floats({1, 2});
    const TensorRef one = object(add_type("LeafPart", 1), a);
    set_requires_grad(*one, true);
    CHECK(refresh_components(*one) == 0);
    set_requires_grad(*a, true);
    CHECK(has(refusal([&] { refresh_components(*one); }, TENON_ERROR_RUNTIME),
              "a LeafPart requires grad as a leaf, and so does one of its components"));
  }

  TEST_CASE("whatever becomes of the components, the history leads to those that are there") {
    const TensorRef pair = object(add_type("PairChanging", 2), floats({1}), floats({2}));
    std::mt19937 random(3);
    for (int step = 0; step < 300; ++step) {
      const size_t index = random() % 2;
      Tensor& component = *parts_of(*pair).tensors[index];
      if (random() % 3 == 0)
        replace(*pair, index, random() % 2 == 0 ? leaf({1}) : floats({1}));
      else
        set_requires_grad(component, random() % 2 == 0);
      refresh_components(*pair);
      const auto& tensors = parts_of(*pair).tensors;
      CHECK(pair->requires_grad() == (tensors[0]->requires_grad() || tensors[1]->requires_grad()));
      if (!pair->requires_grad()) {
        CHECK(pair->node == nullptr);
        continue;
      }
      const auto edges = static_cast<Node*>(pair->node)->edges();
      REQUIRE(edges.size() == 2);
      for (size_t i = 0; i < 2; ++i)
        CHECK(edges[i].node.get() == gradient_edge(*tensors[i]).node.get());
    }
  }

  TEST_CASE(
      "the gradient of a subclass of Tensor is that of its data: it does not show components'") {
    const TensorRef child = object(add_type("ChildOfParts", 1, "Tensor"), leaf({1, 2}));
    CHECK(refresh_components(*child) == TENON_TENSOR_REQUIRES_GRAD);
    CHECK_FALSE(child->requires_grad());
  }

  TEST_CASE("a detached object has other components, without a history") {
    const TensorRef a = leaf({1, 2}), b = floats({3, 4});
    const TensorRef pair = object(add_type("PairDetached", 2), a, b);
    refresh_components(*pair);
    const TensorRef plain = detach(*pair);
    refresh_components(*plain);
    CHECK_FALSE(plain->requires_grad());
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Tensor& own = *parts_of(*plain).tensors[i];
      const Tensor& shared = *parts_of(*pair).tensors[i];
      CHECK(&own != &shared);
      CHECK(own.view.data == shared.view.data);
      CHECK_FALSE(own.requires_grad());
    }
    CHECK(parts_of(*pair).tensors[0] == a.get());
    // A history that a component gets later is not that of the detached one.
    set_requires_grad(*b, true);
    refresh_components(*plain);
    CHECK_FALSE(plain->requires_grad());
  }

  TEST_CASE(
      "an object whose payload cannot be copied is detached while its components carry nothing") {
    const TensorType& type = add_type("PairFixed", 2, nullptr, false);
    const TensorRef a = floats({1});
    const TensorRef pair = object(type, a, floats({2}));
    CHECK(parts_of(*detach(*pair)).tensors[0] == a.get());
    set_requires_grad(*a, true);
    CHECK(has(refusal([&] { detach(*pair); }, TENON_ERROR_TYPE),
              "PairFixed cannot be detached: its components have a history"));
  }

  TEST_CASE("before an object gets its own history its components lose theirs") {
    const TensorRef a = leaf({1});
    const TensorRef pair = object(add_type("PairOwn", 2), a, floats({2}));
    detach_components(*pair);
    CHECK(parts_of(*pair).tensors[0] != a.get());
    CHECK_FALSE(parts_of(*pair).tensors[0]->requires_grad());
    CHECK(a->requires_grad());
  }

  TEST_CASE("a change of any component is a change of the object, and names the one that changed") {
    const TensorRef a = floats({1}), b = floats({2});
    const TensorRef pair = object(add_type("PairVersion", 2), a, b);
    const uint32_t before = version_of(*pair);
    b->storage->version.fetch_add(1);
    CHECK(version_of(*pair) == before + 1);
    CHECK(&last_changed(*pair) == b.get());
    a->storage->version.fetch_add(2);
    CHECK(version_of(*pair) == before + 3);
    CHECK(version_of(*a) == a->version());
    CHECK(&last_changed(*a) == a.get());
  }

  TEST_CASE("an object that stands for one tensor carries its tangent, others report it") {
    provide_core_ops();
    const Level level;
    const TensorRef dual = make_dual(*floats({1, 2}), *floats({3, 4}));
    const TensorRef one = object(add_type("OneDual", 1), dual);
    CHECK(refresh_components(*one) == 0);
    REQUIRE(tangent_of(*one) != nullptr);
    CHECK(read(*tangent_of(*one)) == Floats{3, 4});
    const TensorRef pair = object(add_type("PairDual", 2), dual, floats({1, 1}));
    CHECK(refresh_components(*pair) == TENON_TENSOR_HAS_TANGENT);
    CHECK(tangent_of(*pair) == nullptr);
    // Without the tangents of its components, which keep their data.
    drop_component_tangents(*pair);
    CHECK(refresh_components(*pair) == 0);
    CHECK(parts_of(*pair).tensors[0]->view.data == dual->view.data);
  }
}
