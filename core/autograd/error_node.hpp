// A history that refuses: stands where a gradient is not known or not allowed.
#pragma once

#include <cstdint>
#include <span>

#include "core/autograd/node.hpp"
#include "core/base/error.hpp"

namespace tenon::core {

// Its edges lead to all that the tensors in front of it were made from, so that nobody can ask for
// a gradient through them without meeting it.
class ErrorNode final : public Node {
 public:
  // What it says when a gradient arrives comes from `reason`, whose own `detail` is. `edges` are
  // shared, null ones left out; one output for each tensor (null: none). Owned by the caller.
  static ErrorNode* create(const Implementation& implementation, ErrorReason reason,
                           uint32_t detail, std::span<const Edge> edges,
                           std::span<Tensor* const> outputs);
  const char* name() const override { return implementation_->node_name.c_str(); }
  const Implementation* implementation() const override { return implementation_; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
             BackwardCall call) override;

 private:
  ErrorNode(const Implementation& implementation, ErrorReason reason, uint32_t detail,
            uint32_t bytes)
      : Node(next_sequence(), bytes),
        implementation_(&implementation),
        reason_(reason),
        detail_(detail) {}
  const Implementation* implementation_;
  ErrorReason reason_;
  uint32_t detail_;
};

// ---- the reasons ----
Error backward_differentiated(const Implementation& implementation, uint32_t);
Error jvp_differentiated(const Implementation& implementation, uint32_t);
Error no_backward_rule(const Implementation& implementation, uint32_t);
// `detail`: which saved tensor; kStashed: one on the context.
inline constexpr uint32_t kStashed = ~uint32_t{0};
Error unknown_gradient(const Implementation& implementation, uint32_t detail);

}  // namespace tenon::core
