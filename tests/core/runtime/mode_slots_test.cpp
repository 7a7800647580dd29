// Settings of the calling thread, each with what it was before.
#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

tenon_status decline(void*, const tenon_call*, tenon_value* results, tenon_error**) {
  results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
  return TENON_OK;
}

class Entered {
 public:
  explicit Entered(bool below = false) {
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().modes.enter("m", decline, &state_, below ? 1 : 0, &mode_, error);
          }) == "");
  }
  ~Entered() {
    if (mode_ != nullptr) leave();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  void leave() {
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().modes.leave(mode_, error);
          }) == "");
    mode_ = nullptr;
  }

 private:
  int state_ = 0;
  tenon_mode* mode_ = nullptr;
};

}  // namespace

TEST_SUITE("runtime/mode_slots") {
  TEST_CASE("each setting returns the one before, and anomaly mode has three levels") {
    CHECK(slots().autograd.inference_mode_set(1) == 0);
    CHECK(slots().autograd.inference_mode() == 1);
    CHECK(slots().autograd.inference_mode_set(0) == 1);
    CHECK(slots().autograd.anomaly_mode_set(7) == 0);
    CHECK(slots().autograd.anomaly_mode() == 2);
    CHECK(slots().autograd.anomaly_mode_set(-3) == 2);
    CHECK(slots().autograd.anomaly_mode() == 0);
    const int32_t before = slots().graph.tracking_set(1);
    CHECK(slots().graph.tracking_set(before) == 1);
  }

  TEST_CASE("modes above autograd are counted while they are open and not switched off") {
    CHECK(slots().modes.count() == 0);
    Entered outer;
    Entered inner;
    CHECK(slots().modes.count() == 2);
    {
      const Entered below(true);
      CHECK(slots().modes.count() == 2);
    }
    CHECK(slots().modes.disable(TENON_DISABLE_MODES) == 0);
    CHECK(slots().modes.count() == 0);
    CHECK(slots().modes.disable(0) == TENON_DISABLE_MODES);
    inner.leave();
    CHECK(slots().modes.count() == 1);
  }

  TEST_CASE("types and modes are switched off apart, and unknown bits switch nothing off") {
    constexpr uint32_t kTypes = TENON_DISABLE_TYPES, kModes = TENON_DISABLE_MODES;
    for (const uint32_t what : {kTypes, kModes, kTypes | kModes}) {
      CHECK(slots().modes.disable(what) == 0);
      CHECK(slots().modes.disabled() == what);
      CHECK(thread_state.types_disabled == ((what & kTypes) != 0));
      CHECK(thread_state.modes_disabled == ((what & kModes) != 0));
      CHECK(slots().modes.disable(0) == what);
    }
    slots().modes.disable(~(kTypes | kModes));
    CHECK(slots().modes.disabled() == 0);
  }

  TEST_CASE("neither Tensor nor an unknown id is a type that calls ask") {
    CHECK(slots().types.dispatches(0) == 0);
    CHECK(slots().types.dispatches(UINT32_MAX) == 0);
  }

  TEST_CASE("what is missing is refused by name") {
    int state = 0;
    tenon_mode* mode = nullptr;
    tenon_trace* trace = nullptr;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.enter("m", nullptr, &state, 0, &mode, error);
          }) == "the handler of a mode is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.enter("m", decline, nullptr, 0, &mode, error);
          }) == "the state of a mode is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.leave(nullptr, error);
          }) == "the mode is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.trace_enter(0, nullptr, nullptr, &trace, error);
          }) == "what writes a trace's lines is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.trace_leave(nullptr, error);
          }) == "the trace is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.enter_module(nullptr, 0, &mode, error);
          }) == "the module is null");
    tenon_watch* watch = nullptr;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.watch_enter(nullptr, &state, 0, &watch, error);
          }) == "what watches modules is null");
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().modes.watch_leave(nullptr, error);
          }) == "the watch is null");
    const auto hear = [](void*, const tenon_module_event*, tenon_error**) -> tenon_status {
      return TENON_OK;
    };
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT,
                          [&](tenon_error** error) {
                            return slots().modes.watch_enter(hear, &state, 6, &watch, error);
                          }) ==
          "a watch: flags that this Tenon does not know: 0x6; update Tenon, or build the "
          "plugin with the SDK of this one");
    CHECK(slots().modes.watches() == 0);
    CHECK(slots().modes.count() == 0);
  }
}
