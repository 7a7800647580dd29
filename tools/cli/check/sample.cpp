// Arguments to try an op with.
#include "check_sample.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/parallel.hpp>
#include <tenon/text.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::DType;
using tenon::Json;
using tenon::Scalar;
using tenon::Tensor;
using tenon::Value;
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

// ---- calls ----

namespace {

uint64_t hashed(const std::string& text, uint64_t seed) {
  uint64_t hash = 14695981039346656037u ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// Numbers that keep their distance from each other and, where the range has both signs, from zero:
// maxima and kinks stay where they are when one is moved a little.
Tensor make_tensor(const TensorSpec& spec, uint64_t& state) {
  const Tensor result = tenon::empty_tensor(
      tenon::IntList(spec.shape.data(), static_cast<int64_t>(spec.shape.size())), spec.dtype);
  const auto count = static_cast<size_t>(result.numel());
  const auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  std::vector<double> numbers = spec.values;
  if (numbers.empty()) {
    for (size_t i = 0; i < count; ++i)
      numbers.push_back((static_cast<double>(i) + 0.3 + 0.4 * draw()) / static_cast<double>(count));
    for (size_t i = count; i > 1; --i)
      std::swap(numbers[i - 1], numbers[static_cast<size_t>(draw() * static_cast<double>(i))]);
    for (double& number : numbers) {
      number = spec.low + (spec.high - spec.low) * number;
      if (spec.low < 0 && spec.high > 0 && std::abs(number) < 0.01 * spec.high)
        number = 0.02 * spec.high;
    }
  }
  tenon::visit(spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* to = result.data<T>();
    for (size_t i = 0; i < count; ++i) {
      const double number = numbers[i % numbers.size()];
      if constexpr (std::is_same_v<T, bool>)
        to[i] = number > 0;
      else if constexpr (std::is_integral_v<T>)
        to[i] = static_cast<T>(std::floor(number));
      else
        to[i] = static_cast<T>(number);
    }
  });
  return result;
}

}  // namespace

SampleCall::SampleCall(const std::string& op, const Sample& sample, uint64_t seed)
    : op_(op), sample_(sample) {
  make_tensors(op, seed);
}

SampleCall::SampleCall(const tenon::Module& module, const Sample& sample, uint64_t seed)
    : module_(module), sample_(sample) {
  for (SampleValue& value : sample_.values) {
    for (TensorSpec& spec : value.tensors) {
      if (spec.dtype == tenon::f64) spec.dtype = tenon::f32;
    }
  }
  make_tensors(module.type(), seed);
}

void SampleCall::make_tensors(const std::string& name, uint64_t seed) {
  uint64_t state = hashed(name, seed);
  for (size_t v = 0; v < sample_.values.size(); ++v) {
    for (const TensorSpec& spec : sample_.values[v].tensors) {
      tensors.push_back(make_tensor(spec, state));
      places.push_back({v, spec.requires_grad && tenon::is_floating(spec.dtype)});
    }
  }
}

std::vector<Value> SampleCall::operator()(const std::vector<Tensor>& given, uint64_t draw) const {
  return call(given, draw, nullptr, nullptr);
}
std::vector<Value> SampleCall::with(const std::string& keyword, const Tensor& tensor) const {
  return call(tensors, 1, &keyword, &tensor);
}

std::vector<Value> SampleCall::call(const std::vector<Tensor>& given, uint64_t draw,
                                    const std::string* keyword, const Tensor* extra) const {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;
  const auto add = [&](const std::string& name, const tenon::Argument& argument) {
    names.push_back({name.data(), static_cast<int64_t>(name.size())});
    values.push_back(argument.value());
  };
  size_t next = 0;
  for (const SampleValue& value : sample_.values) {
    switch (value.kind) {
      case Kind::none:
        add(value.name, tenon::none);
        break;
      case Kind::tensor:
        add(value.name, given[next++]);
        break;
      case Kind::tensors:
        add(value.name,
            tenon::TensorList(given.data() + next, static_cast<int64_t>(value.tensors.size())));
        next += value.tensors.size();
        break;
      case Kind::scalar:
        add(value.name, value.scalar);
        break;
      case Kind::text:
        add(value.name, value.text);
        break;
      case Kind::dtype:
        add(value.name, value.dtype);
        break;
      case Kind::integers:
        add(value.name, value.integers);
        break;
      case Kind::numbers:
        add(value.name, value.numbers);
        break;
      case Kind::document:
        add(value.name, value.document);
        break;
    }
  }
  if (keyword != nullptr) add(*keyword, *extra);
  tenon::seed_generator(draw);
  return run(names, values);
}

