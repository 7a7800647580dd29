// An account of a call that is described instead of run: every layer adds what it would do, in the
// order in which a call goes through them (Layer::explain).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/dispatch/table/op.hpp"
#include "core/dispatch/types/plan.hpp"
#include "tenon/abi/dtype.h"

namespace tenon::core {

// Dtypes and instruction set of an elementwise run.
struct KernelChoice {
  tenon_dtype compute = TENON_DTYPE_NONE;
  tenon_dtype result = TENON_DTYPE_NONE;
  uint32_t isa = TENON_ISA_BASELINE;
};

// A provider that declines the call.
struct DeclinedCall {
  std::string provider, reason;
};

struct Explanation {
  // Mode, override, handler or kernel that handles the call.
  struct Handling {
    std::string what, provider;
    bool own = false;                       // the implementation itself runs
    const Implementation* rules = nullptr;  // rules of an override that is recorded like an op
    const Candidate* entry = nullptr;       // an override
  };
  // One stop on the way to it.
  struct Step {
    std::string type, what, provider;
    std::string reason;  // why it is passed over; empty: it is called
  };

  // ---- the call, which lives longer ----
  const TypeTable& types;
  const Implementation* implementation;  // flags that the layers so far lead to
  const tenon_value* arguments = nullptr;
  uint32_t flags = 0;
  OperandTypes operands{};
  bool by_types = false;  // operands stand for their types: their shapes mean nothing

  // ---- found by the layers ----
  std::vector<std::string> modes{}, modes_below{};  // active ones, innermost first
  std::string first_mode{};                         // to see the call; empty: none does
  std::optional<Plan> plan{};                       // none: types are not asked
  std::vector<Step> steps{};
  std::optional<Handling> handling{};                   // none: every candidate is passed over
  std::optional<std::vector<DeclinedCall>> declined{};  // none: no provider may decline
  std::string gradient{};
  std::optional<KernelChoice> kernel{};
  std::string suggestion{};  // remedy of the error that a layer throws

  bool overridable() const { return (implementation->flags & TENON_OP_NOT_OVERRIDABLE) == 0; }
  // Whether the call comes to the layers below the types as one of the op itself.
  bool runs_own() const { return handling && handling->own; }
  Call call() const { return {*implementation, arguments, nullptr, nullptr, flags}; }
};

}  // namespace tenon::core
