#include "replacement.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include <tenon/detail/parameters.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "literal.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using lib::format_text;
using prepared::undefined_value;
using OperandKind = ListOperand::Kind;
using ValueKind = ListValue::Kind;

namespace {

// A tensor of zeros in the same layout.
Tensor zeros_as(const Tensor& layout) {
  int64_t low = 0, high = 0;  // the places of the first and the last element in memory
  for (int64_t d = 0; d < layout.dim(); ++d) {
    const int64_t reach = (layout.shape()[d] - 1) * layout.strides()[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t count = layout.numel() == 0 ? 0 : high - low + 1;
  const Tensor memory = empty_tensor({count}, layout.dtype());
  if (count > 0)
    std::memset(memory.view_record().data, 0,
                static_cast<size_t>(count * element_size(layout.dtype())));
  if (layout.numel() == 0) return empty_tensor(layout.shape(), layout.dtype());
  return alias_tensor(memory, layout.shape(), layout.strides(), -low);
}

bool equal_expressions(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.name == b.name && equal(a.literal, b.literal) &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    equal_expressions);
}
bool equal_terms(const CompiledTerm& a, const CompiledTerm& b);
bool equal_lists(const std::vector<CompiledTerm>& a, const std::vector<CompiledTerm>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal_terms);
}
bool equal_terms(const CompiledTerm& a, const CompiledTerm& b) {
  if (a.kind != b.kind || a.signature != b.signature || a.rest != b.rest ||
      !equal(a.literal, b.literal))
    return false;
  if (a.kind == Term::Kind::computed) return equal_expressions(a.term->computed, b.term->computed);
  if (a.kind == Term::Kind::variable && a.term->name != b.term->name) return false;
  if (a.kind == Term::Kind::call && a.result != b.result) return false;
  return equal_lists(a.arguments, b.arguments) && equal_lists(a.items, b.items);
}

class Maker {
 public:
  Maker(const ListIndex& index, const CompiledRule& rule, const Match& match)
      : list_(index.list()), index_(index), rule_(rule), match_(match) {
    for (const ListValue& value : list_.values) memories_ = std::max(memories_, value.memory + 1);
  }

  Replacement make() {
    uint64_t before[2] = {}, after[2] = {};
    service::threads().generator_reserve(0, &before[0], &before[1]);
    for (const CompiledTerm& root : rule_.replacement) add_root(root);
    service::threads().generator_reserve(0, &after[0], &after[1]);
    if (before[0] != after[0] || before[1] != after[1]) {
      service::threads().generator_state_set(before[0], before[1]);
      throw ValueError("its replacement draws random numbers");
    }
    if (made_.results.size() != match_.results.size())
      throw ValueError(format_text("it replaces {} by {}",
                                   counted(static_cast<int64_t>(match_.results.size()), "result"),
                                   made_.results.size()));
    for (size_t r = 0; r < made_.results.size(); ++r)
      check_layout(list_.values[match_.results[r]].layout, value(made_.results[r]).layout);
    return std::move(made_);
  }

 private:
  struct Made {
    const CompiledTerm* term;
    std::vector<int64_t> results;
  };

  const ListValue& value(size_t number) const {
    const size_t known = list_.values.size();
    return number < known ? list_.values[number] : made_.values[number - known];
  }
  // Strides of dimensions with one element say nothing.
  static void check_layout(const Tensor& expected, const Tensor& found) {
    bool same = expected.dtype() == found.dtype() && expected.sizes() == found.sizes();
    const std::string got = prepared::layout_text(found), instead = prepared::layout_text(expected);
    if (!same) throw ValueError(format_text("it would give {} in place of {}", got, instead));
    for (int64_t d = 0; d < expected.dim() && expected.numel() > 0; ++d)
      same &= expected.shape()[d] == 1 || expected.strides()[d] == found.strides()[d];
    if (!same) throw ValueError(format_text("it would give {} with other strides", got));
  }

  void add_root(const CompiledTerm& root) {
    if (root.kind != Term::Kind::call) {
      const ListOperand& operand = match_.variables.at(root.term->name);
      if (operand.kind != OperandKind::tensor)
        throw ValueError(format_text("its '{}' is not a tensor", root.term->name));
      made_.results.push_back(static_cast<size_t>(operand.values.front()));
      return;
    }
    const std::vector<int64_t> results = call(root);
    for (size_t r = 0; r < results.size(); ++r) {
      if (root.one_result && rule_.replacement.size() == rule_.pattern.size() && r != root.result)
        continue;
      if (results[r] == undefined_value) throw ValueError("a result of its replacement is none");
      made_.results.push_back(static_cast<size_t>(results[r]));
    }
  }

