// The contradictions that an op's descriptor can hold.
#include "core/dispatch/table/op_check.hpp"

namespace tenon::core {

std::optional<DescriptorFault> check_op(const tenon_op_descriptor& op) {
  if ((op.run == nullptr) == (op.elementwise == nullptr)) {
    return DescriptorFault{
        op.run == nullptr ? "has neither run nor elementwise" : "has both run and elementwise",
        "set exactly one of them"};
  }
  if (op.elementwise != nullptr &&
      (op.elementwise->size < sizeof(tenon_elementwise) || op.elementwise->loops == nullptr)) {
    return DescriptorFault{"has an elementwise kernel without loops or with a wrong size",
                           "set `size` to sizeof(tenon_elementwise), and `loops`"};
  }
  if (op.backward != nullptr && op.vjp != nullptr)
    return DescriptorFault{"has both backward and vjp, which are one rule", "set only one of them"};
  const bool formula = op.differentiable == TENON_DIFFERENTIABLE_FORMULA;
  if (formula != (op.backward != nullptr || op.vjp != nullptr)) {
    return DescriptorFault{formula ? "is differentiable by formula but has no backward or vjp"
                                   : "has a backward but is not differentiable by formula",
                           "make them agree"};
  }
  const bool rule = op.jvp_kind == TENON_JVP_RULE;
  if (rule != (op.jvp != nullptr)) {
    return DescriptorFault{rule ? "declares a jvp rule but has none"
                                : "has a jvp but does not declare that it is its rule",
                           "make them agree"};
  }
  if (op.jvp_kind != TENON_JVP_NONE && op.differentiable == TENON_DIFFERENTIABLE_COMPOSITE) {
    return DescriptorFault{
        "is composite and has a jvp, which would never run: tangents go through "
        "the ops that it calls",
        "remove the jvp, or give it a backward and a jvp instead of composite"};
  }
  const bool may_decline = (op.flags & TENON_OP_MAY_DECLINE) != 0;
  if (may_decline != (op.declines != nullptr)) {
    return DescriptorFault{may_decline ? "declares that it may decline but has no declines"
                                       : "has a declines but does not declare that it may decline",
                           "set `declines` and TENON_OP_MAY_DECLINE together"};
  }
  return std::nullopt;
}

}  // namespace tenon::core
