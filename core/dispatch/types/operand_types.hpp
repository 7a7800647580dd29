// The distinct types of a call's operands, and what they carry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

// The distinct types among a call's operands: subclasses before their superclasses, otherwise left
// to right; keyword operands, lists and `out` count.
class OperandTypes {
 public:
  bool plain = false;

  void add(const TensorType& type) {
    if (count_ == 0) [[likely]] {
      few_[count_++] = &type;
    } else {
      insert(type);
    }
  }
  std::span<const TensorType* const> list() const {
    return count_ <= kFew ? std::span(few_, count_) : std::span(many_);
  }
  uint32_t count() const { return count_; }
  const TensorType* const* begin() const { return list().data(); }
  const TensorType* const* end() const { return begin() + count_; }

 private:
  void insert(const TensorType& type);

  static constexpr uint32_t kFew = 16;  // without an allocation
  const TensorType* few_[kFew];
  uint32_t count_ = 0;
  std::vector<const TensorType*> many_;  // all of them, where they are more
};

// Flags that a call's operands carry.
struct Carried {
  uint32_t flags = 0;
  uint32_t hidden = 0;  // by components only
};

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments);
// Gathers their types and the flags that they carry once typed ones are up to date with their
// components. Throws.
OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments,
                          Carried& carried);
// Types of the operands that dispatch, by id.
std::vector<uint32_t> dispatching_types(const Call& call);
// Whether a call of the op asks types at all, now.
inline bool asks_types(const Implementation& implementation) {
  return !thread_state.types_disabled && (implementation.flags & TENON_OP_NOT_OVERRIDABLE) == 0;
}
// Whether some operand is of a type that does not derive from Tensor.
bool has_foreign(const Implementation& implementation, const tenon_value* arguments);
// Throws the TypeError of such an operand, where a Tensor is needed.
[[noreturn]] void throw_foreign(const Implementation& implementation, const tenon_value* arguments);
// [A, B]
std::string type_list(std::span<const uint32_t> types);

}  // namespace tenon::core