  // ---- arguments ----

  ListOperand of_literal(const SchemaParameter& parameter, const Literal& literal) const {
    ListOperand operand;
    const auto value = value_for(parameter, literal);
    if (!value)
      throw ValueError(
          format_text("a value does not fit '{}', which is {}", parameter.name, parameter.type));
    operand.literal = *value;
    return operand;
  }
  ListOperand of_operand(const SchemaParameter& parameter, const ListOperand& operand) const {
    if (operand.kind == OperandKind::literal) return of_literal(parameter, literal_of(operand));
    const bool list = operand.kind == OperandKind::tensors;
    if (!parameter.takes_tensors() || (list != parameter.list && parameter.kind != "any"))
      throw ValueError(
          format_text("a tensor does not fit '{}', which is {}", parameter.name, parameter.type));
    return operand;
  }
  ListOperand argument(const CompiledTerm& term, const SchemaParameter& parameter) {
    switch (term.kind) {
      case Term::Kind::variable:
        return of_operand(parameter, match_.variables.at(term.term->name));
      case Term::Kind::rest:
        return of_operand(parameter, match_.rests.at(term.rest).at(parameter.name));
      case Term::Kind::computed: {
        const auto found =
            Conditions(list_, index_.changed(), match_.variables).value(term.term->computed);
        if (!found)
          throw ValueError(format_text("the value for '{}' cannot be computed", parameter.name));
        return of_literal(parameter, *found);
      }
      case Term::Kind::list:
        return list_argument(term, parameter);
      case Term::Kind::call: {
        const std::vector<int64_t> results = call(term);
        ListOperand operand;
        operand.kind = OperandKind::tensor;
        if (term.result >= results.size() || results[term.result] == undefined_value)
          throw ValueError(format_text("{}() has no result {}", term.signature->op, term.result));
        operand.values.push_back(results[term.result]);
        return of_operand(parameter, operand);
      }
      default:
        return of_literal(parameter, term.literal);
    }
  }
  ListOperand list_argument(const CompiledTerm& term, const SchemaParameter& parameter) {
    SchemaParameter item = parameter;
    item.list = false;
    item.length = 0;
    item.optional = true;
    if (parameter.takes_tensors()) {
      ListOperand tensors;
      tensors.kind = OperandKind::tensors;
      for (const CompiledTerm& one : term.items) {
        const ListOperand operand = argument(one, item);
        if (operand.kind == OperandKind::literal && operand.literal != nullptr) break;
        tensors.values.push_back(operand.kind == OperandKind::literal ? undefined_value
                                                                      : operand.values.front());
      }
      if (tensors.values.size() == term.items.size() &&
          (!term.items.empty() || parameter.kind == "Tensor"))
        return tensors;
    }
    std::vector<Literal> items;
    for (const CompiledTerm& one : term.items) items.push_back(literal_of(argument(one, item)));
    return of_literal(parameter, list(std::move(items)));
  }

  // ---- calls ----

  // Results of a call, by number; terms that are equal are one call.
  std::vector<int64_t> call(const CompiledTerm& term) {
    for (const Made& known : known_) {
      CompiledTerm same = term;
      same.result = known.term->result;
      if (equal_terms(*known.term, same)) return known.results;
    }
    ListedCall made{Op(term.signature->op)};
    for (size_t i = 0; i < term.arguments.size(); ++i)
      made.arguments.push_back(argument(term.arguments[i], term.signature->parameters[i]));
    made.rewrite = rule_.rule->name;
    run(made, is_root(term));
    std::vector<int64_t> results = tensors_of(made.results);
    if (!made.results.empty()) {
      if (folds_)
        made_.folded.push_back(term.signature->op);
      else if (gives_new_)
        made_.calls.push_back(std::move(made));
    }
    known_.push_back({&term, results});
    return results;
  }
  bool is_root(const CompiledTerm& term) const {
    return std::any_of(rule_.replacement.begin(), rule_.replacement.end(),
                       [&](const CompiledTerm& root) { return &root == &term; });
  }
  bool is_fixed(size_t number) const {
    const ListValue& one = value(number);
    const auto memory = static_cast<size_t>(one.memory);
    return one.kind == ValueKind::constant &&
           (memory >= index_.changed().size() || index_.changed()[memory] == 0);
  }
  const Tensor& real(size_t number) {
    const auto known = reals_.find(number);
    if (known != reals_.end()) return known->second;
    const ListValue& one = value(number);
    return reals_
        .emplace(number, one.kind == ValueKind::constant ? one.constant : zeros_as(one.layout))
        .first->second;
  }

