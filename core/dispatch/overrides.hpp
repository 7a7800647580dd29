// Calls with typed operands: who is asked, in which order, and the asking.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch/call.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/types.hpp"

namespace tenon::core {

// One that may answer. Standard: the default handler of subclasses of Tensor.
struct Answerer {
  enum class Kind : uint8_t { Override, Handler, Standard };
  Kind kind = Kind::Standard;
  const TensorType* level = nullptr;  // the type that it belongs to
  const Override* entry = nullptr;
  OverrideBinding binding;
};

// "override add[A]", "handler of A", "default handler"; and the plugin that it comes from.
std::string answerer_text(const Answerer& answerer);
const std::string& provider_of(const Answerer& answerer);

// The turn of one operand type. `line` goes from it up its line of descent, as call_parent does;
// only the first override and the first handler are asked without call_parent.
struct Turn {
  const TensorType* type = nullptr;
  std::vector<Answerer> line;
  int32_t first_override = -1;
  int32_t first_handler = -1;
};

// Who is asked for an op and the distinct types of a call's operands. Immutable, never freed.
struct Plan {
  const Implementation* implementation = nullptr;
  std::vector<const TensorType*> types;  // in order of asking; those that do not dispatch as well
  bool plain = false;                    // some operand is a plain Tensor
  std::vector<uint32_t> asked;           // ids of those that dispatch
  std::vector<Turn> turns;
  std::vector<const TensorType*> fallbacks;
  const TensorType* refused = nullptr;  // never an operand
};

// The distinct types among a call's operands: subclasses before their superclasses, otherwise left
// to right; keyword operands, lists and `out` count.
class OperandTypes {
 public:
  bool plain = false;

  void add(const TensorType& type);
  std::span<const TensorType* const> list() const {
    return count_ <= kFew ? std::span(few_, count_) : std::span(many_);
  }
  uint32_t count() const { return count_; }
  const TensorType* const* begin() const { return list().data(); }
  const TensorType* const* end() const { return begin() + count_; }

 private:
  static constexpr uint32_t kFew = 16;  // without an allocation
  const TensorType* few_[kFew];
  uint32_t count_ = 0;
  std::vector<const TensorType*> many_;  // all of them, where they are more
};

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments);
// Those of them that a call asks, by id.
std::vector<uint32_t> asked_types(const Implementation& implementation,
                                  const tenon_value* arguments);
// What the operands carry, once typed ones are up to date with their components. Throws.
struct Carried {
  uint32_t flags = 0;
  uint32_t hidden = 0;  // by components only
};
Carried gather_carried(const Implementation& implementation, const tenon_value* arguments);
// Whether a call of it asks types at all, now.
bool asks_types(const Implementation& implementation);
// Throws TypeError if no override, handler or fallback exists for an operand's type, or if the call
// has types disabled.
void check_plan(const Plan& plan, const Implementation& implementation,
                const tenon_value* arguments);
void check_plain(const Implementation& implementation, const tenon_value* arguments);
// Refuses, with a TypeError, what the own signature of an override does not take.
void check_own(const Answerer& answerer, const Implementation& implementation,
               const tenon_value* bound);
// The TypeError of a call that everybody has declined.
[[noreturn]] void throw_declined(const Implementation& implementation, const Plan& plan);

// A handler, override or mode that is running. What it is handed is the first member's address.
struct CallFrame {
  tenon_call call{};
  const Implementation* implementation = nullptr;
  const tenon_value* bound = nullptr;  // the op's arguments
  const AsWritten* written = nullptr;  // null: in schema order, not known which were given
  const Plan* plan = nullptr;
  const Turn* turn = nullptr;        // null: a mode
  size_t place = 0;                  // in the turn's line
  uint32_t flags = 0;                // of the operands
  uint32_t hidden = 0;               // what only components of theirs carry
  tenon_context* context = nullptr;  // of a mode below autograd
  const CallFrame* outer = nullptr;
  int depth = 0;
};

// Makes a frame the innermost of those that are running.
class FrameScope {
 public:
  explicit FrameScope(CallFrame& frame) : previous_(thread_state.frame) {
    frame.outer = previous_;
    frame.depth = previous_ == nullptr ? 1 : previous_->depth + 1;
    thread_state.frame = &frame;
  }
  ~FrameScope() { thread_state.frame = previous_; }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  const CallFrame* previous_;
};