std::vector<Value> SampleCall::run(const std::vector<tenon_string>& names,
                                   const std::vector<tenon_value>& values) const {
  const tenon_value* const none = nullptr;
  const auto given = static_cast<int64_t>(values.size());
  std::vector<tenon_value> results(tenon::detail::max_results);
  int64_t count = 0;
  if (module_.defined()) {
    tenon::detail::check(tenon::host().module_call, module_.handle(), none, int64_t{0},
                         names.data(), values.data(), given, results.data(), int64_t{-1});
    tenon::detail::check(tenon::host().module_forward, module_.handle(),
                         static_cast<tenon_string*>(nullptr), &count);
  } else {
    count = tenon::host().op_result_count(op_->handle());
    tenon::detail::check(tenon::host().op_call_keywords, op_->handle(), none, int64_t{0},
                         names.data(), values.data(), given, results.data());
  }
  std::vector<Value> list;
  for (int64_t r = 0; r < count; ++r) list.emplace_back(results[static_cast<size_t>(r)]);
  return list;
}

std::vector<Tensor> tensors_of(const std::vector<Value>& results) {
  std::vector<Tensor> list;
  for (const Value& result : results) {
    if (result.is_tensor()) list.push_back(result.tensor());
    if (result.get().tag != TENON_VALUE_TENSOR_LIST) continue;
    for (Tensor& tensor : result.tensors()) list.push_back(std::move(tensor));
  }
  return list;
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
  spec.low = document["low"].number(tenon::is_floating(spec.dtype) ? -1 : 0);
  spec.high = document["high"].number(tenon::is_floating(spec.dtype) ? 1 : 2);
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
                                          {"mutation", &Sample::mutation}};
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

