// Rules of export: which calls they are for, and the calls that they make.
#include <cmath>
#include <deque>
#include <map>

#include <tenon/detail/parameters.hpp>

#include "export/convert.hpp"
#include "program.hpp"

namespace onnx {

using tenon::Argument, tenon::DType, tenon::Json, tenon::Scalar, tenon::Tensor, tenon::Value;

namespace {

using Elements = ParameterPattern::Elements;

bool is_number(const tenon_value& value) {
  return value.tag >= TENON_VALUE_BOOL && value.tag <= TENON_VALUE_FLOAT;
}

bool has_elements(const tenon_value& value, Elements elements) {
  if (elements == Elements::any) return true;
  DType dtype = DType::none;
  if (value.tag == TENON_VALUE_TENSOR)
    dtype = Tensor::borrow(value.as.tensor).dtype();
  else if (is_number(value))
    dtype = value.tag == TENON_VALUE_BOOL  ? DType::boolean
            : value.tag == TENON_VALUE_INT ? DType::i64
                                           : DType::f32;
  if (dtype == DType::none) return false;
  if (elements == Elements::boolean) return dtype == DType::boolean;
  return tenon::is_floating(dtype) == (elements == Elements::floating);
}

bool admits(const ParameterPattern& pattern, const tenon_value& value) {
  if (pattern.only.defined()) return is_literal(value, pattern.only);
  if (value.tag == TENON_VALUE_NONE) return pattern.optional;
  if (pattern.rank >= 0 &&
      (value.tag != TENON_VALUE_TENSOR || Tensor::borrow(value.as.tensor).dim() != pattern.rank))
    return false;
  return has_elements(value, pattern.elements);
}

class Evaluator {
 public:
  Evaluator(const RecordedCall& call, ExportRules& rules) : call_(call), rules_(rules) {}

  std::vector<Value> run(const ExportRule& rule) {
    for (const auto& [name, expression] : rule.steps) steps_[name] = values(expression);
    std::vector<Value> results;
    for (const Expression& expression : rule.results)
      results.push_back(share(evaluate(expression)));
    return results;
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) { throw tenon::ValueError(what); }

  tenon_value evaluate(const Expression& expression) {
    const std::vector<tenon_value> found = values(expression);
    return found.empty() ? tenon_value{} : found[0];
  }
  std::vector<tenon_value> values(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::name:
        return {named(expression.name)};
      case Expression::Kind::element: {
        const auto step = steps_.find(expression.name);
        if (step == steps_.end() || expression.index >= step->second.size())
          refuse("'" + expression.name + "' has no result " + std::to_string(expression.index));
        return {step->second[expression.index]};
      }
      case Expression::Kind::literal:
        return {literal(expression.literal)};
      case Expression::Kind::list:
        return {list(expression.items)};
      case Expression::Kind::call:
        return call(expression);
      case Expression::Kind::function:
        return {function(expression)};
    }
    return {};
  }
  tenon_value named(const std::string& name) const {
    const auto step = steps_.find(name);
    if (step != steps_.end()) return step->second.at(0);
    const int64_t place = call_.signature->place_of(name);
    if (place < 0) refuse("the rule of " + call_.op + " names '" + name + "', which is not there");
    return call_.arguments[place];
  }

  // ---- values that live as long as the evaluation ----

  tenon_value keep(std::vector<int64_t> integers) {
    return Argument(integers_.emplace_back(std::move(integers))).value();
  }
  tenon_value keep(std::vector<double> numbers) {
    return Argument(numbers_.emplace_back(std::move(numbers))).value();
  }
  tenon_value keep(std::string text) {
    return Argument(texts_.emplace_back(std::move(text))).value();
  }
  tenon_value keep(const Tensor& tensor) { return Argument(tensors_.emplace_back(tensor)).value(); }
  tenon_value keep(std::vector<Tensor> tensors) {
    return Argument(lists_.emplace_back(std::move(tensors))).value();
  }

