// The contract of the core with the plugins that provide its ops.
#include "core/dispatch/table/core_ops.hpp"

#include <fstream>
#include <sstream>

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

void commit(Registry& registry, const char* schema) {
  const tenon_op_descriptor op = descriptor(schema, nothing);
  const tenon_op_descriptor* const pointer = &op;
  registry.commit("other", {&pointer, 1});
}

}  // namespace

TEST_SUITE("dispatch/core_ops") {
  TEST_CASE("a missing op is refused with its use and where it is") {
    for (const CoreOpEntry& entry : core_op_contract()) {
      const Registry registry;
      const std::string name = parse_schema(entry.schema).name;
      const std::string text =
          refusal([&] { require_core_op(entry.op, registry); }, TENON_ERROR_PLUGIN);
      CHECK(has(text, "autograd needs op '" + name + "' to " + entry.use));
      CHECK(has(text, "plugin 'math'"));
      CHECK(has(text, entry.schema));
    }
  }

  TEST_CASE("authors find every op of the contract in plugins/README.md") {
    std::ifstream file(TENON_SOURCE_DIR "/plugins/README.md");
    std::stringstream text;
    text << file.rdbuf();
    for (const CoreOpEntry& entry : core_op_contract())
      CHECK(has(text.str(), "\n" + std::string(entry.schema) + "\n"));
  }

  TEST_CASE("an op serves that takes what the core passes, and more with defaults") {
    for (const CoreOpEntry& entry : core_op_contract()) {
      Registry registry;
      commit(registry, entry.schema);
      CHECK(require_core_op(entry.op, registry)->name == parse_schema(entry.schema).name);
    }
    Registry registry;
    commit(registry, "add(Tensor|Scalar a, Tensor|Scalar b, *, Scalar alpha=1) -> Tensor");
    CHECK(require_core_op(CoreOp::add, registry)->name == "add");
  }

  TEST_CASE("an op of the name with another signature is refused, both named") {
    for (const char* schema :
         {"add(Tensor input) -> Tensor", "add(Tensor input, int other) -> Tensor",
          "add(Tensor input, Tensor other, int third) -> Tensor",
          "add(Tensor input, *, Tensor other) -> Tensor",
          "add(Tensor(a!) input, Tensor other) -> Tensor(a!)",
          "add(Tensor input, Tensor other) -> Tensor[]"}) {
      Registry registry;
      commit(registry, schema);
      const std::string text =
          refusal([&] { require_core_op(CoreOp::add, registry); }, TENON_ERROR_PLUGIN);
      CHECK(has(text, "'add(Tensor input, Tensor other) -> Tensor'"));
      CHECK(has(text, "plugin 'other' provides '" + std::string(schema) + "'"));
    }
  }
}
