// Conversions of operators, read backwards: the node that a call of an op is.
#include <algorithm>

#include <tenon/detail/parameters.hpp>

#include "export/convert.hpp"
#include "tensor_data.hpp"

namespace onnx {

using tenon::DType, tenon::Json, tenon::Scalar, tenon::Tensor;

namespace {

bool is_number(const tenon_value& value) {
  return value.tag >= TENON_VALUE_BOOL && value.tag <= TENON_VALUE_FLOAT;
}
// Attributes are f32 in a file.
bool same_number(double a, double b) { return static_cast<float>(a) == static_cast<float>(b); }

// Numbers of a list or of one value.
bool all_numbers(const tenon_value& value, std::vector<double>& numbers) {
  if (is_number(value)) {
    numbers.push_back(Scalar(value).to<double>());
  } else if (value.tag == TENON_VALUE_INT_LIST) {
    numbers.assign(value.as.integers, value.as.integers + value.length);
  } else if (value.tag == TENON_VALUE_FLOAT_LIST) {
    numbers.assign(value.as.numbers, value.as.numbers + value.length);
  } else if (value.tag == TENON_VALUE_BOOL_LIST) {
    numbers.assign(value.as.booleans, value.as.booleans + value.length);
  } else {
    return false;
  }
  return true;
}

// A tensor of integers or numbers, without dimensions or in one.
Tensor integer_tensor(const std::vector<int64_t>& integers) {
  return tenon::from_range(integers.begin(), integers.end());
}
Tensor number_tensor(const Scalar& number, DType dtype) {
  const Tensor tensor = tenon::empty_tensor({}, dtype);
  tenon::fill_elements(tensor, number);
  return tensor;
}

class Inverter {
 public:
  Inverter(Recorder& recorder, const Inverse& inverse, const RecordedCall& call,
           std::string& reason)
      : recorder_(recorder),
        rule_(*inverse.rule),
        call_(call),
        reason_(reason),
        inputs_(rule_.inputs.size()),
        attributes_(rule_.attributes.size()) {}

  bool run() {
    if (!match()) return false;
    std::vector<WrittenAttribute> attributes;
    for (size_t i = 0; i < attributes_.size(); ++i) {
      if (!add_attribute(i, attributes)) return false;
    }
    std::vector<int64_t> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!add_input(i, inputs)) return false;
    }
    while (!inputs.empty() && inputs.back() < 0) inputs.pop_back();
    recorder_.add_node(call_, rule_.type, rule_.domain, std::move(inputs), std::move(attributes),
                       outputs());
    return true;
  }

 private:
  struct Given {
    const tenon_value* value = nullptr;
    const OpParameter* parameter = nullptr;
  };

  bool fail(const std::string& why) {
    reason_ = rule_.type + " does not have " + why;
    return false;
  }

