#include "attributes.hpp"

#include <tenon/detail/parameters.hpp>
#include <tenon/ops.hpp>
#include <tenon/text.hpp>

#include "scope.hpp"
#include "tensor_data.hpp"

namespace onnx {

using tenon::Json, tenon::Tensor, tenon::Value;

namespace {

void give_dtype(int64_t type, tenon_value& value) {
  const tenon::DType dtype = dtype_of_type(type);
  if (dtype == tenon::DType::none && type != 0)
    throw tenon::NotImplementedError("it makes tensors of type " + type_text(type) +
                                     ", which Tenon does not compute in");
  value = tenon::Argument(dtype).value();
}

}  // namespace

const Attribute* resolve(const Attribute* attribute, const FunctionCall* call) {
  while (attribute != nullptr && !attribute->reference.empty()) {
    if (call == nullptr)
      throw tenon::ValueError("the attribute " + quoted(attribute->name) +
                              " refers to a function's, but is not in one");
    const std::string_view name = attribute->reference;
    attribute = call->node->attribute(name);
    if (attribute == nullptr) {
      for (const Attribute& one : call->function->attribute_defaults) {
        if (one.name == name) return &one;
      }
    }
    call = call->outer;
  }
  return attribute;
}

const Attribute* find_attribute(const Node& node, std::string_view name, const FunctionCall* call) {
  return resolve(node.attribute(name), call);
}

const Graph& subgraph(const Node& node, std::string_view name, const FunctionCall* call) {
  const Attribute* attribute = find_attribute(node, name, call);
  if (attribute == nullptr || !attribute->graph)
    throw tenon::ValueError("it has no graph " + quoted(name));
  return *attribute->graph;
}

Value attribute_value(ModelFile& file, const Attribute& attribute, const Parameter& parameter) {
  tenon_value value{};
  using tenon::detail::give_result;
  switch (attribute.kind) {
    case AttributeKind::integer:
      if (parameter.kind == "dtype")
        give_dtype(attribute.integer, value);
      else if (parameter.kind == "bool")
        give_result(attribute.integer != 0, &value);
      else if (parameter.kind == "float")
        give_result(static_cast<double>(attribute.integer), &value);
      else
        give_result(attribute.integer, &value);
      break;
    case AttributeKind::number:
      give_result(attribute.number, &value);
      break;
    case AttributeKind::text:
      give_result(std::string(attribute.text), &value);
      break;
    case AttributeKind::integers:
      give_result(attribute.integers, &value);
      break;
    case AttributeKind::numbers:
      give_result(attribute.numbers, &value);
      break;
    case AttributeKind::texts: {
      std::vector<std::string> texts(attribute.texts.begin(), attribute.texts.end());
      give_result(texts, &value);
      break;
    }
    case AttributeKind::tensor:
      give_result(file.tensor(*attribute.tensor), &value);
      break;
    default:
      throw tenon::NotImplementedError("the attribute " + quoted(attribute.name) +
                                       " is of a kind that ops do not take");
  }
  return Value(value);
}

Value literal_value(const Json& literal, const Parameter& parameter) {
  tenon_value value{};
  using tenon::detail::give_result;
  if (literal.is_array()) {
    if (parameter.kind == "float") {
      std::vector<double> list;
      for (int64_t i = 0; i < literal.size(); ++i) list.push_back(literal[i].number());
      give_result(list, &value);
    } else if (parameter.kind == "str") {
      std::vector<std::string> list;
      for (int64_t i = 0; i < literal.size(); ++i) list.push_back(literal[i].text());
      give_result(list, &value);
    } else {
      std::vector<int64_t> list;
      for (int64_t i = 0; i < literal.size(); ++i) list.push_back(literal[i].integer());
      give_result(list, &value);
    }
  } else if (literal.is_text()) {
    give_result(literal.text(), &value);
  } else if (literal.is_bool()) {
    give_result(literal.as_bool(), &value);
  } else if (parameter.kind == "dtype" && literal.is_integer()) {
    give_dtype(literal.integer(), value);
  } else if (parameter.kind == "bool" && literal.is_integer()) {
    give_result(literal.integer() != 0, &value);
  } else if (parameter.kind == "float" && literal.is_number()) {
    give_result(literal.number(), &value);
  } else if (literal.is_integer()) {
    give_result(literal.integer(), &value);
  } else if (literal.is_number()) {
    give_result(literal.number(), &value);
  }
  return Value(value);
}

Tensor constant_tensor(ModelFile& file, const Attribute& attribute) {
  switch (attribute.kind) {
    case AttributeKind::tensor:
      return file.tensor(*attribute.tensor);
    case AttributeKind::number:
      return tenon::full(tenon::IntList(), attribute.number, tenon::f32);
    case AttributeKind::integer:
      return tenon::full(tenon::IntList(), attribute.integer, tenon::i64);
    case AttributeKind::numbers: {
      const std::vector<float> list(attribute.numbers.begin(), attribute.numbers.end());
      return tenon::from_range(list.begin(), list.end());
    }
    case AttributeKind::integers:
      return tenon::from_range(attribute.integers.begin(), attribute.integers.end());
    default:
      throw tenon::NotImplementedError("its value is neither a number nor a tensor of numbers");
  }
}

}  // namespace onnx
