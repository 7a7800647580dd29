#include "compiled_rule.hpp"

#include <set>
#include <utility>

#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "literal.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using lib::format_text;

namespace {

class Compiler {
 public:
  Compiler(const Rule& rule, Signatures& signatures) : rule_(rule), signatures_(signatures) {}

  CompiledRule compile() {
    CompiledRule compiled;
    compiled.rule = &rule_;
    for (const Term& root : rule_.pattern) compiled.pattern.push_back(made(root, nullptr, true));
    compiled.calls = calls_;
    in_pattern_ = false;
    for (const Term& root : rule_.replacement)
      compiled.replacement.push_back(made(root, nullptr, true));
    compiled.left = left_;
    check_results(compiled);
    return compiled;
  }

 private:
  [[noreturn]] void refuse(const Term& term, const std::string& fault) const {
    throw ValueError(format_text("the rewrite '{}' of plugin '{}' has at column {} {}",
                                 printable(rule_.text), printable(rule_.plugin), term.column,
                                 fault));
  }

  // `parameter`: that it is for; null of a result.
  CompiledTerm made(const Term& term, const SchemaParameter* parameter, bool root = false) {
    CompiledTerm compiled;
    compiled.term = &term;
    compiled.kind = term.kind;
    switch (term.kind) {
      case Term::Kind::call:
        make_call(term, root, compiled);
        break;
      case Term::Kind::literal:
        compiled.literal = term.literal;
        check_literal(term, term.literal, parameter);
        break;
      case Term::Kind::list: {
        SchemaParameter item;
        if (parameter != nullptr) {
          if (!parameter->list && parameter->kind != "any")
            refuse(term,
                   format_text("a list for '{}', which is {}", parameter->name, parameter->type));
          item = *parameter;
          item.list = false;
          item.length = 0;
        }
        for (const Term& one : term.items)
          compiled.items.push_back(made(one, parameter == nullptr ? nullptr : &item));
        break;
      }
      case Term::Kind::variable:
        if (parameter == nullptr && in_pattern_) refuse(term, "a variable in place of a call");
        break;
      default:
        break;
    }
    if (parameter == nullptr && term.kind != Term::Kind::call && term.kind != Term::Kind::variable)
      refuse(term, "a value that is not a tensor in place of a result");
    return compiled;
  }

  void check_literal(const Term& term, const Literal& literal,
                     const SchemaParameter* parameter) const {
    if (parameter == nullptr) return;
    if (!value_for(*parameter, literal))
      refuse(term, format_text("a value that does not fit '{}', which is {}", parameter->name,
                               parameter->type));
  }

  void make_call(const Term& call, bool root, CompiledTerm& compiled) {
    const Signature* const signature = signatures_.find(call.name);
    if (signature == nullptr)
      refuse(call, format_text("the op '{}', which no plugin declares{}", printable(call.name),
                               suggestion(call.name, signatures_.names())));
    if (!signature->tensors_only || signature->results.empty())
      refuse(call, format_text("{}(), which gives no tensors", call.name));
    compiled.signature = signature;
    ++(in_pattern_ ? calls_ : left_);
    const bool lists = signature->results.back();
    if (call.result >= static_cast<int64_t>(signature->results.size()) && !lists)
      refuse(call, format_text("result {} of {}(), which has {}", call.result, call.name,
                               signature->results.size()));
    compiled.one_result = !root || call.result >= 0;
    compiled.result = static_cast<size_t>(call.result < 0 ? 0 : call.result);
    fill_arguments(call, *signature, compiled);
  }

