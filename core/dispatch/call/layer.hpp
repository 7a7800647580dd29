// The layers of an op call. A call goes through them in order; each is one function in one file and
// may handle the call, change it, or pass it on by next().
//
// A call without the flags of a layer does not see it; a call without any goes straight to the
// kernel (call.cpp). TENON_LAYERS is the only list of layers: ids, flags, entries and explanations
// all come from it. `explain` says what `run` would do (explanation.hpp); `tenon why` walks it.
// Layers of kernel and autograd, and the other functions of areas above that dispatch calls
// (HigherAreas), are reached through the tables at the end.
#pragma once

#include <array>
#include <cstdint>

#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/call/call_flags.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/op.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

// X(id, flags, run, explain):               file                      the layer
#define TENON_LAYERS(X)                                                             \
  /* call/trace.cpp: reports to the listeners */                                    \
  X(trace, kTraceFlag, run_traced, explain_nothing)                                 \
  /* types/modes.cpp: asks the handlers that are active in a scope of the thread */ \
  X(mode, kModeFlag, run_modes, explain_modes)                                      \
  /* types/chain.cpp: asks overrides and handlers of the operands' types */         \
  X(typed, TENON_TENSOR_TYPED, run_typed, explain_typed)                            \
  /* table/providers.cpp: the next provider runs what the first one declines */     \
  X(provider, kProviderFlag, run_provider, explain_provider)                        \
  /* call/change_check.cpp: refuses to change what is read-only */                  \
  X(checks, kCheckFlags, run_checks, explain_checks)                                \
  /* kernel/shapes.cpp: computes shapes and dtypes alone */                         \
  X(shapes, kShapesFlag, run_shapes, explain_nothing)                               \
  /* kernel/half.cpp: runs ops on f16 and bf16 in f32 */                            \
  X(half, TENON_TENSOR_HALF, run_half, explain_nothing)                             \
  /* autograd/record/tracked.cpp: leaves a node, carries tangents */                \
  X(autograd, kAutogradFlags, run_recorded, explain_recorded)                       \
  /* types/modes.cpp: asks handlers where a kernel would run */                     \
  X(mode_below, kModeBelowFlag, run_modes_below, explain_nothing)                   \
  /* types/own_memory.cpp: asks types whose memory kernels do not read */           \
  X(own_memory, TENON_TENSOR_TYPED, run_in_own_memory, explain_in_own_memory)       \
  /* call/kernel.cpp: runs the implementation */                                    \
  X(kernel, kKernelFlag, run_kernel, explain_kernel)

