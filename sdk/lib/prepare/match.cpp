#include "match.hpp"

#include <algorithm>
#include <memory>

#include "literal.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using OperandKind = ListOperand::Kind;
using prepared::undefined_value;

std::vector<int64_t> tensors_of(const std::vector<ListOperand>& operands) {
  std::vector<int64_t> tensors;
  for (const ListOperand& operand : operands) {
    if (operand.kind == OperandKind::literal)
      tensors.push_back(undefined_value);
    else
      tensors.insert(tensors.end(), operand.values.begin(), operand.values.end());
  }
  return tensors;
}

// ---- the list ----

ListIndex::ListIndex(const CallList& list) : list_(list) {
  const size_t values = list.values.size();
  int64_t memories = 0;
  for (const ListValue& value : list.values) memories = std::max(memories, value.memory + 1);
  makers_.resize(values, {no_call, 0});
  readers_.resize(values);
  outputs_.resize(values, 0);
  shown_.resize(static_cast<size_t>(memories), 0);
  changed_.resize(static_cast<size_t>(memories), 0);
  writers_.resize(static_cast<size_t>(memories));
  const auto memory_of = [&](size_t value) {
    return static_cast<size_t>(list.values[value].memory);
  };
  for (size_t i = 0; i < list.calls.size(); ++i) {
    const ListedCall& call = list.calls[i];
    ops_.push_back(call.op.name());
    calls_[ops_.back()].push_back(i);
    prepared::for_each_value(call.arguments, [&](size_t value) {
      if (readers_[value].empty() || readers_[value].back() != i) readers_[value].push_back(i);
    });
    for (const size_t place : call.written) {
      prepared::for_each_value(call.arguments[place], [&](size_t value) {
        writers_[memory_of(value)].push_back(i);
        changed_[memory_of(value)] = 1;
      });
    }
    const std::vector<int64_t> results = tensors_of(call.results);
    for (size_t r = 0; r < results.size(); ++r) {
      if (results[r] == undefined_value) continue;
      const auto value = static_cast<size_t>(results[r]);
      const bool read = !readers_[value].empty() && readers_[value].back() == i;
      if (list.values[value].kind == ListValue::Kind::result && makers_[value].first == no_call &&
          !read)
        makers_[value] = {i, r};
    }
  }
  prepared::for_each_value(list.outputs, [&](size_t value) {
    outputs_[value] = 1;
    shown_[memory_of(value)] = 1;
  });
}

const std::vector<size_t>& ListIndex::calls_of(const std::string& op) const {
  static const std::vector<size_t> none;
  const auto found = calls_.find(op);
  return found == calls_.end() ? none : found->second;
}

std::vector<size_t> bound_values(const Match& match) {
  std::vector<size_t> values;
  const auto add = [&](size_t value) { values.push_back(value); };
  for (const auto& [name, operand] : match.variables) prepared::for_each_value(operand, add);
  for (const auto& [name, arguments] : match.rests) {
    for (const auto& [parameter, operand] : arguments) prepared::for_each_value(operand, add);
  }
  return values;
}

// ---- one rule ----

std::optional<Match> Matcher::match(size_t call) {
  Match match;
  if (!match_root(rule_.pattern.front(), call, match) || !match_roots(1, match))
    return std::nullopt;
  return match;
}

// The other roots may be any calls of their ops: each is tried with what those before it have bound.
bool Matcher::match_roots(size_t next, Match& match) {
  if (next == rule_.pattern.size()) return finish(match);
  const CompiledTerm& root = rule_.pattern[next];
  for (const size_t call : index_.calls_of(root.signature->op)) {
    Match tried = match;
    if (!match_root(root, call, tried) || !match_roots(next + 1, tried)) continue;
    match = std::move(tried);
    return true;
  }
  return false;
}

bool Matcher::match_root(const CompiledTerm& root, size_t call, Match& match) {
  if (!match_call(root, call, match)) return false;
  const std::vector<int64_t> results = tensors_of(index_.list().calls[call].results);
  match.roots.push_back(call);
  for (size_t r = 0; r < results.size(); ++r) {
    if (root.one_result && r != root.result) continue;
    if (results[r] == undefined_value) return false;
    const auto value = static_cast<size_t>(results[r]);
    if (index_.maker(value).first != call ||
        std::find(match.results.begin(), match.results.end(), value) != match.results.end())
      return false;
    match.results.push_back(value);
  }
  return !root.one_result || root.result < results.size();
}

bool Matcher::match_call(const CompiledTerm& term, size_t place, Match& match) {
  const ListedCall& call = index_.list().calls[place];
  if (index_.op(place) != term.signature->op || !call.written.empty() ||
      call.arguments.size() != term.arguments.size())
    return false;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (!match_term(term.arguments[i], term.signature->parameters[i], call.arguments[i], match))
      return false;
  }
  match.calls.push_back(place);
  return true;
}

