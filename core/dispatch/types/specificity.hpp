// Which of several overrides of an op fits a call best, and where none does. Calls and the search
// for ambiguities decide by the same code.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

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