namespace tenon::core {

// A call on its way down.
struct Call {
  const Implementation& implementation;
  const tenon_value* arguments;  // bound: one for each parameter
  tenon_value* results;          // result_count slots
  tenon_error** error;           // null: not read
  uint32_t flags = 0;            // of thread and operands, see call_flags.hpp
  Writing written{};
  tenon_context* context = nullptr;  // prepared for the kernel; null: it makes its own
};

struct CallFrame;
struct Explanation;
struct KernelChoice;
struct Override;
struct TensorType;

enum class LayerId : uint8_t {
#define TENON_LAYER(id, flags, run, explain) id,
  TENON_LAYERS(TENON_LAYER)
#undef TENON_LAYER
};

struct Layer {
  LayerId id;
  tenon_status (*run)(Call& call) noexcept;
  // Adds what the layer would do; throws the error of a call that it would refuse.
  void (*explain)(Explanation& explanation);
};

#define TENON_LAYER(id, flags, run, explain) \
  tenon_status run(Call& call) noexcept;     \
  void explain(Explanation& explanation);
TENON_LAYERS(TENON_LAYER)
#undef TENON_LAYER

#define TENON_LAYER(id, flags, run, explain) uint32_t{flags},
inline constexpr uint32_t kLayerFlags[] = {TENON_LAYERS(TENON_LAYER)};
#undef TENON_LAYER
inline constexpr size_t kLayerCount = std::size(kLayerFlags);

// Calls that carry one of these go through the layer.
constexpr uint32_t layer_flags(LayerId id) { return kLayerFlags[static_cast<size_t>(id)]; }

// Calls that carry one of these leave the plain path.
inline constexpr uint32_t kSpecialFlags = [] {
  uint32_t all = 0;
  for (const uint32_t flags : kLayerFlags) all |= flags;
  return all & ~kKernelFlag;
}();

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
// Has a call go through the layers that its flags lead to.
inline tenon_status enter_layers(Call&& call) noexcept {
  call.flags |= kKernelFlag;
  return enter<LayerId::trace>(call);
}
// Calls that carry one of these see a layer between this one and the kernel.
constexpr uint32_t flags_below(LayerId id) {
  uint32_t all = 0;
  for (size_t at = static_cast<size_t>(id) + 1; at + 1 < kLayerCount; ++at) all |= kLayerFlags[at];
  return all;
}
// Continues after this layer: how a layer passes a call on. Most calls go straight to the kernel.
template <LayerId kLayer>
inline tenon_status next(Call& call) noexcept {
  if ((call.flags & flags_below(kLayer)) == 0) [[likely]]
    return enter<LayerId::kernel>(call);
  return enter<static_cast<LayerId>(static_cast<size_t>(kLayer) + 1)>(call);
}

// ---- what else the areas above do for dispatch ----

// Functions of kernel about elementwise loops, of autograd about histories and tangents of typed
// tensors, of nn about modules in values.
struct HigherAreas {
  // ---- kernel ----
  // Completes an implementation whose descriptor has loops: sorts its parameters into operands and
  // parameters, and sets `run`. Throws ValueError when the schema does not fit.
  void (*prepare_elementwise)(Implementation& implementation);
  // Returns what a run on these operands would compute in and give, and the instruction set of its
  // loop. Throws the TypeError of a run that cannot.
  KernelChoice (*choose_kernel)(const Implementation& implementation, const tenon_value* arguments);

  // ---- autograd ----
  // Returns another handle of the same tensor with its history.
  TensorRef (*share_with_history)(Tensor& tensor);
  // Connects the result of a conversion with `from`: gradients continue to `from` where the result
  // has no history. `name` is that of the node, and lives forever.
  TensorRef (*connect_conversion)(TensorRef result, Tensor& from, const char* name);
  // Gives the result the tangent of `from`, made plain, where it has none.
  TensorRef (*connect_tangent)(TensorRef result, Tensor& from);
  // Connects what a subclass of Tensor made of itself: passes gradients on where it is the same
  // data, else refuses a result that has lost history or tangent.
  TensorRef (*connect_same_data)(TensorRef result, Tensor& from, const TensorType& type);
  // Updates a typed tensor's history and tangent from its components; returns what these
  // carry and it cannot show.
  uint32_t (*refresh_components)(Tensor& tensor);
  // Whether its history is only that of what it holds, so that this can be used directly.
  bool (*has_held_history)(const Tensor& tensor);
  // Before a call that is recorded by the rules of an override: refuses histories that the rules do
  // not reach.
  void (*refuse_hidden_history)(const CallFrame& frame, const Override& entry);
  // After an override or handler has handled a call that needs gradients: a result without a
  // history gets one that refuses, so that it is not taken for a constant. Throws for tangents.
  void (*refuse_lost_gradient)(const CallFrame& frame, tenon_value* results);

  // ---- nn ----
  // Releases a reference.
  void (*release_module)(tenon_module* module) noexcept;

  // ---- kernel, for prepared calls ----
  // Runs loops into a tensor of the result's dtype and shape.
  tenon_status (*run_elementwise_into)(const Implementation& implementation,
                                       const tenon_value* arguments, Tensor& result,
                                       tenon_error** error) noexcept;
};

// Defined by runtime/assembly.cpp, like the layers.
extern const HigherAreas higher_areas;

// Names of nodes of conversions: pointers to them are compared.
inline constexpr char kToTensorNode[] = "ToTensorBackward0";
inline constexpr char kFromTensorNode[] = "FromTensorBackward0";

}  // namespace tenon::core