  void fill_arguments(const Term& call, const Signature& signature, CompiledTerm& compiled) {
    compiled.arguments.resize(signature.parameters.size());
    std::vector<bool> given(signature.parameters.size(), false);
    const Term* rest = nullptr;
    size_t next = 0;
    for (const Term& argument : call.items) {
      if (argument.kind == Term::Kind::rest) {
        if (rest != nullptr) refuse(argument, "a second '...' in one call");
        rest = &argument;
        continue;
      }
      const size_t place = argument.keyword.empty() ? next++ : place_of(call, signature, argument);
      if (argument.keyword.empty() &&
          (place >= signature.parameters.size() || signature.parameters[place].keyword_only))
        refuse(argument, format_text("an argument more than {}() takes by position", call.name));
      const SchemaParameter& parameter = signature.parameters[place];
      if (given[place]) refuse(argument, format_text("'{}' a second time", parameter.name));
      // Batch norm changes its statistics in training alone: patterns may name them, and fit calls that leave
      // them as they are.
      if (parameter.mutates &&
          !(in_pattern_ && parameter.optional && !parameter.keyword_only && !parameter.fallback))
        refuse(argument,
               format_text("'{}', which {}() changes in place", parameter.name, call.name));
      given[place] = true;
      compiled.arguments[place] = made(argument, &parameter);
    }
    std::set<std::string> named;
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const SchemaParameter& parameter = signature.parameters[i];
      if (given[i]) continue;
      CompiledTerm& argument = compiled.arguments[i];
      if (parameter.mutates && !parameter.fallback)
        refuse(call, format_text("{}(), which changes '{}' in place", call.name, parameter.name));
      if (rest != nullptr && !parameter.mutates &&
          (in_pattern_ || in_rest(*rest, parameter.name))) {
        argument.term = rest;
        argument.kind = Term::Kind::rest;
        argument.rest = rest->name;
        named.insert(parameter.name);
      } else if (parameter.fallback) {
        argument.literal = *parameter.fallback;
      } else {
        refuse(call,
               format_text("{}() without '{}', which has no default", call.name, parameter.name));
      }
    }
    if (rest != nullptr) know_rest(call, signature, *rest, named);
  }
  size_t place_of(const Term& call, const Signature& signature, const Term& argument) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      if (signature.parameters[i].name == argument.keyword) return i;
      names.push_back(signature.parameters[i].name);
    }
    refuse(argument, format_text("'{}', which {}() does not take{}", argument.keyword, call.name,
                                 suggestion(argument.keyword, names)));
  }

  bool in_rest(const Term& rest, const std::string& parameter) const {
    const auto found = rests_.find(rest.name);
    return found != rests_.end() && found->second.count(parameter) > 0;
  }
  // Parameters that a rest stands for: of the pattern's call all that it does not mention, which the
  // replacement's call has to take.
  void know_rest(const Term& call, const Signature& signature, const Term& rest,
                 const std::set<std::string>& named) {
    if (in_pattern_) {
      const auto [known, added] = rests_.emplace(rest.name, named);
      if (!added && known->second != named)
        refuse(rest, format_text("'...{}' for other parameters than before; name one of them",
                                 rest.name));
      return;
    }
    for (const std::string& name : rests_[rest.name]) {
      if (signature.find(name) == nullptr)
        refuse(rest, format_text("'...{}', which has '{}': {}() does not take it", rest.name, name,
                                 call.name));
    }
  }

  // The number of results: one call for all of them has to give as many.
  void check_results(const CompiledRule& compiled) const {
    const auto count = [](const CompiledTerm& term) -> size_t {
      return term.one_result ? 1 : term.signature->results.size();
    };
    const CompiledTerm& first = compiled.replacement.front();
    if (compiled.replacement.size() > 1 || first.kind != Term::Kind::call || first.one_result) {
      for (const CompiledTerm& root : compiled.pattern) {
        if (count(root) != 1 || (!root.one_result && root.signature->results.front()))
          refuse(*root.term, "several results, of which the replacement has one; write '.0'");
      }
      for (const CompiledTerm& root : compiled.replacement) {
        if (root.kind == Term::Kind::call && !root.one_result && count(root) != 1)
          refuse(*root.term, "several results in place of one; write '.0'");
      }
      return;
    }
    const bool lists = first.signature->results.front();
    if (compiled.pattern.size() == 1) {
      const CompiledTerm& root = compiled.pattern.front();
      if (count(root) != count(first) ||
          (!root.one_result && root.signature->results != first.signature->results) ||
          (root.one_result && lists))
        refuse(*first.term, "other results than the pattern");
      return;
    }
    if (!lists && count(first) != compiled.pattern.size())
      refuse(*first.term,
             format_text("{} results in place of {}", count(first), compiled.pattern.size()));
  }

  const Rule& rule_;
  Signatures& signatures_;
  std::map<std::string, std::set<std::string>> rests_;
  bool in_pattern_ = true;
  size_t calls_ = 0, left_ = 0;
};

}  // namespace

CompiledRule compile(const Rule& rule, Signatures& signatures) {
  return Compiler(rule, signatures).compile();
}

}  // namespace rewrites

TENON_NAMESPACE_END
