// Configured ops: an op with its keyword-only parameters set, from code or from a config.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

// An op whose attributes are bound once, checked strictly, and never change; calls are independent
// of each other. Cheap to copy; any thread.
class ConfiguredOp {
 public:
  // Throws TypeError naming an attribute that is missing, unknown, or of another type.
  ConfiguredOp(const Op& op, const std::vector<Keyword>& attributes) : op_(op) {
    std::vector<tenon_string> names;
    std::vector<tenon_value> values;
    for (const Keyword& attribute : attributes) {
      names.push_back({attribute.name.data(), static_cast<int64_t>(attribute.name.size())});
      values.push_back(attribute.value.value());
    }
    auto bound = std::make_shared<Bound>();
    int64_t positional = 0;
    Value texts;
    tenon_value given[32] = {};
    detail::check(service::ops().bind_attributes, op_.handle(), names.data(), values.data(),
                  static_cast<int64_t>(names.size()), &positional, texts.slot(), given);
    bound->names = texts.strings();
    for (size_t i = 0; i < bound->names.size(); ++i) bound->values.emplace_back(given[i]);
    for (const Keyword& attribute : attributes) {
      for (size_t i = 0; i < bound->names.size(); ++i) {
        if (bound->names[i] != attribute.name) continue;
        bound->given.push_back(detail::string_of(bound->names[i]));
        bound->given_values.push_back(bound->values[i].get());
      }
    }
    bound_ = std::move(bound);
  }
  const Op& op() const { return op_; }  // the op

  // The tensors, and what else comes before the attributes.
  template <class... Arguments>
  Value operator()(const Arguments&... arguments) const {
    return call<Value>(arguments...);
  }
  // With the result type named, as in Op::call.
  template <class Result, class... Arguments>
  Result call(const Arguments&... arguments) const {
    const std::array<tenon_value, sizeof...(Arguments)> given{Argument(arguments).value()...};
    op_.check_result<Result>();
    tenon_value results[detail::max_results];
    call_values(given.data(), static_cast<int64_t>(given.size()), results);
    return detail::FromResults<Result>::make(op_.handle(), results);
  }
  // `results` has as many slots as the op has results.
  void call_values(const tenon_value* given, int64_t count, tenon_value* results) const {
    detail::check(service::ops().call_keywords, op_.handle(), given, count, bound_->given.data(),
                  bound_->given_values.data(), static_cast<int64_t>(bound_->given.size()), results);
  }

  // In schema order, defaults filled in.
  const std::vector<std::string>& attribute_names() const { return bound_->names; }
  template <class T>
  T attribute(std::string_view name) const {  // as T; TypeError otherwise
    for (size_t i = 0; i < bound_->names.size(); ++i) {
      if (bound_->names[i] == name) return bound_->values[i].to<T>();
    }
    throw ArgumentError(op_.name() + " has no attribute '" + std::string(name) + "'");
  }

 private:
  struct Bound {
    std::vector<std::string> names;
    std::vector<Value> values;
    std::vector<tenon_string> given;  // configured arguments, as calls pass them
    std::vector<tenon_value> given_values;
  };
  Op op_;
  std::shared_ptr<const Bound> bound_;
};

// configure("examples.add_constant", arg("constant") = 3.0)
template <class... Keywords>
ConfiguredOp configure(std::string_view name, const Keywords&... attributes) {
  return ConfiguredOp(Op(name), {attributes...});
}
// From {"op": "examples.add_constant", "constant": 3}.
inline ConfiguredOp configure(const Json& document) {
  if (!document.is_object() || !document["op"].is_text())
    throw ConfigError("a configured op is an object with an \"op\", the op's name");
  std::vector<std::string> names;
  std::vector<Json> values;
  for (int64_t i = 0; i < document.size(); ++i) {
    if (document.key(i) == "op") continue;
    names.push_back(document.key(i));
    values.push_back(document[i]);
  }
  std::vector<Keyword> attributes;
  for (size_t i = 0; i < names.size(); ++i) {
    tenon_value value{};
    value.tag = TENON_VALUE_JSON;
    value.as.json = const_cast<tenon_json*>(values[i].handle());
    attributes.push_back({names[i], Argument(value)});
  }
  return ConfiguredOp(Op(document["op"].text()), attributes);
}

TENON_NAMESPACE_END
