// Overrides: implementations that handle calls of one op with operands of certain types. Which of
// several fits a call best, and where none does: calls and the search for ambiguities decide by the
// same code.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch/schema/schema.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/dispatch/types/tensor_type.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

// An implementation of one op for a set of types.
struct Override {
  std::string provider;
  PluginCode* code = nullptr;  // code of its functions; null: the program itself
  std::atomic<bool> withdrawn{
      false};     // its plugin was unloaded: it still handles objects of that plugin's types
  Schema schema;  // its own signature
  std::vector<const TensorType*> types;
  std::vector<const TensorType*> accepts;
  bool accepts_any = false;
  tenon_override_descriptor descriptor{};
  std::unique_ptr<Implementation> rules;         // rules of an override that is recorded like an op
  std::unique_ptr<tenon_op> handle;              // handle of `rules`
  std::vector<std::string> differences;          // "lacks alpha, out"
  size_t operand_count = 0;                      // operands of the op that can have a type
  mutable std::atomic<int32_t> switched_off{0};  // how often

  std::string key() const;  // "add[ScalarTensor, Other]"
  bool enabled() const { return switched_off.load(std::memory_order_relaxed) == 0; }
  // Rules for plain tensors: it handles no calls.
  bool is_gradient_override() const {
    return descriptor.rules != nullptr && has_rules_alone(*descriptor.rules);
  }
  // Steps from the type to the nearest that is accepted; -1 when none is.
  int distance(const TensorType& type) const;
  // Steps from a plain Tensor.
  int distance_of_plain() const;
  bool for_type(const TensorType& type) const;
};

// How the arguments of an op become those of an override's own signature.
struct OverrideBinding {
  std::vector<int8_t> source;    // for each own parameter: the op's, or -1: its own default
  std::vector<uint8_t> untaken;  // the op's parameters that must have their defaults
};
// Throws ValueError when the signatures cannot be matched.
OverrideBinding bind_override(const Schema& own, const Schema& op);
// Parameters that an override leaves out of the op's signature, or adds to it, for listings.
std::vector<std::string> signature_differences(const Schema& own, const Schema& op,
                                               const OverrideBinding& binding);

// ---- specificity ----

// The distinct types of a call's operands; `plain`: some operand is a plain Tensor.
struct TypeSet {
  std::span<const TensorType* const> types;
  bool plain = false;
};

// Whether the override applies to such operands; `steps` are those from each type (Tensor last,
// where there is one) to what it accepts. When it does not, `why` says for what reason.
bool fits(const Override& entry, const TypeSet& operands, std::vector<int>& steps,
          std::string* why = nullptr);

// Returns the overrides for `level` that apply and that no other one is more specific than: none,
// one, or several, between which nothing decides. `pass_over` is called for those that do not
// apply, with the reason.
using PassOver = std::function<void(const Override& entry, const std::string& why)>;
std::vector<const Override*> most_specific(std::span<const Override* const> entries,
                                           const TensorType& level, const TypeSet& operands,
                                           const PassOver& pass_over = {});

// "[A, B]"
std::string type_names_text(std::span<const TensorType* const> types);

// Two overrides between which nothing decides for operands of these types.
struct Ambiguity {
  const Override* first = nullptr;
  const Override* second = nullptr;
  std::vector<const TensorType*> types;
  bool plain = false;

  std::string fix() const;  // "add[A, B]", which decides it once it is registered
  // "override of 'add' is ambiguous for [A, B]: ... ; possible fix: register add[A, B]"
  std::string text() const;
};

// Every pair of the entries, all of one op, that some operands make ambiguous, each with the
// smallest such set of types: only pairs that one of `added` is part of.
std::vector<Ambiguity> find_ambiguities(std::span<const Override* const> entries,
                                        std::span<const Override* const> added);

}  // namespace tenon::core
