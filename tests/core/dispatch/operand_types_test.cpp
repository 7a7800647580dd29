// Calls whose operands are of many types.
#include <deque>

#include "core/dispatch/types/plan.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("dispatch/operand_types") {
  TEST_CASE("operands of any number of types are asked, subclasses first") {
    static constexpr int kTypes = 100;
    static auto* const names = new std::deque<std::string>;  // as long as the process
    static std::deque<tenon_type_descriptor> types;
    static std::vector<std::string> asked;
    for (int i = 0; i < kTypes; ++i) {
      tenon_type_descriptor& type = types.emplace_back();
      type.size = sizeof type;
      type.name = names->emplace_back("Count" + std::to_string(i)).c_str();
      // Every tenth is a subclass of the one before it.
      type.parent = i % 10 == 9 ? (*names)[static_cast<size_t>(i) - 1].c_str() : nullptr;
      type.handler = [](void*, const tenon_call* call, tenon_value* results, tenon_error**) {
        const auto id = call->type;
        asked.push_back(TypeTable::process().at(id).name);
        CHECK(call->type_count == kTypes);
        results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
        return tenon_status{TENON_OK};
      };
    }
    std::vector<const tenon_type_descriptor*> pointers;
    for (const tenon_type_descriptor& type : types) pointers.push_back(&type);
    TypeTable& table = TypeTable::process();
    table.commit(table.prepare("counting", pointers, {}, {}, {}, {}));

    Registry registry;
    const tenon_op_descriptor op =
        descriptor("count.all(Tensor[] all) -> Tensor",
                   [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
                     return tenon_status{TENON_ERROR_INTERNAL};
                   });
    const tenon_op_descriptor* pointer = &op;
    registry.commit("provider", {&pointer, 1});
    std::vector<TensorRef> operands;
    std::vector<Tensor*> list;
    for (const std::string& name : *names) {
      operands.push_back(make_dataless(TENON_F32, {}, table.find(name)->id));
      list.push_back(operands.back().get());
    }
    tenon_value argument{};
    argument.tag = TENON_VALUE_TENSOR_LIST;
    argument.length = kTypes;
    argument.as.tensors = list.data();
    Outcome outcome;
    call(outcome, registry.find("count.all"), {argument});
    CHECK(outcome.status == TENON_ERROR_TYPE);
    CHECK(has(outcome.message, "no implementation found for 'tenon.count.all'"));
    REQUIRE(asked.size() == kTypes);
    CHECK(asked[0] == "Count0");
    CHECK(asked[8] == "Count9");
    CHECK(asked[9] == "Count8");
    CHECK(asked[98] == "Count99");
    CHECK(asked[99] == "Count98");
  }
}
