// Making modules.
#include "core/autograd/engine/grad.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/nn/module.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("nn/create") {
  TEST_CASE("attributes are bound like arguments, and given to create") {
    const Types types;
    const tenon_value width[] = {integer(3)};
    const ModuleRef module = create_module(types["Block"], width, {}, {});
    CHECK(find_tensor(*module, "weight")->view.count == 3);
    CHECK(module_text(*module) == "Block(width=3)");
    CHECK(has(refusal(
                  [&] {
                    const tenon_value wrong[] = {number(1.5)};
                    create_module(types["Block"], wrong, {}, {});
                  },
                  TENON_ERROR_TYPE),
              "width"));
  }

  TEST_CASE("a document names types of the given table, and every fault of it") {
    const Types types;
    const auto made = [&](const char* text) {
      return create_module(*parse_json(text), nullptr, types.table);
    };
    CHECK(module_text(*made(R"({"type": "Block", "width": 3})")) == "Block(width=3)");
    CHECK(module_text(*made(R"("Block")")) == "Block(width=2)");
    const std::string fault = refusal(
        [&] { made(R"({"type": "Block", "width": "wide", "depth": 1})"); }, TENON_ERROR_CONFIG);
    CHECK(has(fault, "width"));
    CHECK(has(fault, "unexpected keyword argument 'depth'"));
    CHECK(has(refusal([&] { made(R"("Nothing")"); }, TENON_ERROR_CONFIG),
              "no module type is named 'Nothing'"));
  }

  TEST_CASE("settings beside attributes are applied in their order, each with its place") {
    const Types types;
    struct Applied {
      std::string keys;
      uint32_t fails = 9;
    } applied;
    const char* const keys[] = {"late", "early", "width"};
    tenon_module_settings settings{};
    settings.size = sizeof settings;
    settings.count = 3;
    settings.keys = keys;
    settings.self = &applied;
    settings.apply = [](void* self, tenon_module* module, uint32_t index, const tenon_json* value,
                        tenon_error** error) {
      return guarded(error, [&] {
        auto& found = *static_cast<Applied*>(self);
        found.keys += format_text("{} {}; ", index, module_text(*module));
        if (index == found.fails) throw Error(TENON_ERROR_VALUE, "{} is wrong", dump(*value));
      });
    };
    const auto made = [&](const char* text) {
      return create_module(*parse_json(text), &settings, types.table);
    };
    // An attribute of the same name takes precedence.
    made(R"({"early": 1, "type": "Block", "late": 2, "width": 3})");
    CHECK(applied.keys == "0 Block(width=3); 1 Block(width=3); ");
    applied.fails = 0;
    CHECK(has(
        refusal([&] { made(R"({"type": "Block", "early": 1, "late": 2})"); }, TENON_ERROR_CONFIG),
        "/late: 2 is wrong"));
    CHECK(applied.keys == "0 Block(width=3); 1 Block(width=3); 0 Block(width=2); ");
  }

  TEST_CASE("a clone has its own tensors, and shares what its original shares") {
    const Types types;
    const ModuleRef root = types.make(), child = types.make();
    register_child(*root, "left", child.get());
    register_child(*root, "right", child.get());
    register_parameter(*root, "tied", find_tensor(*child, "weight"));
    register_parameter(*root, "none", nullptr);
    set_requires_grad(*find_tensor(*root, "weight"), false);
    set_training(*child, false);
    const ModuleRef copy = clone_module(*root);
    CHECK(module_text(*copy) == module_text(*root));
    CHECK(find_child(*copy, "left") == find_child(*copy, "right"));
    CHECK(find_child(*copy, "left") != child.get());
    CHECK_FALSE(find_child(*copy, "left")->training);
    CHECK(find_tensor(*copy, "tied") == find_tensor(*copy, "left.weight"));
    CHECK(find_tensor(*copy, "none") == nullptr);
    CHECK_FALSE(find_tensor(*copy, "weight")->requires_grad());
    CHECK(find_tensor(*copy, "tied")->requires_grad());
    static_cast<float*>(find_tensor(*copy, "weight")->view.data)[0] = 9;
    CHECK(read(*find_tensor(*root, "weight")) == std::vector<float>{1, 2});
    CHECK(copy->state == copy.get());
  }

  TEST_CASE("MOD-15 a type with a state that it cannot copy is named by clone") {
    tenon_module_descriptor made = block("Rigid(int width=2)");
    made.clone = nullptr;
    ModuleTable table;
    const tenon_module_descriptor* one[] = {&made};
    table.commit(table.prepare("p", one));
    const Types types;
    const ModuleRef root = types.make(), rigid = create_module(*table.find("Rigid"), {}, {}, {});
    register_child(*root, "inner", rigid.get());
    CHECK(refusal([&] { clone_module(*root); }, TENON_ERROR_RUNTIME) ==
          "clone is not implemented for Rigid: its instances have a state that plugin 'p' does not "
          "copy");
  }
}
