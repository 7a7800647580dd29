// Matches of patterns in a list of calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/prepare/call_list.hpp>

#include "compiled_rule.hpp"
#include "conditions.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using prepared::CallList;
using prepared::ListedCall;
using prepared::ListOperand;
using prepared::ListValue;

inline constexpr size_t no_call = SIZE_MAX;

// Tensors of a call, one after the other, also those of a list; undefined_value where it gives none.
std::vector<int64_t> tensors_of(const std::vector<ListOperand>& operands);

// Answers about a list that matching needs again and again; valid until the list changes.
class ListIndex {
 public:
  explicit ListIndex(const CallList& list);

  const CallList& list() const { return list_; }
  const std::string& op(size_t call) const { return ops_[call]; }
  // Calls of an op, in their order.
  const std::vector<size_t>& calls_of(const std::string& op) const;
  // The call that made the value, and which of its tensors it is; no_call for others.
  std::pair<size_t, size_t> maker(size_t value) const { return makers_[value]; }
  // Calls that have it among their arguments.
  const std::vector<size_t>& readers(size_t value) const { return readers_[value]; }
  bool is_output(size_t value) const { return outputs_[value] != 0; }
  // Whether an output is in a memory, by its number, and which calls write it.
  bool is_shown(int64_t memory) const { return shown_[static_cast<size_t>(memory)] != 0; }
  const std::vector<size_t>& writers(int64_t memory) const {
    return writers_[static_cast<size_t>(memory)];
  }
  const std::vector<char>& changed() const { return changed_; }

 private:
  const CallList& list_;
  std::vector<std::string> ops_;
  std::map<std::string, std::vector<size_t>> calls_;
  std::vector<std::pair<size_t, size_t>> makers_;
  std::vector<std::vector<size_t>> readers_, writers_;
  std::vector<char> outputs_, shown_, changed_;
};

// A place of a list where a rule fits.
struct Match {
  Variables variables;
  // By name of the rest, the arguments that it stands for, by parameter.
  std::map<std::string, std::map<std::string, ListOperand>> rests;
  std::vector<size_t> calls;  // calls of the pattern, each once, in their order
  std::vector<size_t> roots;  // calls that give what is replaced
  // Values that are replaced, by result of the replacement.
  std::vector<size_t> results;
};

// Calls visit(match) for places whose first root is the call; stops at the first for which it returns
// true, and returns whether there was one. Conditions and what other calls do are looked at as well.
class Matcher {
 public:
  Matcher(const ListIndex& index, const CompiledRule& rule) : index_(index), rule_(rule) {}
  std::optional<Match> match(size_t call);

 private:
  bool match_roots(size_t next, Match& match);
  bool match_root(const CompiledTerm& root, size_t call, Match& match);
  bool match_call(const CompiledTerm& term, size_t call, Match& match);
  bool match_term(const CompiledTerm& term, const SchemaParameter& parameter,
                  const ListOperand& operand, Match& match);
  bool match_list(const CompiledTerm& term, const SchemaParameter& parameter,
                  const ListOperand& operand, Match& match);
  bool finish(Match& match);
  bool is_alone(const Match& match) const;
  bool is_unchanged(const Match& match) const;

  const ListIndex& index_;
  const CompiledRule& rule_;
};

// Values of the tensors that a match has bound.
std::vector<size_t> bound_values(const Match& match);

}  // namespace rewrites

TENON_NAMESPACE_END
