// A run of a backward rule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/autograd/graph/node.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// A node as its rule sees it.
class BackwardRule final : public RuleState {
 public:
  // `once`: the rule itself must not be recorded.
  BackwardRule(OpNode& node, const BackwardCall& call, bool once, std::span<Tensor* const> given,
               std::vector<TensorRef>& zeros)
      : node_(node),
        call_(call),
        create_graph_(call.create_graph && !once),
        given_(given),
        zeros_(zeros) {}

  const char* phase() const override { return "backward"; }

  // Fills `values` with the call's arguments, saved tensors in place.
  void fill_arguments(tenon_value* values);

  Tensor* result(int64_t index) override;
  bool needs_gradient(int64_t slot) override;
  int64_t slot_count() override { return node_.edge_count_; }
  int64_t saved_count() override;
  Tensor* saved(int64_t index) override;
  TensorRef give_saved(int64_t index) override;
  FunctionContext* function_context() override;
  TensorRef guard(Tensor& tensor) override;
  bool had_tensor(int64_t index) override;
  uint32_t backward_options() override;
  bool take_gradients(std::span<Tensor*> taken) override;

 private:
  struct List {
    uint16_t parameter;
    std::vector<Tensor*> tensors;
  };
  SavedTensor& listed(int64_t index);
  bool is_constant(const Tensor& tensor) const;
  TensorRef refusing(Tensor& tensor, uintptr_t detail);
  Tensor* hold(TensorRef tensor);
  // The saved tensor as a rule may use it, alive as long as the node is in use. `index` is that of
  // a listed one.
  Tensor* unpack(const SavedTensor& saved, int64_t index = 0);

  OpNode& node_;
  const BackwardCall& call_;
  bool create_graph_;
  bool taken_ = false;
  std::span<Tensor* const> given_;
  std::vector<TensorRef>& zeros_;
  std::vector<TensorRef> held_;
  std::vector<List> lists_;
};

}  // namespace tenon::core