  void run(ListedCall& made, bool root) {
    std::vector<tenon_value> arguments;
    std::vector<std::vector<tenon_tensor*>> lists(made.arguments.size());
    folds_ = !root;
    gives_new_ = false;
    prepared::for_each_value(made.arguments, [&](size_t number) { folds_ &= is_fixed(number); });
    for (size_t i = 0; i < made.arguments.size(); ++i) {
      const ListOperand& operand = made.arguments[i];
      const auto handle = [&](int64_t number) {
        return number == undefined_value ? nullptr : real(static_cast<size_t>(number)).handle();
      };
      tenon_value value{};
      if (operand.kind == OperandKind::tensor) {
        value.tag = TENON_VALUE_TENSOR;
        value.as.tensor = handle(operand.values.front());
      } else if (operand.kind == OperandKind::tensors) {
        for (const int64_t number : operand.values) lists[i].push_back(handle(number));
        value.tag = TENON_VALUE_TENSOR_LIST;
        value.length = static_cast<uint32_t>(lists[i].size());
        value.as.tensors = lists[i].data();
      } else if (operand.literal != nullptr) {
        value = operand.literal->get();
      }
      arguments.push_back(value);
    }
    tenon_value given[detail::max_results] = {};
    detail::check(service::ops().call, made.op.handle(),
                  static_cast<const tenon_value*>(arguments.data()),
                  static_cast<int64_t>(arguments.size()), static_cast<tenon_value*>(given));
    std::vector<Value> results;
    const int64_t count = service::ops().result_count(made.op.handle());
    for (int64_t r = 0; r < count; ++r) results.emplace_back(given[r]);
    for (const Value& result : results) made.results.push_back(read_result(made, result));
  }

  ListOperand read_result(const ListedCall& made, const Value& result) {
    ListOperand operand;
    if (result.is_none()) return operand;
    std::vector<Tensor> tensors;
    if (result.is_tensor()) {
      operand.kind = OperandKind::tensor;
      tensors.push_back(result.tensor());
    } else if (result.get().tag == TENON_VALUE_TENSOR_LIST) {
      operand.kind = OperandKind::tensors;
      tensors = result.tensors();
    } else {
      throw ValueError(
          format_text("{}() gives {}", made.op.name(), detail::kind_text(result.get())));
    }
    for (const Tensor& tensor : tensors)
      operand.values.push_back(tensor.defined() ? number_of(made, tensor) : undefined_value);
    return operand;
  }
  int64_t number_of(const ListedCall& made, const Tensor& tensor) {
    ListValue one;
    one.memory = memories_ + new_memories_;
    bool shares = false;
    for (const auto& [number, known] : reals_) {
      if (known.handle() == tensor.handle()) return static_cast<int64_t>(number);
      if (shares || service::tensors().shares_storage(known.handle(), tensor.handle()) == 0)
        continue;
      one.memory = value(number).memory;
      shares = true;
    }
    constexpr uint32_t special =
        TENON_TENSOR_TYPED | TENON_TENSOR_SHAPE_ONLY | TENON_TENSOR_HAS_TANGENT;
    if ((tensor.view_record().flags & special) != 0)
      throw ValueError(
          format_text("{}() gives a tensor of a type, or without data", made.op.name()));
    new_memories_ += shares ? 0 : 1;
    gives_new_ = true;
    one.layout = prepared::stand_in(tensor);
    if (folds_) {
      one.kind = ValueKind::constant;
      one.constant = tensor;
    }
    const size_t number = list_.values.size() + made_.values.size();
    made_.values.push_back(std::move(one));
    reals_.emplace(number, tensor);
    return static_cast<int64_t>(number);
  }

