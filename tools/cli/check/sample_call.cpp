// Arguments made from a sample, and calls with them.
#include <cmath>

#include <tenon/parallel.hpp>

#include "format.hpp"
#include "sample.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;
using Kind = SampleValue::Kind;

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
  const auto count = static_cast<size_t>(number_count(result));
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
  tenon::visit(tenon::real_dtype(spec.dtype), [&](auto zero) {
    using T = decltype(zero);
    T* to = static_cast<T*>(result.view_record().data);
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
      places.push_back({v, spec.requires_grad && tenon::is_differentiable(spec.dtype)});
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

}  // namespace cli
