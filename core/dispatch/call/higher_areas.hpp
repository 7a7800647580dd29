// Functions of the areas above that dispatch calls: of kernel about elementwise loops, of autograd
// about histories and tangents of typed tensors, of nn about modules in values.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

struct CallFrame;
struct Implementation;
struct KernelChoice;
struct Override;
struct TensorType;

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
};

// Defined by runtime/assembly.cpp, beside the list of layers.
extern const HigherAreas higher_areas;

// Names of nodes of conversions: pointers to them are compared.
inline constexpr char kToTensorNode[] = "ToTensorBackward0";
inline constexpr char kFromTensorNode[] = "FromTensorBackward0";

}  // namespace tenon::core