  const CallList& list_;
  const ListIndex& index_;
  const CompiledRule& rule_;
  const Match& match_;
  Replacement made_;
  std::vector<Made> known_;
  std::map<size_t, Tensor> reals_;  // by number
  int64_t memories_ = 0, new_memories_ = 0;
  // Whether the results of the call are constants, and whether one is not an operand that comes back.
  bool folds_ = false, gives_new_ = false;
};

void rename(ListOperand& operand, const std::map<size_t, size_t>& names) {
  for (int64_t& value : operand.values) {
    const auto found = names.find(static_cast<size_t>(value));
    if (value != undefined_value && found != names.end())
      value = static_cast<int64_t>(found->second);
  }
}
void rename(std::vector<ListOperand>& operands, const std::map<size_t, size_t>& names) {
  for (ListOperand& operand : operands) rename(operand, names);
}

// Which memory the results have afterwards, where that may differ: memory that is shared otherwise than
// before must not be written, nor shown to the caller.
class MemoryChange {
 public:
  MemoryChange(const ListIndex& index, const Match& match) : index_(index), match_(match) {
    for (const ListValue& value : index.list().values) old_ = std::max(old_, value.memory + 1);
  }

  void add(size_t result, int64_t after) {
    const int64_t before = memory_of(result);
    const auto renamed = names_.find(after);
    const bool is_new = after >= old_ && renamed == names_.end();
    if (renamed != names_.end()) after = renamed->second;
    const bool fresh = is_fresh(result);
    if (fresh && is_new && taken_.insert(before).second) {
      names_[after] = before;
      return;
    }
    if (after == before) return;
    require_quiet(before);
    if (after < old_) require_quiet(after);
    if (index_.is_shown(before))
      throw ValueError("a result of the model would share other memory than before");
    if (fresh && is_alone(result)) {
      whole_[before] = after;
    } else {
      for (const size_t reader : index_.readers(result)) {
        prepared::for_each_value(index_.list().calls[reader].results, [&](size_t value) {
          if (memory_of(value) == before && !in_pattern(reader))
            throw ValueError("views of its result would share other memory than before");
        });
      }
      values_[result] = after;
    }
  }

  void apply(CallList& list, size_t first_new) const {
    for (size_t i = 0; i < list.values.size(); ++i) {
      int64_t& memory = list.values[i].memory;
      const std::map<int64_t, int64_t>& names = i < first_new ? whole_ : names_;
      const auto found = names.find(memory);
      if (found != names.end()) memory = found->second;
    }
    for (const auto& [value, memory] : values_) list.values[value].memory = memory;
  }

 private:
  int64_t memory_of(size_t value) const { return index_.list().values[value].memory; }
  bool in_pattern(size_t call) const {
    return std::binary_search(match_.calls.begin(), match_.calls.end(), call);
  }
  bool is_replaced(size_t value) const {
    return std::find(match_.results.begin(), match_.results.end(), value) != match_.results.end();
  }
  // Whether the memory is made by the pattern: all other values in it are the pattern's, or views of later.
  bool is_fresh(size_t result) const {
    const size_t maker = index_.maker(result).first;
    for (size_t i = 0; i < index_.list().values.size(); ++i) {
      if (i == result || memory_of(i) != memory_of(result)) continue;
      const size_t other = index_.maker(i).first;
      if (other == no_call || (other < maker && !in_pattern(other))) return false;
    }
    return true;
  }
  bool is_alone(size_t result) const {
    return std::count_if(match_.results.begin(), match_.results.end(),
                         [&](size_t other) { return memory_of(other) == memory_of(result); }) == 1;
  }
  void require_quiet(int64_t memory) const {
    for (const size_t writer : index_.writers(memory)) {
      if (writer > match_.calls.front())
        throw ValueError("memory that its result would share is changed in place later");
    }
  }

  const ListIndex& index_;
  const Match& match_;
  int64_t old_ = 0;
  std::map<int64_t, int64_t> names_;  // new memory: the old number that it takes
  std::map<int64_t, int64_t> whole_;  // old memory, with all values in it
  std::map<size_t, int64_t> values_;  // single values
  std::set<int64_t> taken_;
};

// Numbers that no call has any more are in no memory of others.
void separate_unused(CallList& list, const Match& match, const std::map<size_t, size_t>& renamed,
                     const std::map<size_t, size_t>& substituted) {
  int64_t next = 0;
  for (const ListValue& value : list.values) next = std::max(next, value.memory + 1);
  for (const auto& [number, name] : renamed) list.values[number].memory = next++;
  for (const auto& [number, target] : substituted) {
    if (number != target) list.values[number].memory = next++;
  }
  for (const size_t call : match.calls) {
    prepared::for_each_value(list.calls[call].results, [&](size_t value) {
      if (std::find(match.results.begin(), match.results.end(), value) == match.results.end())
        list.values[value].memory = next++;
    });
  }
}

}  // namespace

