// A history that refuses: for tensors whose gradient is not known or not allowed.
#pragma once

#include <cstdint>
#include <span>

#include "core/autograd/graph/node.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/table/op.hpp"

namespace tenon::core {

// The error that it throws when a gradient arrives.
using ErrorReason = Error (*)(const Implementation& implementation, uintptr_t detail);

// Its edges lead to all that the tensors in front of it were made from, so that every gradient
// through them meets it.
class ErrorNode final : public Node {
 public:
  // `reason` makes the error for a gradient that arrives, from `detail`, a number or the address of
  // an object that lives forever. Null edges are left out;
  // one output for each tensor (null: none).
  static IntrusivePtr<ErrorNode> create(const Implementation& implementation, ErrorReason reason,
                                        uintptr_t detail, std::span<const Edge> edges,
                                        std::span<Tensor* const> outputs);
  ErrorNode(const NodeBlock& block, const Implementation& implementation, ErrorReason reason,
            uintptr_t detail)
      : Node(block), implementation_(&implementation), reason_(reason), detail_(detail) {
    hold(implementation);
  }
  const char* name() const override { return implementation_->node_name.c_str(); }
  const Implementation* implementation() const override { return implementation_; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall& call) override;

 private:
  ~ErrorNode() override { let_go(*implementation_); }
  const Implementation* implementation_;
  ErrorReason reason_;
  uintptr_t detail_;
};

// ---- the reasons ----
Error backward_differentiated(const Implementation& implementation, uintptr_t);
Error jvp_differentiated(const Implementation& implementation, uintptr_t);
Error no_backward_rule(const Implementation& implementation, uintptr_t);
// `detail`: which saved tensor; kStashed: one on the context.
inline constexpr uintptr_t kStashed = ~uintptr_t{0};
Error unknown_gradient(const Implementation& implementation, uintptr_t detail);

}  // namespace tenon::core