  tenon_value literal(const Json& json) {
    if (json.is_text()) return keep(json.text());
    if (json.is_bool()) return Argument(json.as_bool()).value();
    if (json.is_integer()) return Argument(json.integer()).value();
    if (json.is_number()) return Argument(json.number()).value();
    if (!json.is_array()) return {};
    std::vector<int64_t> integers;
    for (int64_t i = 0; i < json.size(); ++i) integers.push_back(json[i].integer());
    return keep(std::move(integers));
  }
  tenon_value list(const std::vector<Expression>& items) {
    std::vector<tenon_value> found;
    bool floating = false, tensors = false;
    for (const Expression& item : items) {
      found.push_back(evaluate(item));
      floating = floating || found.back().tag == TENON_VALUE_FLOAT;
      tensors = tensors || found.back().tag == TENON_VALUE_TENSOR;
    }
    if (tensors) {
      DType dtype = DType::none;
      for (const tenon_value& one : found) {
        if (one.tag == TENON_VALUE_TENSOR && dtype == DType::none)
          dtype = Tensor::borrow(one.as.tensor).dtype();
      }
      std::vector<Tensor> list;
      list.reserve(found.size());
      for (const tenon_value& one : found) {
        list.push_back(is_number(one) ? number(Scalar(one), dtype) : Tensor::borrow(one.as.tensor));
      }
      return keep(std::move(list));
    }
    if (floating) {
      std::vector<double> numbers;
      numbers.reserve(found.size());
      for (const tenon_value& one : found) numbers.push_back(Scalar(one).to<double>());
      return keep(std::move(numbers));
    }
    std::vector<int64_t> integers;
    integers.reserve(found.size());
    for (const tenon_value& one : found) integers.push_back(integer(one));
    return keep(std::move(integers));
  }
  static Tensor number(const Scalar& number, DType dtype) {
    const Tensor tensor = tenon::empty_tensor({}, dtype);
    tenon::fill_elements(tensor, number);
    return tensor;
  }

  // ---- calls ----

  std::vector<tenon_value> call(const Expression& expression) {
    std::vector<tenon_value> arguments;
    for (const Expression& item : expression.items) arguments.push_back(evaluate(item));
    return call(expression.name, std::move(arguments), expression.keywords);
  }
  std::vector<tenon_value> call(const std::string& name, std::vector<tenon_value> arguments,
                                const std::vector<std::string>& names) {
    const tenon::Op op(name);
    const OpSignature& signature = rules_.signature(op);
    DType dtype = DType::f32;
    for (const tenon_value& argument : arguments) {
      if (argument.tag != TENON_VALUE_TENSOR) continue;
      dtype = Tensor::borrow(argument.as.tensor).dtype();
      break;
    }
    std::vector<tenon_value> positional, keyword_values;
    std::vector<tenon_string> keywords;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const int64_t place =
          names[i].empty() ? static_cast<int64_t>(i) : signature.place_of(names[i]);
      const bool known = place >= 0 && place < static_cast<int64_t>(signature.parameters.size());
      // A number for a tensor is one in the dtype of the other operand.
      if (known && is_number(arguments[i])) {
        const OpParameter& parameter = signature.parameters[static_cast<size_t>(place)];
        if (parameter.tensor && !parameter.scalar && !parameter.list)
          arguments[i] = keep(number(Scalar(arguments[i]), dtype));
      }
      if (names[i].empty()) {
        positional.push_back(arguments[i]);
      } else {
        keywords.push_back(tenon::detail::string_of(names[i]));
        keyword_values.push_back(arguments[i]);
      }
    }
    tenon_value results[tenon::detail::max_results]{};
    tenon::detail::check(tenon::service::ops().call_keywords, op.handle(), positional.data(),
                         static_cast<int64_t>(positional.size()), keywords.data(),
                         keyword_values.data(), static_cast<int64_t>(keywords.size()),
                         static_cast<tenon_value*>(results));
    std::vector<tenon_value> given;
    for (int64_t i = 0; i < tenon::service::ops().result_count(op.handle()); ++i)
      given.push_back(owned_.emplace_back(results[i]).get());
    return given;
  }

  // ---- functions of shapes ----

