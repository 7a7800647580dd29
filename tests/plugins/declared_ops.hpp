// The ops of the shipped plugins as they are declared, and calls of them with arguments made at run
// time: for tests that try every op.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/tenon.hpp>

namespace declared {

using tenon::Argument;
using tenon::Json;
using tenon::Scalar;
using tenon::Tensor;

struct Parameter {
  std::string name, type;    // type without aliases and '?'
  std::string default_text;  // empty without one
  bool optional = false, has_default = false, mutated = false, keyword_only = false;
};
struct Declared {
  std::string name;
  std::vector<Parameter> parameters;
  bool recorded = false;  // has a gradient
  bool composite = false;
  size_t operands = 0;  // parameters before 'out'
};

inline std::vector<Declared> declared_ops(const std::vector<std::string>& plugins = {"math", "blas",
                                                                                     "nn"}) {
  std::vector<Declared> ops;
  for (const std::string& plugin : plugins) {
    const Json list = tenon::listing::declarations(plugin)["ops"];
    for (int64_t i = 0; i < list.size(); ++i) {
      Declared& op = ops.emplace_back();
      op.name = list[i]["name"].text();
      op.recorded = list[i]["differentiable"].text() != "none";
      op.composite = list[i]["differentiable"].text() == "composite";
      const Json parameters = list[i]["parameters"];
      for (int64_t k = 0; k < parameters.size(); ++k) {
        Parameter parameter;
        parameter.name = parameters[k]["name"].text();
        parameter.default_text = parameters[k]["default"].text("");
        parameter.has_default = !parameter.default_text.empty();
        parameter.mutated = parameters[k]["mutates"].as_bool();
        parameter.keyword_only = parameters[k]["keyword_only"].as_bool();
        for (const char c : parameters[k]["type"].text()) {
          if (c == '?') parameter.optional = true;
          parameter.type += c;
        }
        if (parameter.optional) parameter.type.pop_back();
        const size_t alias = parameter.type.find('(');
        if (alias != std::string::npos)
          parameter.type.erase(alias, parameter.type.find(')') - alias + 1);
        op.parameters.push_back(parameter);
      }
      op.operands = op.parameters.size();
      if (op.operands != 0 && op.parameters.back().name == "out") --op.operands;
    }
  }
  return ops;
}

// One argument, kept for as long as calls are made with it.
struct Held {
  Tensor tensor;
  std::vector<Tensor> tensors;
  std::vector<int64_t> list;
  std::string text;
  Scalar number;
  enum Kind { none, one_tensor, tensor_list, integers, string, scalar, dtype } kind = none;
  tenon::DType type = tenon::DType::none;

  Argument argument() const {
    switch (kind) {
      case one_tensor:
        return Argument(tensor);
      case tensor_list:
        return Argument(tensors);
      case integers:
        return Argument(list);
      case string:
        return Argument(text);
      case scalar:
        return Argument(number);
      case dtype:
        return Argument(type);
      default:
        return Argument(tenon::none);
    }
  }
};
using Call = std::vector<Held>;

inline std::string shape_of(const Tensor& tensor) {
  std::string text = tenon::dtype_text(tensor.dtype());
  text += '[';
  for (const int64_t size : tensor.shape()) text += std::to_string(size) + ',';
  text += ']';
  if (tensor.numel() > 12) return text;
  for (const double number : tenon::detail::numbers_of(tensor)) text += ' ' + Scalar(number).text();
  return text;
}
inline std::string text_of(const Declared& op, const Call& call) {
  std::string text = op.name + "(";
  for (size_t i = 0; i < call.size(); ++i) {
    const Held& held = call[i];
    text += op.parameters[i].name + "=";
    switch (held.kind) {
      case Held::one_tensor:
        text += shape_of(held.tensor);
        break;
      case Held::tensor_list:
        for (const Tensor& tensor : held.tensors) text += shape_of(tensor) + " ";
        break;
      case Held::integers:
        for (const int64_t number : held.list) text += std::to_string(number) + " ";
        break;
      case Held::string:
        text += held.text;
        break;
      case Held::scalar:
        text += held.number.text();
        break;
      case Held::dtype:
        text += tenon::dtype_text(held.type);
        break;
      default:
        text += "none";
    }
    text += ", ";
  }
  return text + ")";
}

// The tensors that a call gives; empty when it is refused, `refused` says why.
struct Outcome {
  std::vector<Tensor> tensors;
  std::string refused;
};
inline Outcome run(const Declared& op, const Call& call, const Argument& out = tenon::none) {
  Outcome outcome;
  std::vector<tenon_value> values;
  for (const Held& held : call) values.push_back(held.argument().value());
  if (out.value().tag != TENON_VALUE_NONE) values.push_back(out.value());
  tenon_value results[tenon::detail::max_results] = {};
  tenon_error* error = nullptr;
  const tenon::Op handle(op.name);
  const tenon_status status = tenon::service::ops().call(
      handle.handle(), values.data(), static_cast<int64_t>(values.size()), results, &error);
  if (status != TENON_OK) {
    outcome.refused = tenon::service::values().error_message(error);
    // Nothing of the library, the language or the machine may come through unnamed.
    CHECK(status != TENON_ERROR_INTERNAL);
    CHECK_MESSAGE(outcome.refused.find("std::") == std::string::npos, outcome.refused);
    tenon::service::values().error_release(error);
    return outcome;
  }
  for (int64_t r = 0; r < tenon::service::ops().result_count(handle.handle()); ++r) {
    tenon::Value value(results[r]);
    if (value.is_tensor()) outcome.tensors.push_back(value.tensor());
    if (value.is_number()) outcome.tensors.push_back(tenon::full({}, value.scalar()));
    if (results[r].tag == TENON_VALUE_TENSOR_LIST) {
      for (const Tensor& tensor : value.tensors()) outcome.tensors.push_back(tensor);
    }
  }
  return outcome;
}

}  // namespace declared
