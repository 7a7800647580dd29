// Samples that are generated from a schema.
#include <algorithm>
#include <cstdlib>

#include "format.hpp"
#include "sample.hpp"

namespace cli {

using tenon::DType;
using tenon::Scalar;
using Kind = SampleValue::Kind;

namespace {

using Shape = std::vector<int64_t>;

SampleValue tensor_value(Shape shape, DType dtype = tenon::f64) {
  SampleValue value;
  value.kind = Kind::tensor;
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.dtype = dtype;
  if (!tenon::is_differentiable(dtype)) {
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

}  // namespace

std::vector<SampleValue> argument_choices(const DeclaredType& type, const Shape& base,
                                          const std::vector<std::string>& texts) {
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
  } else if (type.base == "str" && !type.list) {
    for (const std::string& text : texts) {
      SampleValue value;
      value.kind = Kind::text;
      value.texts.push_back({text, false});
      list.push_back(std::move(value));
    }
  }
  for (SampleValue& value : list) value.name = type.name;
  return list;
}

namespace {

// Domains: everywhere, positive, above one.
constexpr double kRanges[][2] = {{-1, 1}, {0.1, 0.9}, {1.1, 2}};

Sample in_range(Sample sample, const double (&range)[2]) {
  for (SampleValue& value : sample.values) {
    for (TensorSpec& spec : value.tensors) {
      if (!tenon::is_differentiable(spec.dtype)) continue;
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

// Lists of one and of three tensors in place of two.
void add_lengths(const Sample& first, const std::vector<DeclaredType>& parameters,
                 const std::function<bool(const Sample&)>& accepts, std::vector<Sample>& samples) {
  for (const size_t length : {size_t{3}, size_t{1}}) {
    Sample sample = first;
    bool changed = false;
    for (SampleValue& value : sample.values) {
      const auto type = std::find_if(parameters.begin(), parameters.end(),
                                     [&](const auto& entry) { return entry.name == value.name; });
      if (value.kind != Kind::tensors || type == parameters.end() || type->length > 0) continue;
      value.tensors.resize(length, value.tensors[0]);
      changed = true;
    }
    if (changed && accepts(sample)) samples.push_back(std::move(sample));
  }
}

}  // namespace

Generated generate_samples(const std::vector<DeclaredType>& parameters,
                           const std::function<bool(const Sample&)>& accepts,
                           const std::string* last_refusal, const std::vector<Shape>& given_bases,
                           const std::vector<std::string>& texts) {
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
      all.push_back(argument_choices(*parameter, base, texts));
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
  // Each option in turn, once away from its default; then all of them.
  const Sample first = generated.samples[0];
  Sample together = first;
  for (const DeclaredType* option : options) {
    if (option->is_out() || option->base == "dtype") continue;
    for (const SampleValue& value : argument_choices(*option, first_base, texts)) {
      if (value.kind == Kind::scalar && value.scalar.is_bool() &&
          value.scalar.to<bool>() == (option->default_text == "True"))
        continue;
      if (value.kind == Kind::scalar && !value.scalar.is_bool() &&
          value.scalar.to<double>() == std::strtod(option->default_text.c_str(), nullptr))
        continue;
      Sample sample = first;
      sample.values.push_back(value);
      if (!accepts(sample)) continue;
      together.values.push_back(value);
      generated.samples.push_back(std::move(sample));
      break;
    }
  }
  if (together.values.size() > first.values.size() + 1 && accepts(together))
    generated.samples.push_back(std::move(together));
  add_lengths(first, parameters, accepts, generated.samples);
  return generated;
}

}  // namespace cli