bool Matcher::match_term(const CompiledTerm& term, const SchemaParameter& parameter,
                         const ListOperand& operand, Match& match) {
  switch (term.kind) {
    case Term::Kind::any:
      return true;
    case Term::Kind::variable: {
      const auto [known, added] = match.variables.emplace(term.term->name, operand);
      return added || prepared::same_operands({known->second}, {operand});
    }
    case Term::Kind::rest: {
      const auto [known, added] = match.rests[term.rest].emplace(parameter.name, operand);
      return added || prepared::same_operands({known->second}, {operand});
    }
    case Term::Kind::call: {
      if (operand.kind != OperandKind::tensor || operand.values.front() == undefined_value)
        return false;
      const auto [call, result] = index_.maker(static_cast<size_t>(operand.values.front()));
      return call != no_call && result == term.result && match_call(term, call, match);
    }
    case Term::Kind::list:
      return match_list(term, parameter, operand, match);
    default: {
      if (operand.kind != OperandKind::literal) return false;
      const Literal found = literal_of(operand);
      if (parameter.length == 0 || term.literal.kind == Literal::Kind::list ||
          found.kind != Literal::Kind::list)
        return equal(term.literal, found);
      return std::all_of(found.list.begin(), found.list.end(),
                         [&](const Literal& item) { return equal(term.literal, item); });
    }
  }
}

bool Matcher::match_list(const CompiledTerm& term, const SchemaParameter& parameter,
                         const ListOperand& operand, Match& match) {
  SchemaParameter item = parameter;
  item.list = false;
  item.length = 0;
  std::vector<ListOperand> items;
  if (operand.kind == OperandKind::tensors) {
    for (const int64_t value : operand.values) {
      ListOperand one;
      if (value != undefined_value) {
        one.kind = OperandKind::tensor;
        one.values.push_back(value);
      }
      items.push_back(std::move(one));
    }
  } else if (operand.kind == OperandKind::literal) {
    const Literal found = literal_of(operand);
    if (found.kind != Literal::Kind::list) return false;
    item.kind = parameter.kind == "any" ? "any" : parameter.kind;
    for (const Literal& one : found.list) {
      const auto value = value_for(item, one);
      if (!value) return false;
      ListOperand made;
      made.literal = *value;
      items.push_back(std::move(made));
    }
  } else {
    return false;
  }
  if (items.size() != term.items.size()) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!match_term(term.items[i], item, items[i], match)) return false;
  }
  return true;
}

bool Matcher::finish(Match& match) {
  std::sort(match.calls.begin(), match.calls.end());
  match.calls.erase(std::unique(match.calls.begin(), match.calls.end()), match.calls.end());
  const Conditions conditions(index_.list(), index_.changed(), match.variables);
  return is_alone(match) && is_unchanged(match) &&
         std::all_of(rule_.rule->conditions.begin(), rule_.rule->conditions.end(),
                     [&](const Expression& condition) { return conditions.holds(condition); });
}

// Whether the pattern's results that are not replaced are read by the pattern alone, and what it has bound
// comes from elsewhere.
bool Matcher::is_alone(const Match& match) const {
  const auto in_pattern = [&](size_t call) {
    return std::binary_search(match.calls.begin(), match.calls.end(), call);
  };
  for (const size_t value : bound_values(match)) {
    if (in_pattern(index_.maker(value).first)) return false;
  }
  for (const size_t call : match.calls) {
    bool alone = true;
    prepared::for_each_value(index_.list().calls[call].results, [&](size_t value) {
      if (std::find(match.results.begin(), match.results.end(), value) != match.results.end())
        return;
      const std::vector<size_t>& readers = index_.readers(value);
      alone &= index_.maker(value).first == call && !index_.is_output(value) &&
               std::all_of(readers.begin(), readers.end(), in_pattern);
    });
    if (!alone) return false;
  }
  return true;
}

// Whether no call changes, between the first and the last call of the pattern, what it reads or makes.
bool Matcher::is_unchanged(const Match& match) const {
  const size_t first = match.calls.front(), last = match.calls.back();
  const auto unchanged = [&](size_t value) {
    const std::vector<size_t>& writers = index_.writers(index_.list().values[value].memory);
    return std::none_of(writers.begin(), writers.end(),
                        [&](size_t call) { return call > first && call < last; });
  };
  bool all = true;
  for (const size_t call : match.calls) {
    prepared::for_each_value(index_.list().calls[call].arguments,
                             [&](size_t value) { all &= unchanged(value); });
    prepared::for_each_value(index_.list().calls[call].results,
                             [&](size_t value) { all &= unchanged(value); });
  }
  return all;
}

}  // namespace rewrites

TENON_NAMESPACE_END
