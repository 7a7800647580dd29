// Plugins and policies as applications reach them.
#include "core/base/json.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

}  // namespace

TEST_SUITE("runtime/plugin_slots") {
  TEST_CASE("what an unload must know is refused before anything is looked up") {
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().plugins.unload(nullptr, TENON_UNLOAD_REFUSE, 0, nullptr, error);
          }) == "the id of the plugin is null");
    const std::string message = message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
      return slots().plugins.unload("p", TENON_UNLOAD_FORCE + 1, 0, nullptr, error);
    });
    CHECK(has(message, "the choice is " + std::to_string(TENON_UNLOAD_FORCE + 1)));
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().plugins.reload(nullptr, nullptr, error);
          }) == "the id of the plugin is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().plugins.policy_apply(nullptr, 0, error);
          }) == "the policy is null");
    const Json policy = parse_json("{}");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT,
                          [&](tenon_error** error) {
                            return slots().plugins.policy_apply(policy.get(), 6, error);
                          }) ==
          "plugins.policy_apply: flags that this Tenon does not know: 0x6; update Tenon, or build "
          "the "
          "plugin with the SDK of this one");
  }
}
