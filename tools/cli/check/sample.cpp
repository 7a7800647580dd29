// Samples as JSON: written, and read from what an author gives.
#include "sample.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/text.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::DType;
using tenon::Json;
using tenon::Scalar;
using Kind = SampleValue::Kind;

// ---- samples as JSON ----

// Every try is reported before it is made, thousands for an op that takes few arguments: samples
// are written as text, without a document for each part.
namespace {

std::string json_number(double number) {
  return std::isfinite(number) ? short_number(number) : "null";
}
std::string json_text(const std::string& text) {
  return tenon::JsonArray().add(text).json()[0].dump();
}
template <class List, class Text>
std::string json_array(const List& list, Text&& text) {
  std::string out;
  for (const auto& item : list) out += format_text("{}{}", out.empty() ? "" : ",", text(item));
  return format_text("[{}]", out);
}
std::string json_integers(const std::vector<int64_t>& list) {
  return json_array(list, [](int64_t number) { return std::to_string(number); });
}

std::string spec_json(const TensorSpec& spec) {
  std::string out = format_text("{{\"shape\":{}", json_integers(spec.shape));
  if (spec.dtype != tenon::f64)
    out += format_text(",\"dtype\":\"{}\"", tenon::dtype_text(spec.dtype));
  if (!spec.values.empty()) {
    out += format_text(",\"values\":{}", json_array(spec.values, json_number));
  } else if (spec.low != -1 || spec.high != 1) {
    out += format_text(",\"low\":{},\"high\":{}", json_number(spec.low), json_number(spec.high));
  }
  return out + (spec.requires_grad ? "}" : ",\"requires_grad\":false}");
}

std::string value_json(const SampleValue& value) {
  switch (value.kind) {
    case Kind::tensor:
      return spec_json(value.tensors[0]);
    case Kind::tensors:
      return json_array(value.tensors, spec_json);
    case Kind::scalar:
      return value.scalar.is_bool()       ? (value.scalar.to<bool>() ? "true" : "false")
             : value.scalar.is_floating() ? json_number(value.scalar.to<double>())
                                          : std::to_string(value.scalar.to<int64_t>());
    case Kind::text:
      return json_text(value.text);
    case Kind::dtype:
      return json_text(tenon::dtype_text(value.dtype));
    case Kind::integers:
      return json_integers(value.integers);
    case Kind::numbers:
      return json_array(value.numbers, json_number);
    case Kind::document:
      return value.document.dump();
    default:
      return "null";
  }
}

}  // namespace

Json SampleValue::json() const { return Json::parse(value_json(*this)); }

std::string Sample::dump() const {
  std::string out;
  for (const SampleValue& value : values)
    out += format_text("{}{}\":{}", out.empty() ? "\"" : ",\"", value.name, value_json(value));
  return format_text("{{{}}}", out);
}

// ---- samples that an author gives ----

namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw tenon::ValueError(format_text("samples{}: {}", place, what));
}

DType dtype_named(const std::string& place, const std::string& name) {
#define TENON_CLI_DTYPE(constant, code, bytes, type, text, ...) \
  if (name == text) return static_cast<DType>(code);
  TENON_DTYPES(TENON_CLI_DTYPE)
#undef TENON_CLI_DTYPE
  refuse(place, format_text("there is no dtype '{}'", name));
}

std::vector<int64_t> read_integers(const Json& document) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < document.size(); ++i) list.push_back(document[i].integer());
  return list;
}
std::vector<double> read_numbers(const Json& document) {
  std::vector<double> list;
  for (int64_t i = 0; i < document.size(); ++i) list.push_back(document[i].number());
  return list;
}
bool is_list_of_numbers(const Json& document) {
  if (!document.is_container() || document.is_object()) return false;
  for (int64_t i = 0; i < document.size(); ++i) {
    if (!document[i].is_number()) return false;
  }
  return true;
}
bool is_truth(const Json& document) {
  return document.defined() && !document.is_null() && !document.is_container() &&
         !document.is_text() && !document.is_number();
}
bool is_integer(const Json& document) {
  return document.is_number() && document.dump().find_first_of(".eE") == std::string::npos;
}

