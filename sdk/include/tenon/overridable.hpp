// Overridable ops, stand-ins for them, and whether a call would dispatch: all of it read from the
// table of ops. wrap_tenon_function (define.hpp) makes a C++ function overridable.
//
//   get_overridable_functions()["nn.functional"]   {"adaptive_avg_pool1d", ...}
//   get_ignored_functions()                        {{"ones", "it has no tensor operands ..."}, ...}
//   get_testing_overrides().at("add")(a, b)        -1, or the TypeError of the call
//   Op(resolve_name(op)) == op                     true
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/call.hpp"
#include "tenon/runtime.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

// Arguments of a call, split into values, names and named values.
struct WrittenArguments {
  std::vector<tenon_value> values, named;
  std::vector<tenon_string> names;

  template <class... Arguments>
  explicit WrittenArguments(const Arguments&... arguments) {
    (put(arguments), ...);
  }
  WrittenArguments(const std::vector<Argument>& arguments, const std::vector<Keyword>& keywords) {
    for (const Argument& argument : arguments) put(argument);
    for (const Keyword& keyword : keywords) put(keyword);
  }
  int64_t count() const { return static_cast<int64_t>(values.size()); }
  int64_t keyword_count() const { return static_cast<int64_t>(names.size()); }

 private:
  void put(const Keyword& keyword) {
    names.push_back(string_of(keyword.name));
    named.push_back(keyword.value.value());
  }
  void put(const Argument& argument) { values.push_back(argument.value()); }
};

inline bool type_dispatches(const tenon_tensor* tensor) {
  const tenon_tensor_view* view = tenon_tensor_get_view(tensor);
  return (view->flags & TENON_TENSOR_TYPED) != 0 && service::types().dispatches(view->type) != 0;
}
inline bool type_dispatches(const tenon_value& value) {
  if (value.tag == TENON_VALUE_TENSOR) return type_dispatches(value.as.tensor);
  for (uint32_t i = 0; value.tag == TENON_VALUE_TENSOR_LIST && i < value.length; ++i) {
    if (value.as.tensors[i] != nullptr && type_dispatches(value.as.tensors[i])) return true;
  }
  return false;
}
inline bool type_dispatches(const Argument& argument) { return type_dispatches(argument.value()); }
inline bool type_dispatches(const Keyword& keyword) { return type_dispatches(keyword.value); }

}  // namespace detail

// ---- lists ----

namespace detail {

// Whether the declarations of a plugin count: it is neither refused nor hidden by another of its id.
inline bool is_usable(const Json& plugin) {
  const std::string state = plugin["state"].text();
  return state != "failed" && state != "quarantined" && state != "shadowed";
}
// By full name, the facts of each op that usable plugins declare: of the plugin that is used, where
// several declare it. Ops whose schema cannot be parsed are left out.
inline std::map<std::string, Json> declared_ops() {
  std::map<std::string, Json> ops;
  const Json plugins = document(Document::facts);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const Json plugin = plugins[i], list = plugin["facts"]["ops"];
    for (int64_t k = 0; is_usable(plugin) && k < list.size(); ++k) {
      const Json op = list[k];
      if (op["fault"].defined()) continue;
      const auto [known, added] = ops.emplace(op["name"].text(), op);
      if (!added && provider_of(known->first) == plugin["id"].text()) known->second = op;
    }
  }
  return ops;
}
// Why an op, by its facts, cannot be overridden; empty when it can.
inline std::string ignored_reason(const Json& op) {
  if ((op["flags"].integer() & TENON_OP_NOT_OVERRIDABLE) != 0)
    return op["not_overridable"].text("its plugin declares it so");
  return op["operands"].as_bool() ? ""
                                  : "it has no tensor operands whose type could be dispatched on";
}

}  // namespace detail