  static int64_t integer(const tenon_value& value) {
    if (value.tag != TENON_VALUE_INT && value.tag != TENON_VALUE_BOOL)
      tenon::detail::throw_kind("a value that a rule reads as an integer", value, "an int");
    return value.as.integer;
  }
  static std::vector<int64_t> integers(const tenon_value& value) {
    if (value.tag == TENON_VALUE_INT) return {value.as.integer};
    if (value.tag != TENON_VALUE_INT_LIST)
      tenon::detail::throw_kind("a value that a rule reads as integers", value, "a list of ints");
    return {value.as.integers, value.as.integers + value.length};
  }
  static Tensor tensor(const tenon_value& value) {
    if (value.tag != TENON_VALUE_TENSOR)
      tenon::detail::throw_kind("a value that a rule reads as a tensor", value, "a Tensor");
    return Tensor::borrow(value.as.tensor);
  }
  static int64_t dimension(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

  tenon_value function(const Expression& expression) {
    const std::string& name = expression.name;
    const auto argument = [&](size_t i) {
      if (i >= expression.items.size())
        refuse("@" + name + " has " + std::to_string(expression.items.size()) + " arguments");
      return evaluate(expression.items[i]);
    };
    const auto number_at = [&](size_t i) { return integer(argument(i)); };
    if (name == "result") return keep(tensor(call_.results[0]).sizes());
    if (name == "sizes") return keep(result_sizes(number_at(0)));
    if (name == "shape") return keep(tensor(argument(0)).sizes());
    if (name == "rank") return Argument(tensor(argument(0)).dim()).value();
    if (name == "size") return Argument(tensor(argument(0)).size(number_at(1))).value();
    if (name == "count") return Argument(result_count()).value();
    if (name == "grid") return keep(grid(tensor(argument(0)), integers(argument(1))));
    if (name == "negative") return Argument(-number_at(0)).value();
    if (name == "or") return argument(0).tag != TENON_VALUE_NONE ? argument(0) : argument(1);
    if (name == "if") return argument(0).as.integer != 0 ? argument(1) : argument(2);
    if (name == "repeated")
      return keep(std::vector<int64_t>(static_cast<size_t>(number_at(1)), number_at(0)));
    if (name == "index") return keep(index(integers(argument(0))));
    if (name == "f32") return Argument(DType::f32).value();
    if (name == "bool") return Argument(DType::boolean).value();
    if (name == "add") return Argument(number_at(0) + number_at(1)).value();
    if (name == "range") return keep(range(number_at(0), number_at(1)));
    if (name == "length") return Argument(static_cast<int64_t>(argument(0).length)).value();
    if (name == "ones") return keep(std::vector<int64_t>(static_cast<size_t>(number_at(0)), 1));
    if (name == "joined") return keep(joined(integers(argument(0)), integers(argument(1))));
    if (name == "both_ends") return keep(both_ends(integers(argument(0)), number_at(1)));
    if (name == "pair") return keep(pair(integers(argument(0))));
    if (name == "windows" || name == "patches") {
      const Windows windows{pair(integers(argument(1))), pair(integers(argument(2))),
                            pair(integers(argument(3))), pair(integers(argument(4)))};
      const Tensor& input = tensor(argument(0));
      return name == "patches" ? keep(windows.shape(input))
                               : keep(index(windows.places(input, number_at(5))));
    }
    if (name == "from_zero") return keep(from_zero(integers(argument(0)), number_at(1)));
    if (name == "swapped") return keep(swapped(number_at(0), number_at(1), number_at(2)));
    if (name == "onnx_pads") return keep(padding(integers(argument(0)), number_at(1)));
    if (name == "integer") return keep(number(Scalar(number_at(0)), DType::i64));
    if (name == "minus_infinity") return Argument(-INFINITY).value();
    if (name == "inverse_root")
      return Argument(1 / std::sqrt(static_cast<double>(number_at(0)))).value();
    if (name == "each") return each(expression);
    refuse("the rule of " + call_.op + " calls '@" + name + "', which the exporter does not have");
  }
  int64_t result_count() const {
    const tenon_value& first = call_.results[0];
    return first.tag == TENON_VALUE_TENSOR_LIST ? static_cast<int64_t>(first.length)
                                                : call_.result_count;
  }
  static Tensor index(const std::vector<int64_t>& list) {
    return tenon::from_range(list.begin(), list.end());
  }
  // The window of a pool that makes a grid of this size, of windows beside each other.
  static std::vector<int64_t> grid(const Tensor& input, std::vector<int64_t> sizes) {
    const auto dims = static_cast<int64_t>(sizes.size());
    for (int64_t i = 0; i < dims; ++i) {
      const int64_t size = input.size(input.dim() - dims + i);
      int64_t& one = sizes[static_cast<size_t>(i)];
      if (one < 1 || size % one != 0)
        refuse("its windows are not of one size: " + std::to_string(size) +
               " elements do not divide into " + std::to_string(one));
      one = size / one;
    }
    return sizes;
  }
  std::vector<int64_t> result_sizes(int64_t dim) const {
    std::vector<int64_t> sizes;
    const tenon_value& list = call_.results[0];
    for (uint32_t i = 0; list.tag == TENON_VALUE_TENSOR_LIST && i < list.length; ++i)
      sizes.push_back(Tensor::borrow(list.as.tensors[i]).size(dim));
    return sizes;
  }
  static std::vector<int64_t> range(int64_t first, int64_t end) {
    std::vector<int64_t> list;
    for (int64_t i = first; i < end; ++i) list.push_back(i);
    return list;
  }
  static std::vector<int64_t> joined(std::vector<int64_t> list, const std::vector<int64_t>& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
  // Paddings of each dimension, in front and then behind.
  static std::vector<int64_t> both_ends(std::vector<int64_t> list, int64_t dims) {
    if (list.size() == 1) list.resize(static_cast<size_t>(dims), list[0]);
    return joined(list, list);
  }
  static std::vector<int64_t> pair(std::vector<int64_t> list) {
    list.resize(2, list.empty() ? 0 : list[0]);
    return list;
  }
  // Windows that move over the last two dimensions of an input [N, C, H, W].
  struct Windows {
    std::vector<int64_t> kernel, dilation, padding, stride;

    int64_t count(const Tensor& input, int64_t which) const {
      const auto i = static_cast<size_t>(which);
      const int64_t last = (kernel[i] - 1) * dilation[i] + 1;
      return (input.size(which + 2) + 2 * padding[i] - last) / stride[i] + 1;
    }
    // [N, C, kernel, windows, kernel, windows]
    std::vector<int64_t> shape(const Tensor& input) const {
      return {-1, input.size(1), kernel[0], count(input, 0), kernel[1], count(input, 1)};
    }
    // Indices along one of the dimensions of the padded input: for each place of the kernel, all windows.
    std::vector<int64_t> places(const Tensor& input, int64_t which) const {
      const auto i = static_cast<size_t>(which);
      std::vector<int64_t> list;
      for (int64_t k = 0; k < kernel[i]; ++k) {
        for (int64_t w = 0; w < count(input, which); ++w)
          list.push_back(k * dilation[i] + w * stride[i]);
      }
      return list;
    }
  };
  static std::vector<int64_t> from_zero(std::vector<int64_t> dims, int64_t rank) {
    for (int64_t& dim : dims) dim = dimension(dim, rank);
    return dims;
  }
  static std::vector<int64_t> swapped(int64_t a, int64_t b, int64_t rank) {
    std::vector<int64_t> order = range(0, rank);
    std::swap(order.at(static_cast<size_t>(dimension(a, rank))),
              order.at(static_cast<size_t>(dimension(b, rank))));
    return order;
  }
  // Pairs from the last dimension on, as ONNX has them: all in front, then all behind.
  static std::vector<int64_t> padding(const std::vector<int64_t>& pad, int64_t rank) {
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
    for (size_t i = 0; i + 1 < pad.size(); i += 2) {
      const auto dim = static_cast<size_t>(rank) - 1 - i / 2;
      pads.at(dim) = pad[i];
      pads.at(dim + static_cast<size_t>(rank)) = pad[i + 1];
    }
    return pads;
  }
  // @each(op, tensors, ...): the op's result for each tensor of the list.
  tenon_value each(const Expression& expression) {
    if (expression.items.size() < 2) refuse("@each takes an op and a list of tensors");
    const tenon_value list = evaluate(expression.items[1]);
    std::vector<Tensor> made;
    for (uint32_t i = 0; list.tag == TENON_VALUE_TENSOR_LIST && i < list.length; ++i) {
      std::vector<tenon_value> arguments{list};
      arguments[0].tag = TENON_VALUE_TENSOR;
      arguments[0].as.tensor = list.as.tensors[i];
      std::vector<std::string> names{""};
      for (size_t k = 2; k < expression.items.size(); ++k) {
        arguments.push_back(evaluate(expression.items[k]));
        names.push_back(expression.keywords[k]);
      }
      made.push_back(tensor(call(expression.items[0].name, std::move(arguments), names).at(0)));
    }
    return keep(std::move(made));
  }

  const RecordedCall& call_;
  ExportRules& rules_;
  std::map<std::string, std::vector<tenon_value>> steps_;
  std::deque<Value> owned_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<double>> numbers_;
  std::deque<std::string> texts_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
};

}  // namespace

bool admits(const ExportRule& rule, const RecordedCall& call) {
  const auto& parameters = call.signature->parameters;
  std::vector<bool> named(parameters.size());
  for (const ParameterPattern& pattern : rule.parameters) {
    const int64_t place = call.signature->place_of(pattern.name);
    if (place < 0)
      throw tenon::ValueError("a rule of export names the parameter '" + pattern.name +
                              "', which " + call.op + " does not have");
    named[static_cast<size_t>(place)] = true;
    if (!admits(pattern, call.arguments[place])) return false;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!named[i] && !is_literal(call.arguments[i], parameters[i].fallback)) return false;
  }
  return true;
}

std::vector<Value> evaluate(const ExportRule& rule, const RecordedCall& call, ExportRules& rules) {
  return Evaluator(call, rules).run(rule);
}

}  // namespace onnx