  bool match() {
    const auto& parameters = call_.signature->parameters;
    std::vector<bool> named(parameters.size());
    size_t at = 0;
    for (const RuleArgument& argument : rule_.arguments) {
      const int64_t found = argument.keyword.empty() ? static_cast<int64_t>(at)
                                                     : call_.signature->place_of(argument.keyword);
      ++at;
      if (found < 0 || found >= static_cast<int64_t>(parameters.size())) return false;
      const auto place = static_cast<size_t>(found);
      named[place] = true;
      const Given given{&call_.arguments[place], &parameters[place]};
      switch (argument.kind) {
        case RuleArgument::Kind::input:
          if (!place_input(argument.index, given)) return fail("two operands here");
          break;
        case RuleArgument::Kind::attribute:
          attributes_[argument.index] = given;
          break;
        case RuleArgument::Kind::literal:
          if (!is_literal(*given.value, argument.literal))
            return fail("this value of '" + given.parameter->name + "'");
          break;
        case RuleArgument::Kind::version:
          break;
        case RuleArgument::Kind::outputs:
          if (given.value->tag == TENON_VALUE_INT) outputs_ = given.value->as.integer;
          break;
      }
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!named[i] && !is_literal(call_.arguments[i], parameters[i].fallback))
        return fail("'" + parameters[i].name + "'");
    }
    return true;
  }

  // An input that the rule names twice is one tensor.
  bool place_input(size_t i, const Given& given) {
    const tenon_value* known = inputs_[i].value;
    inputs_[i] = given;
    return known == nullptr ||
           (known->tag == TENON_VALUE_TENSOR && given.value->tag == TENON_VALUE_TENSOR &&
            known->as.tensor == given.value->as.tensor);
  }
  bool add_attribute(size_t i, std::vector<WrittenAttribute>& attributes) {
    const RuleAttribute& rule = rule_.attributes[i];
    const Given& given = attributes_[i];
    if (given.value == nullptr) {
      // Rules of one value, and attributes that change nothing.
      if (rule.only.defined()) {
        if (rule.fallback.defined() && rule.fallback.dump() == rule.only.dump()) return true;
        attributes.push_back({rule.name, literal(rule.only)});
        return true;
      }
      return rule.fallback.defined() || rule.optional || fail("its attribute " + rule.name);
    }
    if (rule.only.defined() && !is_literal(*given.value, rule.only))
      return fail("this value of '" + given.parameter->name + "'");
    if (given.value->tag == TENON_VALUE_NONE)
      return rule.optional || rule.fallback.is_null() || fail("no " + rule.name);
    if (rule.fallback.defined() && is_literal(*given.value, rule.fallback)) return true;
    AttributeValue value;
    if (!attribute_value(rule, given, value)) return false;
    attributes.push_back({rule.name, std::move(value)});
    return true;
  }
  static AttributeValue literal(const Json& json) {
    if (json.is_text()) return json.text();
    if (json.is_bool()) return static_cast<int64_t>(json.as_bool());
    if (json.is_integer()) return json.integer();
    return json.number();
  }
  bool attribute_value(const RuleAttribute& rule, const Given& given, AttributeValue& made) {
    const tenon_value& value = *given.value;
    const bool floating = given.parameter->kind == "float" ||
                          (rule.fallback.is_number() && !rule.fallback.is_integer());
    switch (value.tag) {
      case TENON_VALUE_BOOL:
      case TENON_VALUE_INT:
        made = value.as.integer;
        if (floating) made = static_cast<double>(value.as.integer);
        return true;
      case TENON_VALUE_FLOAT:
        made = value.as.number;
        return true;
      case TENON_VALUE_STRING:
        made = std::string(value.as.string, value.length);
        return true;
      case TENON_VALUE_DTYPE:
        made = type_of_dtype(static_cast<DType>(value.as.integer));
        return true;
      case TENON_VALUE_INT_LIST:
        made = std::vector<int64_t>(value.as.integers, value.as.integers + value.length);
        return true;
      case TENON_VALUE_FLOAT_LIST:
        made = std::vector<double>(value.as.numbers, value.as.numbers + value.length);
        return true;
      case TENON_VALUE_STRING_LIST: {
        std::vector<std::string> texts;
        for (uint32_t i = 0; i < value.length; ++i)
          texts.emplace_back(value.as.strings[i].data,
                             static_cast<size_t>(value.as.strings[i].length));
        made = std::move(texts);
        return true;
      }
      default:
        return fail("an attribute of this kind for '" + given.parameter->name + "'");
    }
  }

  bool add_input(size_t i, std::vector<int64_t>& inputs) {
    const RuleInput& rule = rule_.inputs[i];
    const Given& given = inputs_[i];
    if (given.value == nullptr || given.value->tag == TENON_VALUE_NONE) {
      inputs.push_back(-1);
      return rule.optional || fail("a call without '" + rule.name + "'");
    }
    const tenon_value& value = *given.value;
    if (value.tag == TENON_VALUE_TENSOR_LIST) {
      if (!rule.variadic) return fail("a list for '" + rule.name + "'");
      for (uint32_t k = 0; k < value.length; ++k)
        inputs.push_back(recorder_.value_of(Tensor::borrow(value.as.tensors[k])));
      return true;
    }
    if (value.tag == TENON_VALUE_TENSOR) {
      Tensor tensor = Tensor::borrow(value.as.tensor);
      // Operators take tensors of one dtype.
      if (given.parameter->scalar && tensor.dtype() != common())
        tensor = recorder_.cast(call_, tensor, common());
      inputs.push_back(recorder_.value_of(tensor));
      return true;
    }
    Tensor constant;
    if (given.parameter->scalar && is_number(value)) {
      constant = number_tensor(Scalar(value), common());
    } else if (value.tag == TENON_VALUE_INT_LIST) {
      constant = integer_tensor({value.as.integers, value.as.integers + value.length});
    } else if (value.tag == TENON_VALUE_INT && given.parameter->kind == "int") {
      constant = integer_tensor({value.as.integer});
    } else if (value.tag == TENON_VALUE_FLOAT_LIST) {
      const std::vector<float> numbers(value.as.numbers, value.as.numbers + value.length);
      constant = tenon::from_range(numbers.begin(), numbers.end());
    } else if (is_number(value)) {
      constant =
          number_tensor(Scalar(value), value.tag == TENON_VALUE_BOOL ? DType::boolean : DType::f32);
    } else {
      return fail("a value of this kind for '" + rule.name + "'");
    }
    inputs.push_back(recorder_.value_of(constant));
    return true;
  }

  // The dtype of the operands that may be numbers.
  DType common() {
    if (common_ != DType::none) return common_;
    bool floating = false, number = false;
    for (size_t i = 0; i < call_.signature->parameters.size(); ++i) {
      const tenon_value& value = call_.arguments[i];
      if (!call_.signature->parameters[i].scalar) continue;
      if (value.tag == TENON_VALUE_TENSOR) {
        const DType dtype = Tensor::borrow(value.as.tensor).dtype();
        common_ = common_ == DType::none ? dtype : tenon::common_dtype(common_, dtype);
      }
      floating = floating || value.tag == TENON_VALUE_FLOAT;
      number = number || value.tag == TENON_VALUE_INT;
    }
    if (common_ == DType::none) common_ = floating ? DType::f32 : DType::i64;
    if (floating && !tenon::is_differentiable(common_)) common_ = DType::f32;
    if (number && common_ == DType::boolean) common_ = DType::i64;
    return common_;
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> list;
    for (int64_t i = 0; i < call_.result_count; ++i) {
      const tenon_value& value = call_.results[i];
      if (value.tag == TENON_VALUE_TENSOR_LIST) {
        for (uint32_t k = 0; k < value.length; ++k)
          list.push_back(Tensor::borrow(value.as.tensors[k]));
      } else {
        list.push_back(value.tag == TENON_VALUE_TENSOR ? Tensor::borrow(value.as.tensor)
                                                       : Tensor());
      }
    }
    if (outputs_ >= 0 && static_cast<size_t>(outputs_) < list.size())
      list.resize(static_cast<size_t>(outputs_));
    while (!list.empty() && !list.back().defined()) list.pop_back();
    return list;
  }

  Recorder& recorder_;
  const Rule& rule_;
  const RecordedCall& call_;
  std::string& reason_;
  std::vector<Given> inputs_, attributes_;
  int64_t outputs_ = -1;  // how many there are, where the rule says it
  DType common_ = DType::none;
};

}  // namespace

