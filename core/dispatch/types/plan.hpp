// Plans: the distinct types of a call's operands, the overrides and handlers that may handle such a
// call, in their order, and the plans that are kept for the next one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/base/fork.hpp"
#include "core/dispatch/binding/call_frame.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

// ---- operands ----

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
using TypeIds = boost::container::small_vector<uint32_t, 8>;
TypeIds dispatching_types(const Call& call);
// Whether a call of the op asks types at all, now.
inline bool asks_types(const Implementation& implementation) {
  return !thread_state.types_disabled && (implementation.flags & TENON_OP_NOT_OVERRIDABLE) == 0;
}
// Whether some operand is of a type that does not derive from Tensor.
bool has_foreign(const Implementation& implementation, const tenon_value* arguments);
// Whether every typed operand owns its memory.
bool are_in_own_memory(const Implementation& implementation, const tenon_value* arguments);
// Throws the TypeError of such an operand, where a Tensor is needed.
[[noreturn]] void throw_foreign(const Implementation& implementation, const tenon_value* arguments);

// ---- plans ----

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
  bool in_own_memory =
      false;  // all types own their memory: they are asked where a kernel would run
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

// ---- plans that are kept ----

class PlanCache {
 public:
  // For types and overrides of this table, which outlives the cache.
  explicit PlanCache(const TypeTable& types) : types_(types) {}
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // The plan that make_plan gives, valid as long as the cache: found again without a lock, made
  // again when the table has changed. Loads overrides that other plugins provide for the types.
  // Throws as make_plan does; the failure is not kept. Any thread.
  [[gnu::always_inline]] const Plan& find(const Implementation& implementation,
                                          const OperandTypes& types) {
    const size_t slot = slot_of(implementation, types.list(), types.plain);
    const Entry* entry = slots_[slot].load(std::memory_order_acquire);
    if (entry != nullptr && entry->generation == types_.generation() &&
        matches(entry->plan, implementation, types.list(), types.plain)) [[likely]] {
      return entry->plan;
    }
    return find_slow(implementation, types, slot);
  }

  // Takes all plans out of the cache: those that running calls use are freed with the result.
  std::shared_ptr<const void> withdraw();

  // The process's cache, for the process's table; defined by runtime/assembly.cpp.
  static PlanCache& process();

 private:
  struct Entry {
    Plan plan;
    uint64_t generation = 0;
  };
  using Key = std::tuple<const Implementation*, bool, std::vector<const TensorType*>>;
  static constexpr size_t kSlots = 4096;

  using Types = std::span<const TensorType* const>;
  static size_t slot_of(const Implementation& implementation, Types types, bool plain) {
    uint64_t hash = reinterpret_cast<uintptr_t>(&implementation) >> 6;
    for (const TensorType* type : types) hash = hash * 31 + type->id;
    hash = (hash * 2 + (plain ? 1 : 0)) * 0x9e3779b97f4a7c15ull;
    return hash >> 52;
  }
  // Types are mostly one: too few for memcmp.
  static bool matches(const Plan& plan, const Implementation& implementation, Types types,
                      bool plain) {
    if (plan.implementation != &implementation || plan.plain != plain ||
        plan.types.size() != types.size())
      return false;
    const TensorType* const* type = types.data();
    for (const TensorType* planned : plan.types) {
      if (planned != *type++) return false;
    }
    return true;
  }
  [[gnu::noinline]] const Plan& find_slow(const Implementation& implementation,
                                          const OperandTypes& types, size_t slot);

  const TypeTable& types_;
  std::atomic<const Entry*> slots_[kSlots] = {};
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  uint64_t generation_ = 0;
  std::map<Key, std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Entry>> retired_;  // calls may be running by them
};

// ---- runs ----

// From inside a handler or override. `arguments` null: those of the call.
tenon_status call_parent(const tenon_call* call, const tenon_value* arguments, tenon_value* results,
                         tenon_error** error) noexcept;
// One override alone, with arguments of its op. Throws what it throws, and TypeError when it is not
// for such operands.
void call_override(const Override& entry, const AsWritten& written, tenon_value* results);

}  // namespace tenon::core
