// Calls of shipped ops as their samples write them, with operands that a test may replace.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/overridable.hpp>
#include <tenon/tenon.hpp>

namespace sample_calls {

using namespace tenon;

inline uint64_t draws = 1;
inline double drawn(double low, double high) {
  draws = draws * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * static_cast<double>(draws >> 11) / 9007199254740992.0;
}

inline std::vector<int64_t> integers(const Json& list) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < list.size(); ++i) values.push_back(list[i].integer());
  return values;
}

inline DType dtype_named(const std::string& name) {
#define TENON_TEST_DTYPE(constant, code, bytes, type, text, ...) \
  if (name == text || name == #type) return static_cast<DType>(code);
  TENON_ALL_DTYPES(TENON_TEST_DTYPE)
#undef TENON_TEST_DTYPE
  static const std::map<std::string, DType> codes{{"f64", f64}, {"f32", f32},  {"i64", i64},
                                                  {"i32", i32}, {"u8", u8},    {"bool", boolean},
                                                  {"c64", c64}, {"c128", c128}};
  const auto found = codes.find(name);
  return found == codes.end() ? DType::none : found->second;
}

// A tensor as samples write it; undefined where this test cannot make it.
inline Tensor tensor_of(const Json& written) {
  std::vector<int64_t> shape;
  std::vector<double> values;
  const std::function<void(const Json&, size_t)> read = [&](const Json& list, size_t depth) {
    if (list.is_number() || !list.is_container()) {
      values.push_back(list.is_number() ? list.number() : list.as_bool() ? 1 : 0);
      return;
    }
    if (depth == shape.size()) shape.push_back(list.size());
    for (int64_t i = 0; i < list.size(); ++i) read(list[i], depth + 1);
  };
  const bool given = written["values"].defined();
  if (given) read(written["values"], 0);
  if (written["shape"].defined()) shape = integers(written["shape"]);
  const DType dtype = written["dtype"].defined() ? dtype_named(written["dtype"].text()) : f64;
  if (dtype == DType::none || !(is_computed(dtype) || is_complex(dtype))) return {};
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const bool whole = !is_floating(dtype) && !is_complex(dtype);
  const double low = written["low"].defined() ? written["low"].number() : whole ? 0 : -1;
  const double high = written["high"].defined() ? written["high"].number() : whole ? 2 : 1;
  if (!given) values.clear();
  for (int64_t i = static_cast<int64_t>(values.size()); i < count; ++i)
    values.push_back(given ? values[static_cast<size_t>(i) % std::max<size_t>(values.size(), 1)]
                           : drawn(low, whole ? high + 1 : high));
  if (whole) {
    for (double& value : values) value = std::floor(value);
  }
  if (static_cast<int64_t>(values.size()) != count) {
    if (is_complex(dtype)) return {};  // pairs
    values.resize(static_cast<size_t>(count));
  }
  return reshape(contiguous_as(from_range(values.begin(), values.end()), dtype), shape);
}

struct Given {
  Tensor tensor;
  std::vector<Tensor> tensors;
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::string text;
  std::optional<Scalar> scalar;
  DType dtype = DType::none;
  int kind = 0;  // none, tensor, tensors, integers, numbers, text, scalar, dtype

  Argument argument() const {
    switch (kind) {
      case 1:
        return Argument(tensor);
      case 2:
        return Argument(tensors);
      case 3:
        return Argument(integers);
      case 4:
        return Argument(FloatList(numbers.data(), static_cast<int64_t>(numbers.size())));
      case 5:
        return Argument(std::string_view(text));
      case 6:
        return Argument(*scalar);
      case 7:
        return Argument(dtype);
      default:
        return Argument(none);
    }
  }
};
struct Case {
  std::string op;
  std::vector<std::string> names;
  std::vector<Given> values;
};

// Arguments of one sample; false where it has members that this test does not read.
inline bool read_case(const Json& sample, const std::map<std::string, std::string>& types,
                      Case& made) {
  for (int64_t member = 0; member < sample.size(); ++member) {
    const std::string name = sample.key(member);
    if (name == "check") continue;
    const auto type = types.find(name);
    if (type == types.end()) return false;  // prepare, then
    const Json value = sample[name];
    Given given;
    const bool list = value.is_container() && !value.is_object();
    if (type->second.find("Tensor") != std::string::npos && list) {
      given.kind = 2;
      for (int64_t i = 0; i < value.size(); ++i) {
        given.tensors.push_back(tensor_of(value[i]));
        if (!given.tensors.back().defined()) return false;
      }
    } else if (value.is_object()) {
      if (value["op"].defined() || value["file"].defined()) return false;
      given.kind = 1;
      given.tensor = tensor_of(value);
      if (!given.tensor.defined()) return false;
    } else if (list && type->second.find("float") != std::string::npos) {
      given.kind = 4;
      for (int64_t i = 0; i < value.size(); ++i) given.numbers.push_back(value[i].number());
    } else if (list) {
      if (type->second.find("int") == std::string::npos) return false;
      given.kind = 3;
      given.integers = integers(value);
    } else if (value.is_number()) {
      given.kind = 6;
      given.scalar = value.is_integer() ? Scalar(value.integer()) : Scalar(value.number());
    } else if (value.is_bool()) {
      given.kind = 6;
      given.scalar = Scalar(value.as_bool());
    } else if (!value.is_null()) {
      const bool dtype = type->second.find("dtype") == 0;
      given.kind = dtype ? 7 : 5;
      given.text = value.text();
      if (dtype) given.dtype = dtype_named(given.text);
    }
    made.names.push_back(name);
    made.values.push_back(given);
  }
  return true;
}

inline std::vector<Tensor> tensors_of(Value value) {
  if (value.get().tag == TENON_VALUE_TENSOR) return {value.tensor()};
  if (value.get().tag == TENON_VALUE_TENSOR_LIST) return value.tensors();
  throw TypeError("not a tensor");
}

// All tensors that the op gives.
inline std::vector<Tensor> called(const Case& one, const std::vector<Tensor>& operands) {
  size_t next = 0;
  std::vector<Given> values = one.values;
  for (Given& given : values) {
    if (given.kind == 1) given.tensor = operands[next++];
    for (Tensor& tensor : given.tensors) tensor = operands[next++];
  }
  std::vector<tenon_string> names;
  std::vector<tenon_value> named;
  for (size_t i = 0; i < values.size(); ++i) {
    names.push_back(detail::string_of(one.names[i]));
    named.push_back(values[i].argument().value());
  }
  const Op op(one.op);
  Results results = Results::of_count(service::ops().result_count(op.handle()));
  detail::check(service::ops().call_keywords, op.handle(), static_cast<const tenon_value*>(nullptr),
                int64_t{0}, names.data(), named.data(), static_cast<int64_t>(named.size()),
                results.slots());
  std::vector<Tensor> tensors;
  for (int64_t r = 0; r < results.size(); ++r) {
    for (const Tensor& tensor : tensors_of(results.take(r))) tensors.push_back(tensor);
  }
  return tensors;
}

inline std::vector<Tensor> operands_of(const Case& one) {
  std::vector<Tensor> operands;
  for (const Given& given : one.values) {
    if (given.kind == 1) operands.push_back(given.tensor);
    for (const Tensor& tensor : given.tensors) operands.push_back(tensor);
  }
  return operands;
}

// Calls visit(name, cases) for each op with samples of these plugins: those of its first samples, at most
// `most`, that can be written so.
template <class Visit>
void for_each_op(const std::set<std::string>& plugins, int64_t most, Visit&& visit) {
  const Json facts = document(Document::facts);
  for (int64_t p = 0; p < facts.size(); ++p) {
    if (plugins.count(facts[p]["id"].text()) == 0) continue;
    const Json declared = facts[p]["facts"]["ops"];
    for (int64_t i = 0; i < declared.size(); ++i) {
      if (!declared[i]["samples"].defined()) continue;
      const Json parameters = parse_schema(declared[i]["schema"].text())["parameters"];
      std::map<std::string, std::string> types;
      for (int64_t k = 0; k < parameters.size(); ++k)
        types[parameters[k]["name"].text()] = parameters[k]["type"].text();
      const Json samples = Json::parse(declared[i]["samples"].text());
      const std::string name = declared[i]["name"].text();
      std::vector<Case> cases;
      for (int64_t k = 0; k < std::min(samples.size(), most); ++k) {
        Case one;
        one.op = name;
        if (read_case(samples[k], types, one)) cases.push_back(std::move(one));
      }
      visit(name, cases);
    }
  }
}

}  // namespace sample_calls
