// Modules as plugins hold them.
#include "core/nn/module.hpp"
#include "tests/core/nn/support.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return group<add_module_slots>(); }

struct Walked {
  int64_t count = -1;
  Names names;
  std::vector<const void*> items;
};
Walked walked(tenon_module& module, int32_t what, bool recurse = true, bool with_names = true) {
  Walked found;
  Given names, items;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().modules.walk(&module, what, recurse ? 1 : 0, &found.count,
                                      with_names ? &names.value : nullptr, &items.value, error);
        }) == "");
  if (with_names) found.names = names.texts();
  for (uint32_t i = 0; i < items.value.length; ++i) {
    found.items.push_back(items.value.tag == TENON_VALUE_MODULE_LIST
                              ? static_cast<const void*>(items.value.as.modules[i])
                              : static_cast<const void*>(items.value.as.tensors[i]));
  }
  return found;
}

constexpr int32_t kParameters = 0, kBuffers = 1, kChildren = 2, kModules = 3;

}  // namespace

TEST_SUITE("runtime/module_slots") {
  TEST_CASE("walks give names beside items, shared ones once unless duplicates are asked for") {
    const Types types;
    const ModuleRef root = types.make();
    const ModuleRef child = types.make();
    REQUIRE(slots().modules.register_child(root.get(), "a", child.get(), nullptr) == TENON_OK);
    REQUIRE(slots().modules.register_child(root.get(), "b", child.get(), nullptr) == TENON_OK);
    const TensorRef mean = floats({7});
    REQUIRE(slots().modules.register_buffer(root.get(), "mean", mean.get(), 1, nullptr) ==
            TENON_OK);
    CHECK(walked(*root, kParameters).names == Names{"weight", "a.weight"});
    CHECK(walked(*root, kParameters | TENON_WALK_DUPLICATES).names ==
          Names{"weight", "a.weight", "b.weight"});
    CHECK(walked(*root, kParameters, false).names == Names{"weight"});
    const Walked buffers = walked(*root, kBuffers);
    CHECK(buffers.names == Names{"mean"});
    CHECK(buffers.items == std::vector<const void*>{mean.get()});
    CHECK(walked(*root, kModules).count == 2);
    const Walked children = walked(*root, kChildren, false);
    CHECK(children.items == std::vector<const void*>{child.get()});
    const Walked all = walked(*root, kChildren | TENON_WALK_DUPLICATES, false);
    CHECK(all.names == Names{"a", "b"});
    // The short way that containers take sees the same.
    const Walked quick = walked(*root, kChildren | TENON_WALK_DUPLICATES, false, false);
    CHECK(quick.count == 2);
    CHECK(quick.items == all.items);
  }

  TEST_CASE("the short way leaves out names without a child, as every walk does") {
    const Types types;
    const ModuleRef root = types.make();
    const ModuleRef child = types.make();
    REQUIRE(slots().modules.register_child(root.get(), "none", nullptr, nullptr) == TENON_OK);
    REQUIRE(slots().modules.register_child(root.get(), "a", child.get(), nullptr) == TENON_OK);
    for (const bool with_names : {false, true}) {
      const Walked found = walked(*root, kChildren | TENON_WALK_DUPLICATES, false, with_names);
      CHECK(found.count == 1);
      CHECK(found.items == std::vector<const void*>{child.get()});
    }
    CHECK(child->references.load() == 2);  // walks hold nothing afterwards
  }

  TEST_CASE("a walk of another kind is refused") {
    const Types types;
    const ModuleRef module = types.make();
    int64_t count = 0;
    Given items;
    for (const int32_t what : {-1, 8, 9}) {
      CHECK(has(message_of_slot(TENON_ERROR_ARGUMENT,
                                [&](tenon_error** error) {
                                  return slots().modules.walk(module.get(), what, 1, &count,
                                                              nullptr, &items.value, error);
                                }),
                "not " + std::to_string(what)));
    }
  }

  TEST_CASE("attributes are read in order and by name, with a name that was meant") {
    const Types types;
    const ModuleRef module = types.make();
    CHECK(std::string(slots().modules.type(module.get())) == "Block");
    CHECK(slots().modules.attributes(module.get())[0].as.integer == 2);
    const tenon_value* value = nullptr;
    CHECK(slots().modules.attribute(module.get(), "width", 5, &value, nullptr) == TENON_OK);
    CHECK(value == slots().modules.attributes(module.get()));
    CHECK(has(message_of_slot(TENON_ERROR_INDEX,
                              [&](tenon_error** error) {
                                return slots().modules.attribute(module.get(), "widht", 5, &value,
                                                                 error);
                              }),
              "did you mean 'width'?"));
  }

  TEST_CASE("a forward is read as text and by its number of results, either may be left out") {
    const Types types;
    const ModuleRef module = types.make();
    tenon_string schema{};
    int64_t results = 0;
    CHECK(slots().modules.forward(module.get(), &schema, &results, nullptr) == TENON_OK);
    CHECK(std::string(schema.data, static_cast<size_t>(schema.length)) ==
          "forward(Tensor input) -> Tensor");
    CHECK(results == 1);
    CHECK(slots().modules.forward(module.get(), nullptr, nullptr, nullptr) == TENON_OK);
    const TensorRef input = floats({5});
    const tenon_value argument = tensor_value(input.get());
    Outcome outcome;
    CHECK(slots().modules.call(module.get(), &argument, 1, nullptr, nullptr, 0, outcome.results, 1,
                               nullptr) == TENON_OK);
    CHECK(outcome.tensor() == input.get());
  }

  TEST_CASE("a state is given by names and tensors, and loads back with what it lacked") {
    const Types types;
    const ModuleRef from = types.make();
    const ModuleRef into = types.make();
    Given names, tensors;
    REQUIRE(slots().modules.state(from.get(), &names.value, &tensors.value, nullptr) == TENON_OK);
    CHECK(names.texts() == Names{"weight"});
    static_cast<float*>(tensors.value.as.tensors[0]->view.data)[0] = 9;
    const tenon_string keys[] = {{"weight", 6}, {"other", 5}};
    tenon_tensor* const values[] = {tensors.value.as.tensors[0], tensors.value.as.tensors[0]};
    Given missing, unexpected;
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().modules.load_state(into.get(), keys, values, 2, nullptr, nullptr, 0,
                                              &missing.value, &unexpected.value, error);
          }) == "");
    CHECK(missing.texts().empty());
    CHECK(unexpected.texts() == Names{"other"});
    CHECK(read(*find_tensor(*into, "weight")) == std::vector<float>{9, 2});
    tenon_tensor* const none[] = {nullptr};
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modules.load_state(into.get(), keys, none, 1, nullptr, nullptr, 0,
                                              nullptr, nullptr, error);
          }) == "a tensor of the state is null");
  }

  TEST_CASE("a location follows its name until it is unbound") {
    const Types types;
    const ModuleRef module = types.make();
    tenon_tensor* place = nullptr;
    REQUIRE(slots().modules.bind(module.get(), "weight", 6, reinterpret_cast<void**>(&place),
                                 nullptr) == TENON_OK);
    CHECK(place == find_tensor(*module, "weight"));
    const TensorRef other = floats({1, 1});
    const tenon_value value = tensor_value(other.get());
    REQUIRE(slots().modules.assign(module.get(), "weight", 6, &value, TENON_ASSIGN_MAKE_PARAMETER,
                                   nullptr) == TENON_OK);
    tenon_tensor* const second = find_tensor(*module, "weight");
    CHECK(place == second);
    slots().modules.unbind(module.get(), "weight", 6);
    REQUIRE(slots().modules.assign(module.get(), "weight", 6, &value, TENON_ASSIGN_MAKE_PARAMETER,
                                   nullptr) == TENON_OK);
    CHECK(place == second);
    place->release();
  }

  TEST_CASE("training is set on the whole tree, and a copy has its own tensors") {
    const Types types;
    const ModuleRef root = types.make();
    const ModuleRef child = types.make();
    REQUIRE(slots().modules.register_child(root.get(), "a", child.get(), nullptr) == TENON_OK);
    slots().modules.train(root.get(), 0);
    CHECK(slots().modules.training(child.get()) == 0);
    tenon_module* copy = nullptr;
    REQUIRE(slots().modules.clone(root.get(), &copy, nullptr) == TENON_OK);
    CHECK(find_tensor(*copy, "a.weight") != find_tensor(*root, "a.weight"));
    CHECK(slots().modules.training(copy) == 0);
    slots().modules.release(copy);
    slots().modules.release(nullptr);
  }

  TEST_CASE("no module is refused by name") {
    tenon_tensor* tensor = nullptr;
    const std::string message = "the module is null";
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modules.tensor(nullptr, "weight", &tensor, error);
          }) == message);
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modules.to(nullptr, TENON_F32, error);
          }) == message);
    tenon_module* made = nullptr;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modules.create_json(nullptr, nullptr, &made, error);
          }) == "the module's description is null");
    CHECK(made == nullptr);
  }
}
