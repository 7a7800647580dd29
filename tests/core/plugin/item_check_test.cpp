// Registrations compared with declarations: each fault of a descriptor, each difference, and any
// two lists of names against their set differences.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <random>

#include "core/plugin/failure.hpp"
#include "core/plugin/load/table_check.hpp"
#include "tenon/abi/host.h"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

constexpr const char* kAdd = "add(Tensor input, Tensor other) -> Tensor";
constexpr const char* kLinear = "Linear(int n)";
constexpr const char* kForward = "forward(Tensor input) -> Tensor";

tenon_status run(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}
tenon_status create(void*, tenon_module*, const tenon_value*, void**, tenon_error**) {
  return TENON_OK;
}
tenon_status forward(void*, void*, tenon_module*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status handle(void*, const tenon_call*, tenon_value*, tenon_error**) { return TENON_OK; }

// Checks a table whose head is that of the facts.
void check_items(PluginFacts facts, tenon_plugin plugin) {
  tenon_host host{};
  host.abi_major = facts.abi_major = plugin.abi_major = TENON_ABI_MAJOR;
  host.abi_minor = facts.abi_minor = plugin.abi_minor = TENON_ABI_OLDEST_MINOR;
  plugin.id = facts.id.c_str();
  plugin.version = facts.version.c_str();
  checked_table(plugin, facts, "/made.so", host);
}

// A plugin with one item of each kind, which registers what it declares until a test changes it.
struct Made {
  Made() {
    add_op(kAdd);
    tenon_module_descriptor& module = module_list.emplace_back();
    module.size = sizeof module;
    module.schema = kLinear;
    module.forward_schema = kForward;
    module.create = create;
    module.forward = forward;
    tenon_type_descriptor& type = type_list.emplace_back();
    type.size = sizeof type;
    type.name = "Block";
    type.parent = "Tensor";
    tenon_override_descriptor& entry = override_list.emplace_back();
    entry.size = sizeof entry;
    entry.schema = kAdd;
    entry.types = "B, A";
    entry.run = handle;

    facts.id = "made";
    facts.ops.emplace_back().schema = kAdd;
    facts.modules.emplace_back().schema = kLinear;
    facts.modules.back().forward = kForward;
    facts.types.emplace_back().type = "Block";
    facts.types.back().parent = "Tensor";
    facts.overrides.emplace_back().schema = kAdd;
    facts.overrides.back().key = "add[A, B]";
  }
  tenon_op_descriptor& add_op(const char* schema) {
    tenon_op_descriptor& made = op_list.emplace_back();
    made.size = sizeof made;
    made.schema = schema;
    made.run = run;
    return made;
  }
  void check() const {
    const auto pointers = [](const auto& list) {
      std::vector<decltype(&list.front())> made;
      for (const auto& one : list) made.push_back(&one);
      return made;
    };
    const auto ops = pointers(op_list);
    const auto modules = pointers(module_list);
    const auto types = pointers(type_list);
    const auto overrides = pointers(override_list);
    tenon_plugin plugin{};
    plugin.size = sizeof plugin;
    plugin.ops = ops.data();
    plugin.op_count = static_cast<int64_t>(ops.size());
    plugin.modules = modules.data();
    plugin.module_count = static_cast<int64_t>(modules.size());
    plugin.types = types.data();
    plugin.type_count = static_cast<int64_t>(types.size());
    plugin.overrides = overrides.data();
    plugin.override_count = static_cast<int64_t>(overrides.size());
    check_items(facts, plugin);
  }
  // The difference between registration and declaration.
  std::string difference() const {
    const PluginFailure failure = failure_of([&] { check(); });
    CHECK(failure.stage == PluginStage::Register);
    CHECK(failure.plugin == "made");
    CHECK(failure.path == "/made.so");
    const std::string start = "declared and registered items differ: ";
    REQUIRE(failure.problem.starts_with(start));
    return failure.problem.substr(start.size());
  }

  PluginFacts facts;
  std::deque<tenon_op_descriptor> op_list;
  std::deque<tenon_module_descriptor> module_list;
  std::deque<tenon_type_descriptor> type_list;
  std::deque<tenon_override_descriptor> override_list;
};

}  // namespace