// By namespace, "" for the root, the names of the ops that can be overridden, both in order.
inline std::map<std::string, std::vector<std::string>> get_overridable_functions() {
  std::map<std::string, std::vector<std::string>> functions;
  for (const auto& [name, op] : detail::declared_ops()) {
    if (!detail::ignored_reason(op).empty()) continue;
    const size_t dot = name.rfind('.');
    functions[dot == std::string::npos ? "" : name.substr(0, dot)].push_back(name.substr(dot + 1));
  }
  return functions;
}
// By full name, those that cannot be, and why.
inline std::map<std::string, std::string> get_ignored_functions() {
  std::map<std::string, std::string> functions;
  for (const auto& [name, op] : detail::declared_ops()) {
    if (std::string reason = detail::ignored_reason(op); !reason.empty())
      functions.emplace(name, std::move(reason));
  }
  return functions;
}

// ---- names ----

// "nn.functional.gelu": Op(resolve_name(op)) is the op again.
inline std::string resolve_name(const Op& op) { return op.name(); }
// Whether it is a method of Tensor too, as x.add(y).
inline bool is_tensor_method_or_property(const Op& op) {
  return parse_schema(op.schema())["method"].as_bool();
}

// ---- testing overrides ----

// A stand-in for an op: it has the op's parameters and errors, and returns -1.
class TestingOverride {
 public:
  TestingOverride(std::string op, std::string signature)  // counts calls of one op
      : op_(std::move(op)), signature_(std::move(signature)) {}
  const std::string& op() const { return op_; }                // full name
  const std::string& signature() const { return signature_; }  // (input, other, *, out=None)
  // <Signature (input, other, *, out=None)>
  std::string text() const { return "<Signature " + signature_ + ">"; }

  // Binds the arguments by the op's schema, with the errors of a call, and calls nothing.
  template <class... Arguments>
  int64_t operator()(const Arguments&... arguments) const {
    return bind(detail::WrittenArguments(arguments...));
  }
  int64_t operator()(const std::vector<Argument>& arguments,  // calls it; how often it ran
                     const std::vector<Keyword>& keywords = {}) const {
    return bind(detail::WrittenArguments(arguments, keywords));
  }

 private:
  int64_t bind(const detail::WrittenArguments& written) const {
    detail::check(service::ops().bind, Op(op_).handle(), written.values.data(), written.count(),
                  written.names.data(), written.named.data(), written.keyword_count());
    return -1;
  }
  std::string op_, signature_;
};
// By full name, one for each op that can be overridden.
inline std::map<std::string, TestingOverride> get_testing_overrides() {
  std::map<std::string, TestingOverride> overrides;
  for (const auto& [name, op] : detail::declared_ops()) {
    if (detail::ignored_reason(op).empty())
      overrides.emplace(name, TestingOverride(name, op["signature"].text()));
  }
  return overrides;
}

// ---- questions ----

// A Tensor, or an object whose type stands in for one: it has a handler, overrides or a fallback.
inline bool is_tensor_like(const Argument& argument) {
  const tenon_value& value = argument.value();
  if (value.tag != TENON_VALUE_TENSOR) return false;
  const bool typed = (tenon_tensor_get_view(value.as.tensor)->flags & TENON_TENSOR_TYPED) != 0;
  return !typed || detail::type_dispatches(value.as.tensor);
}

// Whether a call with these operands dispatches: on a type among them, in lists too, or to a mode.
template <class... Arguments>
bool has_tenon_function(const Arguments&... arguments) {
  if (service::modes().count() > 0) return true;
  if ((service::modes().disabled() & TENON_DISABLE_TYPES) != 0) return false;
  return (false || ... || detail::type_dispatches(arguments));
}

// Their result, for code that dispatches before it continues; TypeError when no type can be
// asked.
template <class... Arguments>
Value handle_tenon_function(const Op& op, const Arguments&... arguments) {
  if (!has_tenon_function(arguments...))
    throw TypeError(op.name() + "(): no operand is of a type that implements tenon_function");
  return op(arguments...);
}

TENON_NAMESPACE_END
