// Arguments made from a sample, and calls with them.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include <tenon/abi/facts.h>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/module_file.hpp>

#include "format.hpp"
#include "sample.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;
using Kind = SampleValue::Kind;

namespace {

uint64_t hashed(const std::string& text, uint64_t seed) {
  uint64_t hash = TENON_FNV1A_64 ^ seed;
  for (const char c : text) hash = TENON_FNV1A_64_NEXT(hash, c);
  return hash;
}

}  // namespace

Tensor make_tensor(const TensorSpec& spec, uint64_t& state) {
  const tenon::IntList shape(spec.shape.data(), static_cast<int64_t>(spec.shape.size()));
  size_t count = tenon::is_complex(spec.dtype) ? 2 : 1;
  for (const int64_t size : spec.shape) count *= static_cast<size_t>(size);
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
  return filled_with(shape, spec.dtype, numbers);
}

namespace {

// Some draws are used: a call that begins the sequence again shows.
constexpr int64_t kDrawsBefore = 1000;
void begin_draws(uint64_t draw) {
  tenon::seed_generator(draw);
  tenon::reserve_draws(kDrawsBefore);
}

}  // namespace

bool continues_draws(uint64_t draw) {
  const tenon::Draws after = tenon::generator_state();
  begin_draws(draw);
  const tenon::Draws before = tenon::generator_state();
  return after.seed == before.seed && after.offset >= before.offset;
}

SampleCall::SampleCall(const std::string& op, Sample sample, uint64_t seed)
    : op_(op), sample_(std::move(sample)) {
  prepare(op, seed);
}

namespace {

void use_singles(Sample& sample) {
  for (SampleValue& value : sample.values) {
    for (TensorSpec& spec : value.tensors) {
      if (spec.dtype == tenon::f64) spec.dtype = tenon::f32;
    }
  }
}

}  // namespace

SampleCall::SampleCall(const tenon::Module& module, Sample sample, uint64_t seed)
    : module_(module), sample_(std::move(sample)) {
  use_singles(sample_);
  prepare(module.type(), seed);
}

namespace {

// A call beside the sample's own, which uses the same files.
SampleCall call_of(const SampleStep& step, const Sample& sample, uint64_t seed) {
  Sample arguments = *step.arguments;
  arguments.files = sample.files;
  return {step.op, arguments, seed};
}

}  // namespace

void SampleCall::prepare(const std::string& name, uint64_t seed) {
  uint64_t state = hashed(name, seed);
  for (size_t v = 0; v < sample_.values.size(); ++v) {
    if (sample_.values[v].kind == Kind::result)
      before_.push_back(call_of(*sample_.values[v].call, sample_, seed));
    for (const TensorSpec& spec : sample_.values[v].tensors) {
      tensors.push_back(make_tensor(spec, state));
      places.push_back({v, spec.requires_grad && tenon::is_differentiable(spec.dtype)});
    }
  }
  if (sample_.then != nullptr)
    then_ = std::make_shared<const SampleCall>(call_of(*sample_.then, sample_, seed));
}

std::vector<Value> SampleCall::operator()(const std::vector<Tensor>& given, uint64_t draw) const {
  if (sample_.files != nullptr) sample_.files->clear();
  return call(given, draw, nullptr, nullptr);
}
std::vector<Value> SampleCall::with(const std::string& keyword, const Tensor& tensor) const {
  if (sample_.files != nullptr) sample_.files->clear();
  return call(tensors, 1, &keyword, &tensor);
}

// Arguments by name as a call takes them, with what they are made of.
class SampleArguments {
 public:
  explicit SampleArguments(const SampleFiles* files) : files_(files) {}
  void add(const std::string& name, const tenon::Argument& argument) {
    names.push_back({name.data(), static_cast<int64_t>(name.size())});
    values.push_back(argument.value());
  }
  void add_text(const std::string& name, const TextSpec& text) { add(name, kept(text)); }
  void add_texts(const std::string& name, const std::vector<TextSpec>& texts) {
    std::vector<tenon_string>& list = lists_.emplace_back();
    for (const TextSpec& text : texts) {
      const std::string& one = kept(text);
      list.push_back({one.data(), static_cast<int64_t>(one.size())});
    }
    tenon_value value{TENON_VALUE_STRING_LIST, static_cast<uint32_t>(list.size()), {0}};
    value.as.strings = list.data();
    add(name, tenon::Argument(value));
  }
  void add_result(const std::string& name, Value result) {
    add(name, tenon::Argument(results_.emplace_back(std::move(result)).get()));
  }

  std::vector<tenon_string> names;
  std::vector<tenon_value> values;

 private:
  const std::string& kept(const TextSpec& text) {
    return texts_.emplace_back(text.file && files_ != nullptr ? files_->path(text.text)
                                                              : text.text);
  }
  const SampleFiles* files_;
  std::deque<std::string> texts_;
  std::deque<std::vector<tenon_string>> lists_;
  std::deque<Value> results_;
};