TEST_SUITE("plugin/item_check") {
  TEST_CASE("a plugin that registers what it declares is taken, in any order of its lists") {
    Made made;
    CHECK_NOTHROW(made.check());
    made.facts.ops.emplace_back().schema = "mm(Tensor a, Tensor b) -> Tensor";
    made.op_list.push_front(made.add_op("mm(Tensor a, Tensor b) -> Tensor"));
    made.op_list.pop_back();
    CHECK_NOTHROW(made.check());
  }

  TEST_CASE("a plugin without items is taken") {
    tenon_plugin plugin{};
    plugin.size = sizeof plugin;
    CHECK_NOTHROW(check_items(PluginFacts(), plugin));
  }

  TEST_CASE("an entry of a list that is null is refused, whatever the list") {
    const tenon_op_descriptor* const no_op = nullptr;
    const tenon_module_descriptor* const no_module = nullptr;
    const tenon_type_descriptor* const no_type = nullptr;
    const tenon_override_descriptor* const no_override = nullptr;
    struct Row {
      const char* remedy;
      std::function<void(tenon_plugin&)> set;
    };
    const Row rows[] = {
        {"fill every entry of `ops`",
         [&](tenon_plugin& plugin) {
           plugin.ops = &no_op;
           plugin.op_count = 1;
         }},
        {"fill every entry of `modules`",
         [&](tenon_plugin& plugin) {
           plugin.modules = &no_module;
           plugin.module_count = 1;
         }},
        {"fill every entry of `types`",
         [&](tenon_plugin& plugin) {
           plugin.types = &no_type;
           plugin.type_count = 1;
         }},
        {"fill every entry of `overrides`",
         [&](tenon_plugin& plugin) {
           plugin.overrides = &no_override;
           plugin.override_count = 1;
         }},
    };
    for (const Row& row : rows) {
      CAPTURE(row.remedy);
      tenon_plugin plugin{};
      plugin.size = sizeof plugin;
      row.set(plugin);
      const PluginFailure failure = failure_of([&] { check_items(PluginFacts(), plugin); });
      CHECK(failure.stage == PluginStage::Register);
      CHECK(failure.remedy == row.remedy);
    }
  }

  TEST_CASE("a descriptor without the name that it is found by is refused") {
    const std::function<void(Made&)> faults[] = {
        [](Made& made) { made.op_list[0].schema = nullptr; },
        [](Made& made) { made.module_list[0].schema = nullptr; },
        [](Made& made) { made.type_list[0].name = nullptr; },
        [](Made& made) { made.override_list[0].schema = nullptr; },
        [](Made& made) { made.override_list[0].types = nullptr; },
    };
    for (const auto& fault : faults) {
      Made made;
      fault(made);
      CHECK(failure_of([&] { made.check(); }).problem.starts_with("it registers a"));
    }
  }

  TEST_CASE("descriptors of the first SDK are large enough, smaller ones name both sizes") {
    struct Row {
      const char* name;
      size_t oldest;
      std::function<uint32_t&(Made&)> size;
    };
    const Row rows[] = {
        {"op 'add'", offsetof(tenon_op_descriptor, vjp),
         [](Made& made) -> uint32_t& { return made.op_list[0].size; }},
        {"module 'Linear'", sizeof(tenon_module_descriptor),
         [](Made& made) -> uint32_t& { return made.module_list[0].size; }},
        {"type 'Block'", offsetof(tenon_type_descriptor, project_gradient),
         [](Made& made) -> uint32_t& { return made.type_list[0].size; }},
        {"override add[A, B]", offsetof(tenon_override_descriptor, rules),
         [](Made& made) -> uint32_t& { return made.override_list[0].size; }},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      Made made;
      row.size(made) = static_cast<uint32_t>(row.oldest);
      CHECK_NOTHROW(made.check());
      --row.size(made);
      const PluginFailure failure = failure_of([&] { made.check(); });
      CHECK(failure.problem == "the descriptor of " + std::string(row.name) + " is too small");
      CHECK(failure.expected == "at least " + std::to_string(row.oldest) + " bytes");
      CHECK(failure.found == std::to_string(row.oldest - 1));
    }
  }

  TEST_CASE("fields behind the size of an older descriptor are not read") {
    Made made;
    made.op_list[0].size = offsetof(tenon_op_descriptor, vjp);
    made.op_list[0].vjp = rule;  // without a formula this would be a contradiction
    CHECK_NOTHROW(made.check());
    made.op_list[0].size = sizeof(tenon_op_descriptor);
    CHECK(failure_of([&] { made.check(); }).problem.starts_with("op 'add' has a backward but"));
  }

  TEST_CASE("a descriptor that contradicts itself is refused with its name") {
    Made made;
    made.op_list[0].run = nullptr;
    CHECK(failure_of([&] { made.check(); }).problem == "op 'add' has neither run nor elementwise");
    made.op_list[0].run = run;
    made.module_list[0].create = nullptr;
    CHECK(failure_of([&] { made.check(); }).problem ==
          "module 'Linear' has no create or no forward");
  }

  TEST_CASE("a flag that the host does not know refuses the plugin, on whatever item it is") {
    const std::pair<const char*, std::function<void(Made&)>> rows[] = {
        {"op 'add' sets flags that this Tenon does not know: 0x8000",
         [](Made& made) { made.op_list[0].flags = TENON_OP_READS_ELEMENTS << 1; }},
        {"module 'Linear' sets flags that this Tenon does not know: 0x2",
         [](Made& made) { made.module_list[0].flags = TENON_MODULE_OWN_FORWARD << 1; }},
        {"type 'Block' sets flags that this Tenon does not know: 0x10",
         [](Made& made) { made.type_list[0].flags = TENON_TYPE_OWN_MEMORY << 1; }},
        {"override add[A, B] sets flags that this Tenon does not know: 0x1",
         [](Made& made) { made.override_list[0].flags = 1; }},
        {"override add[A, B] sets flags that this Tenon does not know: 0x80000000",
         [](Made& made) {
           made.op_list[0].flags = 1u << 31;
           made.override_list[0].rules = &made.op_list[0];
           made.op_list.clear();
           made.facts.ops.clear();
         }},
    };
    for (const auto& [problem, change] : rows) {
      CAPTURE(problem);
      Made made;
      change(made);
      const PluginFailure failure = failure_of([&] { made.check(); });
      CHECK(failure.stage == PluginStage::Register);
      CHECK(failure.problem == problem);
      CHECK(failure.remedy == "update Tenon, or build the plugin with the SDK of this one");
    }
  }

  TEST_CASE("flags are judged from the file, before code of the plugin runs") {
    Made made;
    tenon_host host{};
    host.abi_major = made.facts.abi_major = TENON_ABI_MAJOR;
    made.facts.ops[0].flags = TENON_OP_READS_ELEMENTS | TENON_OP_MAY_DECLINE;
    made.facts.types[0].flags = TENON_TYPE_OWN_MEMORY;
    CHECK(!judge_facts(host, made.facts, "/made.so"));
    made.facts.types[0].flags = -1;
    CHECK(judge_facts(host, made.facts, "/made.so")->problem ==
          "type 'Block' sets flags that this Tenon does not know: 0xfffffffffffffff0");
    made.facts.ops[0].flags = int64_t{1} << 40;
    const auto failure = judge_facts(host, made.facts, "/made.so");
    CHECK(failure->stage == PluginStage::Version);
    CHECK(failure->problem == "op 'add' sets flags that this Tenon does not know: 0x10000000000");
  }

  TEST_CASE("a kind of gradient, of jvp or of promotion that the host does not know is refused") {
    tenon_loop loops[int{TENON_ISA_COUNT} * TENON_COMPUTED_DTYPE_COUNT] = {};
    const tenon_elementwise kernel{sizeof kernel, TENON_PROMOTE_MAGNITUDE + 1, loops, nullptr};
    const std::function<void(tenon_op_descriptor&)> changes[] = {
        [](tenon_op_descriptor& op) { op.differentiable = TENON_DIFFERENTIABLE_COMPOSITE + 1; },
        [](tenon_op_descriptor& op) { op.jvp_kind = TENON_JVP_MULTILINEAR + 1; },
        [&](tenon_op_descriptor& op) {
          op.run = nullptr;
          op.elementwise = &kernel;
        }};
    for (const auto& change : changes) {
      Made made;
      change(made.op_list[0]);
      CHECK(failure_of([&] { made.check(); }).problem ==
            "op 'add' has a kind of gradient, jvp or promotion that this Tenon does not know");
    }
  }

  TEST_CASE("rules of an override of such a kind are refused like an op, whatever their size") {
    for (uint32_t tenon_op_descriptor::*kind :
         {&tenon_op_descriptor::differentiable, &tenon_op_descriptor::jvp_kind}) {
      Made made;
      tenon_op_descriptor rules = made.op_list[0];
      rules.size = offsetof(tenon_op_descriptor, vjp);
      made.override_list[0].rules = &rules;
      CHECK_NOTHROW(made.check());
      rules.*kind = 4 + TENON_JVP_MULTILINEAR;
      const PluginFailure failure = failure_of([&] { made.check(); });
      CHECK(failure.stage == PluginStage::Register);
      CHECK(failure.problem ==
            "override add[A, B] has a kind of gradient, jvp or promotion that this Tenon does not "
            "know");
      CHECK(failure.remedy == "update Tenon, or build the plugin with the SDK of this one");
    }
  }

  TEST_CASE("an item that differs is listed with both forms") {
    struct Row {
      std::function<void(Made&)> change;
      const char* text;
    };
    const Row rows[] = {
        {[](Made& made) { made.op_list[0].schema = "add(Tensor input) -> Tensor"; },
         "add (schema 'add(Tensor input, Tensor other) -> Tensor' declared, 'add(Tensor input) -> "
         "Tensor' registered)"},
        {[](Made& made) {
           made.op_list[0].differentiable = TENON_DIFFERENTIABLE_FORMULA;
           made.op_list[0].backward = rule;
         },
         "add (differentiable 'none' declared, 'formula' registered)"},
        {[](Made& made) { made.op_list[0].jvp_kind = TENON_JVP_LINEAR; },
         "add (jvp 'none' declared, 'linear' registered)"},
        {[](Made& made) { made.facts.ops[0].flags = 4; },
         "add (flags '4' declared, '0' registered)"},
        {[](Made& made) { made.op_list[0].not_overridable = "core"; },
         "add (not_overridable '' declared, 'core' registered)"},
        {[](Made& made) { made.module_list[0].schema = "Linear(int m)"; },
         "module Linear (schema 'Linear(int n)' declared, 'Linear(int m)' registered)"},
        {[](Made& made) { made.facts.modules[0].forward.clear(); },
         "module Linear (forward '' declared, 'forward(Tensor input) -> Tensor' registered)"},
        {[](Made& made) { made.type_list[0].parent = nullptr; },
         "type Block (parent 'Tensor' declared, '' registered)"},
        {[](Made& made) { made.type_list[0].fallback = TENON_FALLBACK_DECLINE; },
         "type Block (fallback '0' declared, '1' registered)"},
        {[](Made& made) { made.type_list[0].metadata = TENON_METADATA_DROP; },
         "type Block (metadata '0' declared, '1' registered)"},
        {[](Made& made) { made.facts.types[0].handler = true; },
         "type Block (handler 'yes' declared, 'no' registered)"},
        {[](Made& made) { made.override_list[0].accepts = "*"; },
         "override add[A, B] (accepts '' declared, '*' registered)"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      Made made;
      row.change(made);
      CHECK(made.difference() == "changed: " + std::string(row.text));
    }
  }

  TEST_CASE("a payload's layout counts where the plugin declares one, as plain C does not") {
    Made made;
    made.type_list[0].payload_size = 16;
    made.type_list[0].payload_alignment = 8;
    made.type_list[0].payload_fingerprint = 5;
    CHECK_NOTHROW(made.check());
    made.facts.types[0].payload = {16, 8, 5};
    CHECK_NOTHROW(made.check());
    made.facts.types[0].payload[2] = 6;
    CHECK(made.difference() ==
          "changed: type Block (payload '16 bytes aligned to 8, fingerprint "
          "6' declared, '16 bytes aligned to 8, fingerprint 5' registered)");
    // A descriptor from before layouts were in it has none.
    made.facts.types[0].payload[2] = 5;
    made.type_list[0].size = offsetof(tenon_type_descriptor, payload_alignment);
    CHECK(contains(made.difference(), "'16 bytes aligned to 0, fingerprint 0' registered"));
  }

  TEST_CASE("an op that is registered twice is refused, though both are as declared") {
    Made made;
    made.add_op(kAdd);
    CHECK(made.difference() == "registered but not declared: add for a second time");
  }

  TEST_CASE("types of an override are compared as a set") {
    Made made;
    made.override_list[0].types = " A,B ,A";
    CHECK_NOTHROW(made.check());
    made.override_list[0].types = "A";
    CHECK(made.difference() ==
          "declared but not registered: override add[A, B]; registered but not declared: override "
          "add[A]");
  }

  TEST_CASE("long lists are cut to ten names and a count") {
    Made made;
    std::string names;
    for (int i = 0; i < 12; ++i) {
      const std::string name = "op" + std::to_string(i);
      made.facts.ops.emplace_back().schema = name + "(Tensor input) -> Tensor";
      if (i < 10) names += (i == 0 ? "" : ", ") + name;
    }
    CHECK(made.difference() == "declared but not registered: " + names + " and 2 more");
  }

  TEST_CASE("of any lists of ops, what one has and the other lacks is reported, in its order") {
    std::mt19937 random(3);
    std::vector<std::string> schemas;
    for (char letter = 'a'; letter < 'h'; ++letter)
      schemas.push_back(std::string(1, letter) + "(Tensor input) -> Tensor");
    for (int round = 0; round < 200; ++round) {
      Made made;
      made.facts.ops.clear();
      made.op_list.clear();
      const auto choose = [&](auto&& take) {
        std::vector<std::string> names;
        std::vector<size_t> order(schemas.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t i : order) {
          if (random() % 2 == 0) continue;
          take(schemas[i]);
          names.push_back(schemas[i].substr(0, 1));
        }
        return names;
      };
      const auto declared =
          choose([&](const std::string& schema) { made.facts.ops.emplace_back().schema = schema; });
      const auto registered =
          choose([&](const std::string& schema) { made.add_op(schema.c_str()); });
      const auto without = [](const std::vector<std::string>& names,
                              const std::vector<std::string>& others) {
        std::string text;
        for (const std::string& name : names) {
          if (std::ranges::find(others, name) == others.end())
            text += (text.empty() ? "" : ", ") + name;
        }
        return text;
      };
      const std::string missing = without(declared, registered);
      const std::string extra = without(registered, declared);
      if (missing.empty() && extra.empty()) {
        CHECK_NOTHROW(made.check());
        continue;
      }
      std::string text = missing.empty() ? "" : "declared but not registered: " + missing;
      if (!extra.empty())
        text += (text.empty() ? "" : "; ") + ("registered but not declared: " + extra);
      CHECK(made.difference() == text);
    }
  }
}