Replacement make_replacement(const ListIndex& index, const CompiledRule& rule, const Match& match) {
  return Maker(index, rule, match).make();
}

std::pair<size_t, size_t> replace(CallList& list, const ListIndex& index, const Match& match,
                                  Replacement replacement) {
  const size_t first_new = list.values.size();
  const auto in_pattern = [&](size_t call) {
    return std::binary_search(match.calls.begin(), match.calls.end(), call);
  };
  // Before the first reader of a result, which may come before the last root.
  size_t place = *std::max_element(match.roots.begin(), match.roots.end());
  for (const size_t result : match.results) {
    for (const size_t reader : index.readers(result)) {
      if (!in_pattern(reader)) place = std::min(place, reader);
    }
  }
  for (const size_t value : bound_values(match)) {
    const size_t maker = index.maker(value).first;
    if (maker != no_call && maker >= place)
      throw ValueError("an operand is made after a result that it replaces is read");
  }
  // A result is a new one under the old number, or another value in all of its places.
  MemoryChange memory(index, match);
  std::map<size_t, size_t> renamed, substituted;
  std::set<size_t> shown;
  for (size_t r = 0; r < match.results.size(); ++r) {
    const size_t before = match.results[r], after = replacement.results[r];
    const ListValue& value =
        after < first_new ? list.values[after] : replacement.values[after - first_new];
    memory.add(before, value.memory);
    const auto known = renamed.find(after);
    if (after >= first_new && known == renamed.end() && value.kind == ValueKind::result) {
      renamed[after] = before;
      continue;
    }
    const size_t target = known == renamed.end() ? after : known->second;
    if (index.is_output(before) &&
        (value.kind != ValueKind::result || (target < first_new && index.is_output(target)) ||
         !shown.insert(target).second))
      throw ValueError("a result of the model would be an argument, a constant or another result");
    substituted[before] = target;
  }
  for (ListValue& value : replacement.values) list.values.push_back(std::move(value));
  memory.apply(list, first_new);
  separate_unused(list, match, renamed, substituted);
  std::vector<ListedCall> calls;
  size_t begin = 0;
  for (size_t i = 0; i < list.calls.size(); ++i) {
    if (i == place) {
      begin = calls.size();
      for (ListedCall& call : replacement.calls) {
        rename(call.arguments, renamed);
        rename(call.results, renamed);
        calls.push_back(std::move(call));
      }
    }
    if (!in_pattern(i)) calls.push_back(std::move(list.calls[i]));
  }
  for (ListedCall& call : calls) {
    rename(call.arguments, substituted);
    rename(call.results, substituted);
  }
  rename(list.outputs, substituted);
  list.calls = std::move(calls);
  return {begin, replacement.calls.size()};
}

void renumber(CallList& list) {
  std::map<size_t, size_t> names;
  std::vector<ListValue> values;
  const auto use = [&](size_t number) {
    if (names.emplace(number, values.size()).second) values.push_back(list.values[number]);
  };
  // Arguments stay: a caller gives them all.
  for (size_t i = 0; i < list.values.size(); ++i) {
    if (list.values[i].kind == ValueKind::argument) use(i);
  }
  for (const ListedCall& call : list.calls) {
    prepared::for_each_value(call.arguments, use);
    prepared::for_each_value(call.results, use);
  }
  prepared::for_each_value(list.outputs, use);
  for (ListedCall& call : list.calls) {
    rename(call.arguments, names);
    rename(call.results, names);
  }
  rename(list.outputs, names);
  std::map<int64_t, int64_t> memories;
  for (ListValue& value : values)
    value.memory =
        memories.emplace(value.memory, static_cast<int64_t>(memories.size())).first->second;
  list.values = std::move(values);
}

}  // namespace rewrites

TENON_NAMESPACE_END