constexpr int64_t kMostElements = 1 << 20;

TensorSpec read_tensor(const std::string& place, const Json& document) {
  if (!document.is_object())
    refuse(place, format_text("a tensor is an object such as {{\"shape\": [2, 3]}}, found {}",
                              document.dump()));
  const std::vector<std::string> known = {"shape", "dtype",  "low",
                                          "high",  "values", "requires_grad"};
  for (int64_t i = 0; i < document.size(); ++i) {
    if (std::find(known.begin(), known.end(), document.key(i)) == known.end()) {
      refuse(place, format_text("a tensor has no '{}'{}; it has {}", document.key(i),
                                tenon::suggestion(document.key(i), known), join(known, ", ")));
    }
  }
  TensorSpec spec;
  if (document["dtype"].defined()) spec.dtype = dtype_named(place, document["dtype"].text());
  if (document["values"].defined() &&
      (!is_list_of_numbers(document["values"]) || document["values"].size() == 0))
    refuse(format_text("{}/values", place), "not a flat list of numbers");
  spec.values = read_numbers(document["values"]);
  if (!document["shape"].defined()) {
    if (spec.values.empty()) refuse(place, "the tensor has no \"shape\"");
    spec.shape = {static_cast<int64_t>(spec.values.size())};
  } else {
    if (!is_list_of_numbers(document["shape"]))
      refuse(format_text("{}/shape", place), "not a list of sizes");
    spec.shape = read_integers(document["shape"]);
  }
  int64_t count = 1;
  for (const int64_t size : spec.shape) {
    if (size < 0 || size > kMostElements)
      refuse(format_text("{}/shape", place), "not a list of sizes");
    count = std::min(kMostElements + 1, count * size);
  }
  if (count > kMostElements || spec.shape.size() > TENON_MAX_RANK)
    refuse(format_text("{}/shape", place),
           format_text("too large for a check: at most {} elements of at most {} dimensions",
                       grouped(kMostElements), TENON_MAX_RANK));
  // Integers count from 0, so that they can be indices.
  spec.low = document["low"].number(tenon::is_differentiable(spec.dtype) ? -1 : 0);
  spec.high = document["high"].number(tenon::is_differentiable(spec.dtype) ? 1 : 2);
  if (!(spec.low <= spec.high)) refuse(place, "\"low\" is above \"high\"");
  spec.requires_grad = document["requires_grad"].as_bool(true);
  return spec;
}

// How to compare, and what not to expect: no parameter bears these names.
void read_options(const std::string& place, const Json& document, Sample& sample) {
  using Options = tenon::GradcheckOptions;
  struct Number {
    const char* name;
    double Options::*member;
  };
  struct Truth {
    const char* name;
    bool Options::*member;
  };
  struct Expectation {
    const char* name;
    bool Sample::*member;
  };
  constexpr Number numbers[] = {{"eps", &Options::eps},
                                {"atol", &Options::atol},
                                {"rtol", &Options::rtol},
                                {"nondet_tol", &Options::nondet_tol}};
  constexpr Truth truths[] = {{"check_undefined_grad", &Options::check_undefined_grad},
                              {"check_grad_dtypes", &Options::check_grad_dtypes},
                              {"check_batched_grad", &Options::check_batched_grad},
                              {"check_forward_ad", &Options::check_forward_ad},
                              {"check_backward_ad", &Options::check_backward_ad},
                              {"fast_mode", &Options::fast_mode}};
  constexpr Expectation expectations[] = {{"layouts", &Sample::layouts},
                                          {"precision", &Sample::precision},
                                          {"deterministic", &Sample::deterministic},
                                          {"mutation", &Sample::mutation},
                                          {"leaks", &Sample::leaks}};
  if (!document.is_object()) refuse(place, "not an object of options");
  std::vector<std::string> names;
  for (const Number& number : numbers) names.emplace_back(number.name);
  for (const Truth& truth : truths) names.emplace_back(truth.name);
  for (const Expectation& expectation : expectations) names.emplace_back(expectation.name);
  for (int64_t i = 0; i < document.size(); ++i) {
    const std::string option = document.key(i);
    bool known = false;
    for (const Number& number : numbers) {
      if (option != number.name || !document[i].is_number()) continue;
      sample.gradcheck.*number.member = document[i].number();
      known = true;
    }
    for (const Truth& truth : truths) {
      if (option != truth.name || !is_truth(document[i])) continue;
      sample.gradcheck.*truth.member = document[i].as_bool();
      known = true;
    }
    for (const Expectation& expectation : expectations) {
      if (option != expectation.name || !is_truth(document[i])) continue;
      sample.*expectation.member = document[i].as_bool();
      known = true;
    }
    if (!known)
      refuse(place, format_text("there is no option '{}' with {}; there are {}", option,
                                document[i].dump(), join(names, ", ")));
  }
}