bool is_literal(const tenon_value& value, const Json& literal) {
  if (!literal.defined()) return false;
  if (value.tag == TENON_VALUE_NONE || literal.is_null())
    return value.tag == TENON_VALUE_NONE && literal.is_null();
  if (value.tag == TENON_VALUE_STRING)
    return literal.is_text() && literal.text() == std::string_view(value.as.string, value.length);
  std::vector<double> numbers;
  if (!all_numbers(value, numbers)) {
    return (value.tag == TENON_VALUE_STRING_LIST || value.tag == TENON_VALUE_TENSOR_LIST) &&
           value.length == 0 && literal.is_array() && literal.size() == 0;
  }
  const auto number_of = [](const Json& json) {
    return json.is_bool() ? static_cast<double>(json.as_bool()) : json.number();
  };
  if (literal.is_array()) {
    if (static_cast<size_t>(literal.size()) != numbers.size()) return false;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!same_number(numbers[i], literal[static_cast<int64_t>(i)].number())) return false;
    }
    return true;
  }
  if (!literal.is_number() && !literal.is_bool()) return false;
  // One number stands for a list of it.
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](double one) { return same_number(one, number_of(literal)); });
}

bool invert(Recorder& recorder, const Inverse& inverse, const RecordedCall& call,
            std::string& reason) {
  return Inverter(recorder, inverse, call, reason).run();
}

}  // namespace onnx
