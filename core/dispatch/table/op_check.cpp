// The contradictions that an op's descriptor can hold.
#include "core/dispatch/table/op_check.hpp"

#include <cstddef>

namespace tenon::core {

namespace {

// Size that plugins of the first SDK have.
constexpr size_t kOldestLoops = offsetof(tenon_elementwise, complex_loops) + sizeof(void*);

}  // namespace

std::optional<DescriptorFault> check_kinds(const tenon_op_descriptor& op) {
  const std::string unknown = unknown_flags(op.flags, kOpFlags);
  if (!unknown.empty()) return DescriptorFault{"sets " + unknown, kUnknownFlagsRemedy};
  if (op.differentiable <= TENON_DIFFERENTIABLE_COMPOSITE && op.jvp_kind <= TENON_JVP_MULTILINEAR &&
      (op.elementwise == nullptr || op.elementwise->promotion <= TENON_PROMOTE_MAGNITUDE))
    return std::nullopt;
  return DescriptorFault{"has a kind of gradient, jvp or promotion that this Tenon does not know",
                         kUnknownFlagsRemedy};
}

std::optional<DescriptorFault> check_op(const tenon_op_descriptor& op) {
  if (std::optional<DescriptorFault> unknown = check_kinds(op)) return unknown;
  const tenon_elementwise* const loops = op.elementwise;
  const bool formula = op.differentiable == TENON_DIFFERENTIABLE_FORMULA;
  const bool has_backward = op.backward != nullptr || op.vjp != nullptr;
  const bool rule = op.jvp_kind == TENON_JVP_RULE;
  const bool may_decline = (op.flags & TENON_OP_MAY_DECLINE) != 0;
  const struct {
    bool found;
    const char *what, *remedy;
  } faults[] = {
      {op.run == nullptr && loops == nullptr, "has neither run nor elementwise",
       "set exactly one of them"},
      {op.run != nullptr && loops != nullptr, "has both run and elementwise",
       "set exactly one of them"},
      {loops != nullptr && (loops->size < kOldestLoops || loops->loops == nullptr),
       "has an elementwise kernel without loops or with a wrong size",
       "set `size` to sizeof(tenon_elementwise), and `loops`"},
      {op.backward != nullptr && op.vjp != nullptr, "has both backward and vjp, which are one rule",
       "set only one of them"},
      {formula && !has_backward, "is differentiable by formula but has no backward or vjp",
       "make them agree"},
      {!formula && has_backward, "has a backward but is not differentiable by formula",
       "make them agree"},
      {rule && op.jvp == nullptr, "declares a jvp rule but has none", "make them agree"},
      {!rule && op.jvp != nullptr, "has a jvp but does not declare that it is its rule",
       "make them agree"},
      {op.jvp_kind != TENON_JVP_NONE && op.differentiable == TENON_DIFFERENTIABLE_COMPOSITE,
       "is composite and has a jvp, which would never run: tangents go through the ops that it "
       "calls",
       "remove the jvp, or give it a backward and a jvp instead of composite"},
      {may_decline && op.declines == nullptr, "declares that it may decline but has no declines",
       "set `declines` and TENON_OP_MAY_DECLINE together"},
      {!may_decline && op.declines != nullptr,
       "has a declines but does not declare that it may decline",
       "set `declines` and TENON_OP_MAY_DECLINE together"},
  };
  for (const auto& fault : faults) {
    if (fault.found) return DescriptorFault{fault.what, fault.remedy};
  }
  return std::nullopt;
}

}  // namespace tenon::core
