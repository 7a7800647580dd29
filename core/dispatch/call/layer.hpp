// The layers of an op call. A call goes through them in order; each is one function in one file and
// may answer the call, change it, or pass it on by next().
//
//   trace        trace.cpp           reports to the listeners
//   mode         modes.cpp           handlers that are active in a scope of the thread
//   typed        chain.cpp           overrides and handlers of the operands' types
//   provider     providers.cpp       runs what the first provider declines by the next one
//   checks       change_check.cpp    refuses to change what is read-only
//   shapes       shapes.cpp          computes shapes and dtypes alone
//   half         half.cpp            runs ops on f16 and bf16 in f32
//   autograd     autograd/record.cpp leaves a node, carries tangents
//   mode_below   modes.cpp           handlers that are asked where a kernel would run
//   kernel       kernel.cpp          runs the implementation
//
// A call that carries no flag of a layer does not see it; one without any goes straight to the
// kernel (call.cpp). `tenon why` walks the same list.
#pragma once

#include <array>
#include <cstdint>

#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/op.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

namespace tenon::core {

enum class LayerId : uint8_t {
  trace,
  mode,
  typed,
  provider,
  checks,
  shapes,
  half,
  autograd,
  mode_below,
  kernel
};
inline constexpr size_t kLayerCount = 10;

// A call on its way down.
struct Call {
  const Implementation& implementation;
  const tenon_value* arguments;  // bound: one for each parameter
  tenon_value* results;          // result_count slots
  tenon_error** error;           // null: not read
  uint32_t flags = 0;            // what thread and operands carry: kSpecialFlags are of layers
  const AsWritten* written = nullptr;  // null: in order, defaults filled in
  tenon_context* context = nullptr;    // prepared for the kernel; null: it makes its own
};

struct Layer {
  LayerId id;
  tenon_status (*run)(Call& call) noexcept;
};

// Of every call that has come off the plain path: that of the last layer.
inline constexpr uint32_t kKernelFlag = 1u << 28;
// Of a call whose implementation may decline; not a flag of tensors.
inline constexpr uint32_t kProviderFlag = 1u << 26;
// Of a call whose lists are still to be looked at; no layer's, nor one of tensors.
inline constexpr uint32_t kListsFlag = 1u << 25;
inline constexpr uint32_t kCheckFlags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_INFERENCE;
inline constexpr uint32_t kAutogradFlags =
    TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_VIEW;
inline constexpr uint32_t kSpecialFlags = kTraceFlag | kModeFlag | TENON_TENSOR_TYPED |
                                          kProviderFlag | kCheckFlags | kShapesFlag |
                                          TENON_TENSOR_HALF | kAutogradFlags | kModeBelowFlag;

// Calls that carry one of these go through the layer.
constexpr uint32_t layer_flags(LayerId id) {
  constexpr uint32_t flags[kLayerCount] = {
      kTraceFlag,  kModeFlag,         TENON_TENSOR_TYPED, kProviderFlag,  kCheckFlags,
      kShapesFlag, TENON_TENSOR_HALF, kAutogradFlags,     kModeBelowFlag, kKernelFlag};
  return flags[static_cast<size_t>(id)];
}

// In the order of LayerId. Defined by runtime/assembly.cpp: dispatch does not know what is above
// it.
extern const std::array<Layer, kLayerCount> layers;

// Continues with the first layer, from this one, that the call has a flag of.
template <LayerId kLayer>
[[gnu::always_inline]] inline tenon_status enter(Call& call) noexcept {
  constexpr auto at = static_cast<size_t>(kLayer);
  if constexpr (kLayer != LayerId::kernel) {
    if ((call.flags & layer_flags(kLayer)) == 0) return enter<static_cast<LayerId>(at + 1)>(call);
  }
  return layers[at].run(call);
}
// The same behind this one: how a layer passes a call on.
template <LayerId kLayer>
inline tenon_status next(Call& call) noexcept {
  return enter<static_cast<LayerId>(static_cast<size_t>(kLayer) + 1)>(call);
}

// ---- the entries of those in dispatch ----
tenon_status run_traced(Call& call) noexcept;
tenon_status run_modes(Call& call) noexcept;
tenon_status run_typed(Call& call) noexcept;
tenon_status run_provider(Call& call) noexcept;
tenon_status run_checks(Call& call) noexcept;
tenon_status run_shapes(Call& call) noexcept;
tenon_status run_half(Call& call) noexcept;
tenon_status run_modes_below(Call& call) noexcept;
tenon_status run_kernel(Call& call) noexcept;

}  // namespace tenon::core