// Room for a call's keywords.
struct WrittenCall {
  tenon_string names[kMaxParameters];
  tenon_value values[kMaxParameters];
};
// Fills in the op, its arguments, and how they are written.
void fill_call(CallFrame& frame, WrittenCall& room);

// How a frame's call is written with other bound arguments: what is the
// same stays as it was written, what is new to it goes by name.
class Rewritten {
 public:
  Rewritten(const CallFrame& frame, const tenon_value* arguments);
  Rewritten(const Rewritten&) = delete;
  Rewritten& operator=(const Rewritten&) = delete;
  const AsWritten& get() const { return written_; }

 private:
  AsWritten written_;
  tenon_value positional_[kMaxParameters];
  WrittenCall room_;
};
// What a handler returned is made of values; else it is undone and a TypeError names the handler.
tenon_status check_results(const Implementation& implementation, tenon_value* results,
                           const std::string& who, tenon_error** error) noexcept;
inline bool declined(const tenon_value* results) {
  return results[0].tag == TENON_VALUE_NOT_IMPLEMENTED;
}

// Why an answerer is not asked, as `why` prints it.
struct Note {
  const TensorType* type = nullptr;  // whose turn it is
  std::string text;
};
// With notes: explains instead of only deciding.
Plan make_plan(const Implementation& implementation, const OperandTypes& types,
               std::vector<Note>* notes = nullptr);

// One override alone, with arguments of its op. Throws what it throws, and TypeError when it is not
// for such operands.
void call_override(const Override& entry, std::span<const tenon_value> positional,
                   std::span<const tenon_string> keywords,
                   std::span<const tenon_value> keyword_values, tenon_value* results);

// From inside a handler or override. `arguments` null: those of the call.
tenon_status call_parent(const tenon_call* call, const tenon_value* arguments, tenon_value* results,
                         tenon_error** error) noexcept;

// [A, B]
std::string type_list(std::span<const uint32_t> types);

// A new payload, by the type's `metadata`: a copy of the first, a default one, or what merge makes
// of all. Null when the rule needs a function that the type does not have.
PayloadRef new_payload(const TensorType& owner, std::span<Tensor* const> operands);

// A plain tensor for a typed one, by its type's conversion; with its history.
TensorRef to_plain(Tensor& tensor);

// ---- defined by autograd ----
// Another handle of the same tensor with its history.
TensorRef share_with_history(Tensor& tensor);
// What a conversion made of `from`: gradients continue to `from` where the result has no
// history. `name` is that of the node, and lives forever.
TensorRef connect_conversion(TensorRef result, Tensor& from, const char* name);
// Their names: pointers to them are compared.
inline constexpr char kToTensorNode[] = "ToTensorBackward0";
inline constexpr char kFromTensorNode[] = "FromTensorBackward0";
// And the tangent of `from`, made plain, where the result has none.
TensorRef connect_tangent(TensorRef result, Tensor& from);
// What a subclass of Tensor made of itself: passes gradients on where it is the same data, else
// refuses a result that has lost history or tangent.
TensorRef connect_same_data(TensorRef result, Tensor& from, const TensorType& type);
// Updates a typed tensor's history and tangent from its components; returns what these
// carry and it cannot show.
uint32_t refresh_components(Tensor& tensor);
// Whether its history is only that of what it holds, so that this can be used directly.
bool has_held_history(const Tensor& tensor);
// Before a call that is recorded by the rules of an override: refuses histories that the rules do
// not reach.
void refuse_hidden_history(const CallFrame& frame, const Override& entry);
// After an override or handler of `level` has answered a call that needs gradients: a result
// without a history gets one that refuses, so that it is not taken for a constant. Throws for
// tangents.
void refuse_lost_gradient(const CallFrame& frame, const TensorType& level, bool handler,
                          tenon_value* results);

// Calls `visit` with every tensor of a value, in lists too; of all arguments of a call, in order.
template <class Visit>
void each_tensor(const tenon_value& value, Visit&& visit) {
  if (value.tag == TENON_VALUE_TENSOR) {
    visit(value.as.tensor);
  } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
    for (uint32_t k = 0; k < value.length; ++k) {
      if (value.as.tensors[k] != nullptr) visit(value.as.tensors[k]);
    }
  }
}
template <class Visit>
void each_operand(const Implementation& implementation, const tenon_value* arguments,
                  Visit&& visit) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) each_tensor(arguments[i], visit);
}

}  // namespace tenon::core