SampleValue read_value(const std::string& place, const Json& document, const DeclaredType& type) {
  SampleValue value;
  value.name = type.name;
  if (document.is_null()) {
    if (!type.optional) refuse(place, format_text("'{}' cannot be null", type.name));
    return value;
  }
  if (type.is_tensor() && type.list) {
    value.kind = Kind::tensors;
    if (document.is_object() || !document.is_container()) refuse(place, "not a list of tensors");
    for (int64_t i = 0; i < document.size(); ++i)
      value.tensors.push_back(read_tensor(format_text("{}/{}", place, i), document[i]));
  } else if (type.base == "Tensor" || (type.is_tensor() && document.is_object())) {
    value.kind = Kind::tensor;
    value.tensors.push_back(read_tensor(place, document));
  } else if (type.base == "dtype") {
    value.kind = Kind::dtype;
    value.dtype = dtype_named(place, document.text());
  } else if (type.base == "Module" || type.base == "json") {
    value.kind = Kind::document;
    value.document = document;
  } else if (document.is_text()) {
    value.kind = Kind::text;
    value.text = document.text();
  } else if (is_truth(document)) {
    value.kind = Kind::scalar;
    value.scalar = Scalar(document.as_bool());
  } else if (document.is_number()) {
    value.kind = Kind::scalar;
    value.scalar = is_integer(document) ? Scalar(document.integer()) : Scalar(document.number());
  } else if (is_list_of_numbers(document) && type.base == "float") {
    value.kind = Kind::numbers;
    value.numbers = read_numbers(document);
  } else if (is_list_of_numbers(document)) {
    value.kind = Kind::integers;
    value.integers = read_integers(document);
  } else {
    refuse(place, format_text("'{}' cannot be made from {}", type.name, document.dump()));
  }
  return value;
}

}  // namespace

void apply_options(const std::string& json, Sample& sample) {
  if (!json.empty()) read_options("/check", Json::parse(json), sample);
}

std::vector<Sample> parse_samples(const std::string& json,
                                  const std::vector<DeclaredType>& parameters) {
  const Json list = Json::parse(json);
  if (!list.is_container() || list.is_object()) refuse("", "not a list of objects");
  std::vector<std::string> names;
  for (const DeclaredType& parameter : parameters) names.push_back(parameter.name);
  std::vector<Sample> samples;
  for (int64_t i = 0; i < list.size(); ++i) {
    const std::string place = format_text("/{}", i);
    const Json object = list[i];
    if (!object.is_object()) refuse(place, "not an object of arguments by name");
    Sample sample;
    for (int64_t k = 0; k < object.size(); ++k) {
      const std::string key = object.key(k);
      const std::string at = format_text("{}/{}", place, key);
      const auto found = std::find(names.begin(), names.end(), key);
      if (key == "check" && found == names.end()) {
        read_options(at, object[k], sample);
        continue;
      }
      if (found == names.end())
        refuse(at, format_text("there is no parameter '{}'{}", key, tenon::suggestion(key, names)));
      sample.values.push_back(
          read_value(at, object[k], parameters[static_cast<size_t>(found - names.begin())]));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace cli
