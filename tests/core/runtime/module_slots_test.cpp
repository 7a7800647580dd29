// Modules as plugins hold them.
#include "core/nn/module.hpp"
#include "tests/core/nn/support.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

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

  TEST_CASE("a state is parameters and persistent buffers, under each of their names") {
    const Types types;
    const ModuleRef root = types.make();
    const ModuleRef child = types.make();
    register_child(*root, "child", child.get());
    register_parameter(*root, "tied", find_tensor(*root, "weight"));
    register_buffer(*root, "mean", floats({1}).get(), true);
    register_buffer(*root, "cache", floats({1}).get(), false);
    Given names, tensors;
    REQUIRE(slots().modules.state(root.get(), &names.value, &tensors.value, nullptr) == TENON_OK);
    CHECK(names.texts() == Names{"weight", "tied", "mean", "child.weight"});
    CHECK(tensors.value.as.tensors[0] == find_tensor(*root, "weight"));
    CHECK(tensors.value.as.tensors[1] == tensors.value.as.tensors[0]);
  }

  TEST_CASE("hooks around loading run with lists, which they may replace by lists of the kind") {
    const Types types;
    const ModuleRef module = types.make();
    const auto replace = [](void* state, const tenon_module_hook_call* call,
                            tenon_value* replacements, tenon_error** error) {
      return guarded(error, [&] {
        CHECK(call->input_count == 2);
        replacements[0] = make_string("ignored");
        replacements[1] = state == nullptr ? make_string_list({"b", "c"}) : integer(2);
      });
    };
    const auto add = [&](void* state) {
      tenon_hook* hook = nullptr;
      CHECK(slots().modules.add_hook(module.get(), TENON_HOOK_STATE_LOAD_POST, 0, replace, state,
                                     nullptr, &hook, nullptr) == TENON_OK);
      graph_service.hook_release(hook);
    };
    CHECK(slots().modules.has_hooks(module.get(), 1u << TENON_HOOK_STATE_LOAD_POST) == 0);
    add(nullptr);
    CHECK(slots().modules.has_hooks(module.get(), 1u << TENON_HOOK_STATE_LOAD_POST) == 1);
    CHECK(slots().modules.has_hooks(module.get(), 1u << TENON_HOOK_STATE_LOAD_PRE) == 0);
    CHECK(slots().modules.has_hooks(nullptr, ~0u) == 0);
    tenon_value values[] = {make_string("prefix."), make_string_list({"a"})};
    const auto run = [&](tenon_error** error) {
      return slots().modules.run_hooks(module.get(), TENON_HOOK_STATE_LOAD_POST, values, 2, error);
    };
    CHECK(message_of_slot(TENON_OK, run) == "");
    CHECK(std::string(values[0].as.string, values[0].length) == "prefix.");
    CHECK(values[1].length == 2);
    add(&values);
    CHECK(message_of_slot(TENON_ERROR_TYPE, run) == "a hook gave 2 as a list of keys");
    for (tenon_value& value : values) release_value(value);
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modules.run_hooks(module.get(), TENON_HOOK_FORWARD, values, 0, error);
          }) == "hooks of kind 5 do not run around saving and loading");
  }

  TEST_CASE("a bit of an assignment that the host does not know is refused") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef other = floats({1, 1});
    const tenon_value value = tensor_value(other.get());
    CHECK(has(message_of_slot(TENON_ERROR_ARGUMENT,
                              [&](tenon_error** error) {
                                return slots().modules.assign(module.get(), "weight", 6, &value,
                                                              TENON_ASSIGN_MAKE_PARAMETER | 4,
                                                              error);
                              }),
              "modules.assign: flags that this Tenon does not know: 0x4"));
    CHECK(find_tensor(*module, "weight") != other.get());
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