void SampleCall::gather(SampleArguments& arguments, const std::vector<Tensor>& given,
                        uint64_t draw) const {
  size_t next = 0, before = 0;
  for (const SampleValue& value : sample_.values) {
    switch (value.kind) {
      case Kind::none:
        arguments.add(value.name, tenon::none);
        break;
      case Kind::tensor:
        arguments.add(value.name, given[next++]);
        break;
      case Kind::tensors:
        arguments.add(value.name, tenon::TensorList(given.data() + next,
                                                    static_cast<int64_t>(value.tensors.size())));
        next += value.tensors.size();
        break;
      case Kind::scalar:
        arguments.add(value.name, value.scalar);
        break;
      case Kind::text:
        arguments.add_text(value.name, value.texts[0]);
        break;
      case Kind::texts:
        arguments.add_texts(value.name, value.texts);
        break;
      case Kind::dtype:
        arguments.add(value.name, value.dtype);
        break;
      case Kind::integers:
        arguments.add(value.name, value.integers);
        break;
      case Kind::numbers:
        arguments.add(value.name, value.numbers);
        break;
      case Kind::document:
        arguments.add(value.name, value.document);
        break;
      case Kind::result: {
        const SampleCall& first = before_[before++];
        std::vector<Value> results = first.call(copied(first.tensors), draw, nullptr, nullptr);
        arguments.add_result(value.name,
                             std::move(results[static_cast<size_t>(value.call->result)]));
        break;
      }
    }
  }
}

std::vector<Value> SampleCall::call(const std::vector<Tensor>& given, uint64_t draw,
                                    const std::string* keyword, const Tensor* extra) const {
  SampleArguments arguments(sample_.files.get());
  gather(arguments, given, draw);
  if (keyword != nullptr) arguments.add(*keyword, *extra);
  begin_draws(draw);
  std::vector<Value> results = run(arguments.names, arguments.values);
  if (then_ != nullptr) {
    for (Value& result : then_->call(copied(then_->tensors), draw, nullptr, nullptr))
      results.push_back(std::move(result));
  }
  return results;
}

std::vector<Value> SampleCall::run(const std::vector<tenon_string>& names,
                                   const std::vector<tenon_value>& values) const {
  const tenon_value* const none = nullptr;
  const auto given = static_cast<int64_t>(values.size());
  std::vector<tenon_value> results(tenon::detail::max_results);
  int64_t count = 0;
  if (module_.defined()) {
    tenon::detail::check(tenon::service::modules().call, module_.handle(), none, int64_t{0},
                         names.data(), values.data(), given, results.data(), int64_t{-1});
    tenon::detail::check(tenon::service::modules().forward, module_.handle(),
                         static_cast<tenon_string*>(nullptr), &count);
  } else {
    count = tenon::service::ops().result_count(op_->handle());
    tenon::detail::check(tenon::service::ops().call_keywords, op_->handle(), none, int64_t{0},
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

void prepare_sample(Sample& sample, const std::string& folder, uint64_t seed) {
  const bool names = name_files(sample.dump());
  if (names) sample.files = std::make_shared<const SampleFiles>(folder, true);
  for (const SampleStep& step : sample.prepare) {
    if (step.op.empty()) {
      sample.files->write(step.file, step.content);
      continue;
    }
    const SampleCall call = call_of(step, sample, seed);
    call(call.tensors);
  }
  if (names) sample.files = std::make_shared<const SampleFiles>(folder);
}

tenon::Module make_module(const std::string& type, const Sample& sample, uint64_t seed) {
  const bool plain =
      std::all_of(sample.values.begin(), sample.values.end(), [](const SampleValue& value) {
        return value.tensors.empty() && value.kind != Kind::result &&
               std::none_of(value.texts.begin(), value.texts.end(),
                            [](const TextSpec& text) { return text.file; });
      });
  if (plain) {  // as a config has it: modules inside it are documents
    tenon::JsonObject object;
    object.set("type", type);
    for (const SampleValue& value : sample.values) object.set(value.name, value.json());
    tenon::seed_generator(seed);
    return tenon::state::create_module(object.json());
  }
  SampleCall call(sample);
  use_singles(call.sample_);
  call.prepare(type, 0);  // attributes are the same for every seed
  SampleArguments arguments(sample.files.get());
  call.gather(arguments, call.tensors, 1);
  // Modules among the attributes are made first.
  std::deque<tenon::Module> inside;
  for (size_t v = 0; v < sample.values.size(); ++v) {
    const tenon::Json& document = sample.values[v].document;
    if (document.is_object() && document["type"].is_text())
      arguments.values[v] =
          tenon::Argument(inside.emplace_back(tenon::state::create_module(document))).value();
  }
  tenon::seed_generator(seed);
  tenon_module* handle = nullptr;
  tenon::detail::check(tenon::service::modules().create, type.c_str(),
                       static_cast<const tenon_value*>(nullptr), int64_t{0}, arguments.names.data(),
                       arguments.values.data(), static_cast<int64_t>(arguments.values.size()),
                       &handle);
  return tenon::Module::take(handle);
}

}  // namespace cli