namespace {
// Both directions, and gradients of the right dtype, unless they are switched off.
tenon::GradcheckOptions checked_by_default() {
  tenon::GradcheckOptions options;
  options.check_forward_ad = options.check_grad_dtypes = true;
  return options;
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
    sample.gradcheck = checked_by_default();
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

// ---- samples that are generated ----

namespace {

using Shape = std::vector<int64_t>;

SampleValue tensor_value(Shape shape, DType dtype = tenon::f64) {
  SampleValue value;
  value.kind = Kind::tensor;
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.dtype = dtype;
  if (!tenon::is_floating(dtype)) {
    spec.low = dtype == tenon::boolean ? -1 : 0;
    spec.high = dtype == tenon::boolean ? 1 : 2;
  }
  value.tensors.push_back(std::move(spec));
  return value;
}
SampleValue scalar_value(const Scalar& scalar) {
  SampleValue value;
  value.kind = Kind::scalar;
  value.scalar = scalar;
  return value;
}
SampleValue integers_value(Shape list) {
  SampleValue value;
  value.kind = Kind::integers;
  value.integers = std::move(list);
  return value;
}

bool names_indices(const std::string& name) {
  for (const char* word : {"index", "indices", "target", "label", "ids"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  return false;
}

std::vector<SampleValue> tensor_choices(const DeclaredType& type, const Shape& base) {
  std::vector<SampleValue> list;
  const Shape reversed(base.rbegin(), base.rend());
  if (names_indices(type.name)) list.push_back(tensor_value(base, tenon::i64));
  list.push_back(tensor_value(base));
  if (!names_indices(type.name)) list.push_back(tensor_value(base, tenon::i64));
  list.push_back(tensor_value(base, tenon::boolean));
  if (base.empty()) return list;
  if (reversed != base) list.push_back(tensor_value(reversed));
  if (base.size() > 1) {
    list.push_back(tensor_value({base.back()}));
    list.push_back(tensor_value({base.front()}));
    list.push_back(tensor_value({base.front()}, tenon::i64));
  }
  list.push_back(tensor_value({4, base.back()}));
  if (base.size() > 2) {
    Shape weight(base.size(), 2);
    weight[0] = 3;
    weight[1] = base[1];
    list.push_back(tensor_value(weight));
  }
  list.push_back(tensor_value({}));
  return list;
}

// What a parameter may be tried with, simplest first; empty: nothing is known to try.
std::vector<SampleValue> choices(const DeclaredType& type, const Shape& base) {
  std::vector<SampleValue> list;
  if (type.optional && !type.has_default) list.emplace_back();
  const auto repeated = [&](int64_t number) {
    return Shape(static_cast<size_t>(type.length), number);
  };
  if (type.is_tensor() && type.list) {
    for (const SampleValue& one : tensor_choices(type, base)) {
      SampleValue both = one;
      both.kind = Kind::tensors;
      both.tensors.push_back(one.tensors[0]);
      if (type.length > 0) both.tensors.resize(static_cast<size_t>(type.length), one.tensors[0]);
      list.push_back(std::move(both));
    }
  } else if (type.is_tensor()) {
    const std::vector<SampleValue> tensors = tensor_choices(type, base);
    list.insert(list.end(), tensors.begin(), tensors.end());
  } else if (type.base == "int" && type.list && type.length > 0) {
    for (const int64_t number : {2, 1, 0, 3}) list.push_back(integers_value(repeated(number)));
  } else if (type.base == "int" && type.list) {
    Shape descending, first(base.size(), 1), counted_up;
    int64_t count = 1;
    for (size_t i = 0; i < base.size(); ++i) {
      descending.push_back(static_cast<int64_t>(base.size() - 1 - i));
      count *= base[i];
    }
    for (const Shape& shape :
         {base, descending, Shape{count}, Shape{0}, Shape{1}, first, Shape{2},
          base.empty() ? Shape{} : Shape{base.back()}, Shape{2, 3}, Shape{1, 2, 4, 4}}) {
      list.push_back(integers_value(shape));
    }
  } else if (type.base == "int") {
    for (const int64_t number : {1, 0, 2, 3, -1}) list.push_back(scalar_value(number));
  } else if (type.base == "float" && type.list) {
    SampleValue value;
    value.kind = Kind::numbers;
    value.numbers.assign(type.length > 0 ? static_cast<size_t>(type.length) : 2, 0.5);
    list.push_back(value);
  } else if (type.base == "float") {
    for (const double number : {0.5, 2.0, 0.0}) list.push_back(scalar_value(number));
  } else if (type.base == "Scalar") {
    list.push_back(scalar_value(0.5));
    list.push_back(scalar_value(int64_t{2}));
    list.push_back(scalar_value(2.5));
  } else if (type.base == "bool" && !type.list) {
    list.push_back(scalar_value(false));
    list.push_back(scalar_value(true));
  } else if (type.base == "dtype") {
    SampleValue value;
    value.kind = Kind::dtype;
    value.dtype = tenon::f64;
    list.push_back(value);
  }
  for (SampleValue& value : list) value.name = type.name;
  return list;
}

// Domains: everywhere, positive, above one.
constexpr double kRanges[][2] = {{-1, 1}, {0.1, 0.9}, {1.1, 2}};

Sample in_range(Sample sample, const double (&range)[2]) {
  for (SampleValue& value : sample.values) {
    for (TensorSpec& spec : value.tensors) {
      if (!tenon::is_floating(spec.dtype)) continue;
      spec.low = range[0];
      spec.high = range[1];
    }
  }
  return sample;
}

// Index vectors in the order of their sums: all first choices, then one second choice, ...
class Odometer {
 public:
  explicit Odometer(std::vector<size_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {
    for (const size_t size : sizes_) most_ += size - 1;
  }
  const std::vector<size_t>& at() const { return at_; }
  // False when all have been seen.
  bool next() {
    for (;;) {
      if (!step()) {
        if (++sum_ > most_) return false;
        std::fill(at_.begin(), at_.end(), 0);
      }
      size_t sum = 0;
      for (const size_t i : at_) sum += i;
      if (sum == sum_) return true;
    }
  }

 private:
  bool step() {
    for (size_t i = 0; i < at_.size(); ++i) {
      if (++at_[i] < std::min(sizes_[i], sum_ + 1)) return true;
      at_[i] = 0;
    }
    return false;
  }
  std::vector<size_t> sizes_, at_;
  size_t sum_ = 0, most_ = 0;
};

constexpr int kMostTries = 1500;  // for each base shape

}  // namespace

Generated generate_samples(const std::vector<DeclaredType>& parameters,
                           const std::function<bool(const Sample&)>& accepts,
                           const std::string* last_refusal, const std::vector<Shape>& given_bases) {
  static const std::vector<Shape> op_bases = {{2, 3}, {3}, {1, 2, 4, 4}, {3, 3}, {2, 2, 3}, {}};
  Generated generated;
  std::vector<const DeclaredType*> required, options;
  bool has_tensors = false;
  for (const DeclaredType& parameter : parameters) {
    (parameter.has_default ? options : required).push_back(&parameter);
    has_tensors = has_tensors || (!parameter.has_default && parameter.is_tensor());
  }
  const std::vector<Shape>& bases = given_bases.empty() ? op_bases : given_bases;
  std::string refusal;
  Shape first_base;
  for (const Shape& base : bases) {
    if (generated.samples.size() >= 3 || (!has_tensors && !generated.samples.empty())) break;
    std::vector<std::vector<SampleValue>> all;
    std::vector<size_t> sizes;
    for (const DeclaredType* parameter : required) {
      all.push_back(choices(*parameter, base));
      if (all.back().empty()) {
        generated.reason =
            format_text("no arguments are known to try for '{} {}'; give the definition `samples`",
                        parameter->base, parameter->name);
        return generated;
      }
      sizes.push_back(all.back().size());
    }
    Odometer odometer(sizes);
    bool found = false;
    for (int tries = 0; tries < kMostTries && !found; ++tries) {
      Sample sample;
      sample.gradcheck = checked_by_default();
      for (size_t i = 0; i < all.size(); ++i) sample.values.push_back(all[i][odometer.at()[i]]);
      for (const auto& range : kRanges) {
        const Sample candidate = in_range(sample, range);
        if (!accepts(candidate)) continue;
        if (generated.samples.empty()) first_base = base;
        generated.samples.push_back(candidate);
        found = true;
        break;
      }
      if (refusal.empty()) refusal = *last_refusal;
      if (!odometer.next()) break;
    }
  }
  if (generated.samples.empty()) {
    generated.reason = format_text(
        "no arguments that it takes could be generated ({}); give the definition `samples`",
        refusal);
    return generated;
  }
  // Each option in turn, once away from its default.
  const Sample first = generated.samples[0];
  for (const DeclaredType* option : options) {
    if (option->is_out() || option->base == "dtype") continue;
    for (const SampleValue& value : choices(*option, first_base)) {
      if (value.kind == Kind::scalar && value.scalar.is_bool() &&
          value.scalar.to<bool>() == (option->default_text == "True"))
        continue;
      if (value.kind == Kind::scalar && !value.scalar.is_bool() &&
          value.scalar.to<double>() == std::strtod(option->default_text.c_str(), nullptr))
        continue;
      Sample sample = first;
      sample.values.push_back(value);
      if (!accepts(sample)) continue;
      generated.samples.push_back(std::move(sample));
      break;
    }
  }
  return generated;
}

}  // namespace cli
