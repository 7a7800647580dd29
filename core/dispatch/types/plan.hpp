// Plans: the overrides and handlers that may handle a call with typed operands, in their order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dispatch/types/operand_types.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

// An override or a handler that may handle a call. DefaultHandler: that of subclasses of Tensor.
struct Candidate {
  enum class Kind : uint8_t { Override, Handler, DefaultHandler };
  Kind kind = Kind::DefaultHandler;
  const TensorType* level = nullptr;  // the type that it belongs to
  const Override* entry = nullptr;
  OverrideBinding binding;
};

// "override add[A]", "handler of A", "default handler"; and the plugin that it comes from.
std::string candidate_text(const Candidate& candidate);
const std::string& provider_of(const Candidate& candidate);

// The candidates of one operand type, from it up its line of descent, as call_parent goes through
// them; a call itself asks only the first override and the first handler.
struct DispatchChain {
  const TensorType* type = nullptr;
  std::vector<Candidate> candidates;
  int32_t first_override = -1;
  int32_t first_handler = -1;
};

// The chains of an op and the distinct types of a call's operands. Immutable.
struct Plan {
  const Implementation* implementation = nullptr;
  std::vector<const TensorType*> types;  // in resolution order; those that do not dispatch as well
  bool plain = false;                    // some operand is a plain Tensor
  std::vector<uint32_t> dispatching;     // ids of those that dispatch
  std::vector<DispatchChain> chains;
  std::vector<const TensorType*> fallbacks;
  const TensorType* refused = nullptr;  // never an operand
};

// Why a candidate is passed over, as `why` prints it.
struct Rejection {
  const TensorType* type = nullptr;  // whose chain it is
  std::string text;
};

// From the table's overrides; the types are of the same table. With rejections: explains instead of
// only deciding. Throws TypeError where nothing decides between two overrides.
Plan make_plan(const TypeTable& table, const Implementation& implementation,
               const OperandTypes& types, std::vector<Rejection>* rejections = nullptr);
// The chain of one type alone, of these overrides.
DispatchChain make_chain(const Implementation& implementation,
                         const std::vector<const Override*>& entries, const TensorType& type,
                         const OperandTypes& types, std::vector<Rejection>* rejections = nullptr);
// Refuses, with a TypeError, operands without a candidate.
void check_plan(const Plan& plan, const Implementation& implementation,
                const tenon_value* arguments);
// The TypeError of a call that every candidate has declined.
[[noreturn]] void throw_declined(const Implementation& implementation, const Plan& plan);

}  // namespace tenon::core
