// Inputs that fit the pattern of a rewrite.
#include "rewrite_inputs.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "format.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;
using Kind = SampleValue::Kind;
using Shape = std::vector<int64_t>;
namespace rewrites = tenon::rewrites;

namespace {

SampleValue tensor_value(Shape shape, tenon::DType dtype) {
  SampleValue value;
  value.kind = Kind::tensor;
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.dtype = dtype;
  value.tensors.push_back(std::move(spec));
  return value;
}
SampleValue scalar_value(const tenon::Scalar& scalar) {
  SampleValue value;
  value.kind = Kind::scalar;
  value.scalar = scalar;
  return value;
}

bool is_taken(const RewriteSlot& slot, const SampleValue& value) {
  const DeclaredType& type = slot.type;
  switch (value.kind) {
    case Kind::none:
      return type.optional;
    case Kind::tensor:
      return type.is_tensor() && !type.list;
    case Kind::tensors:
      return type.is_tensor() && type.list;
    case Kind::scalar:
      if (type.list) return type.length > 0;
      if (type.base == "int") return !value.scalar.is_floating() && !value.scalar.is_bool();
      if (type.base == "bool") return value.scalar.is_bool();
      return type.base != "Tensor" && type.base != "str" && type.base != "dtype";
    case Kind::integers:
      return type.list;
    case Kind::numbers:
      return type.list && type.base != "int";
    case Kind::text:
      return type.base == "str" && !type.list;
    case Kind::dtype:
      return type.base == "dtype";
    default:
      return false;
  }
}

// A number that a condition asks for, beside it, and what a wrong rule may take for it.
std::vector<double> numbers_near(const rewrites::Literal& hint) {
  double number = 0;
  if (hint.kind == rewrites::Literal::Kind::integer)
    number = static_cast<double>(hint.integer);
  else if (hint.kind == rewrites::Literal::Kind::number)
    number = hint.number;
  else
    return {};
  return {number, number * (1 + 1e-7), number * 0.5, number * 2, -number, number + 1, number - 1};
}

SampleValue named(SampleValue value, const std::string& name) {
  value.name = name;
  return value;
}

// Values that a slot is tried with, beside operands of the shapes `bases`.
std::vector<SampleValue> candidates(const RewriteSlot& slot, const std::vector<Shape>& bases,
                                    const std::vector<Sample>& samples,
                                    const std::string& parameter) {
  std::vector<SampleValue> list;
  const DeclaredType& type = slot.type;
  const auto add = [&](SampleValue value) {
    if (is_taken(slot, value)) list.push_back(named(std::move(value), type.name));
  };
  for (const rewrites::Literal& hint : slot.hints) {
    if (const auto value = value_of(hint)) {
      add(*value);
      if (!slot.single || value->kind != Kind::scalar || value->scalar.is_bool()) continue;
      SampleValue tensor = tensor_value({}, tenon::f64);
      tensor.tensors[0].values = {value->scalar.to<double>()};
      add(tensor);
      tensor.tensors[0].shape = {1};
      add(tensor);
    }
  }
  if (const auto value = default_value(type)) add(*value);
  if (slot.single) add(tensor_value({}, tenon::f64));
  if (type.is_tensor() && !type.list) {
    for (const Shape& base : bases) add(tensor_value(base, tenon::f64));
  }
  for (const Sample& sample : samples) {
    for (const SampleValue& value : sample.values) {
      if (value.name == parameter) add(value);
    }
  }
  DeclaredType required = type;
  required.has_default = false;
  for (const Shape& base : bases) {
    if (type.is_tensor() && base.size() > 1) {
      Shape last = base;
      std::swap(last[last.size() - 1], last[last.size() - 2]);
      add(tensor_value(last, tenon::f64));
      add(tensor_value({base[1]}, tenon::f64));
      Shape channels(base.size() - 1, 1);
      channels[0] = base[1];
      add(tensor_value(channels, tenon::f64));
    }
    for (const SampleValue& value : argument_choices(required, base)) add(value);
    if (!type.is_tensor()) break;
  }
  if (bases.empty()) {
    if (type.is_tensor() && !type.list) {
      add(tensor_value({2, 3}, tenon::f64));
      add(tensor_value({1, 2, 4, 4}, tenon::f64));
    }
    for (const SampleValue& value : argument_choices(required, {2, 3})) add(value);
  }
  return list;
}

std::vector<Sample> samples_of(const PatternCall& call) {
  std::vector<Sample> samples;
  try {
    if (!call.op.samples.empty()) samples = parse_samples(call.op.samples, call.op.parameters);
  } catch (const tenon::Error&) {  // a finding of the op's own check
  }
  samples.erase(std::remove_if(samples.begin(), samples.end(),
                               [](const Sample& sample) { return !sample.prepare.empty(); }),
                samples.end());
  return samples;
}

class Search {
 public:
  Search(const RewritePattern& pattern, uint64_t seed)
      : pattern_(pattern), seed_(seed), choices_(seed) {
    for (const PatternCall& call : pattern.calls) samples_.push_back(samples_of(call));
  }

  std::vector<RewriteCase> run() {
    RewriteCase empty;
    empty.values.resize(pattern_.slots.size());
    empty.tensors.resize(pattern_.slots.size());
    for (size_t s = 0; s < pattern_.slots.size(); ++s)
      empty.values[s].name = pattern_.slots[s].type.name;
    bound_.assign(pattern_.slots.size(), false);
    extend(0, empty, {});
    return std::move(found_);
  }

 private:
  static constexpr size_t kMostFound = 48, kMostTries = 400, kMostOfCall = 6;

  void slots_in(const PatternArgument& argument, std::vector<size_t>& slots,
                std::vector<size_t>& calls) const {
    if (argument.kind == PatternArgument::Kind::slot) slots.push_back(argument.index);
    if (argument.kind == PatternArgument::Kind::call) calls.push_back(argument.index);
    for (const PatternArgument& item : argument.items) slots_in(item, slots, calls);
  }

  // Chooses values for the call `c` and for those behind it.
  void extend(size_t c, const RewriteCase& given, const std::vector<std::vector<Tensor>>& results) {
    if (found_.size() >= kMostFound) return;
    if (c == pattern_.calls.size()) {
      found_.push_back(given);
      return;
    }
    const PatternCall& call = pattern_.calls[c];
    std::vector<size_t> open;        // slots of the call that have no value
    std::vector<std::string> names;  // of their parameters
    std::vector<Shape> bases;
    const auto add_base = [&](const Tensor& tensor) {
      if (tensor.defined() && bases.size() < 4 &&
          std::find(bases.begin(), bases.end(), tensor.sizes()) == bases.end())
        bases.push_back(tensor.sizes());
    };
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      std::vector<size_t> slots, calls;
      slots_in(call.arguments[i], slots, calls);
      for (const size_t other : calls) {
        for (const Tensor& tensor : results[other]) add_base(tensor);
      }
      for (const size_t slot : slots) {
        for (const Tensor& tensor : given.tensors[slot]) add_base(tensor);
        if (bound_[slot] || std::find(open.begin(), open.end(), slot) != open.end()) continue;
        open.push_back(slot);
        names.push_back(call.op.parameters[i].name);
      }
    }
    const bool related = !bases.empty();
    for (const std::vector<Tensor>& tensors : given.tensors) {
      for (const Tensor& tensor : tensors) add_base(tensor);
    }
    std::vector<std::vector<SampleValue>> tries;  // each for all open slots
    if (open.empty()) {
      tries.emplace_back();
    } else {
      // Values that conditions ask for come before those of samples.
      const bool asked = std::any_of(open.begin(), open.end(), [&](size_t slot) {
        return pattern_.slots[slot].single || !pattern_.slots[slot].hints.empty();
      });
      if (asked) add_candidates(c, open, names, bases, tries);
      add_samples(c, open, names, tries);
      if (!related) add_generated(c, open, names, tries);
      if (!asked) add_candidates(c, open, names, bases, tries);
    }
    for (const size_t slot : open) bound_[slot] = true;
    size_t taken = 0;
    for (const std::vector<SampleValue>& one : tries) {
      RewriteCase next = given;
      for (size_t i = 0; i < open.size(); ++i) next.values[open[i]] = one[i];
      next.fill(seed_);
      std::vector<std::vector<Tensor>> with = results;
      try {
        with.push_back(call_of_pattern(call, next, results));
      } catch (const tenon::Error&) {
        continue;
      }
      const size_t before = found_.size();
      extend(c + 1, next, with);
      if (found_.size() > before && ++taken >= kMostOfCall + (c == 0 ? kMostOfCall : 0)) break;
    }
    for (const size_t slot : open) bound_[slot] = false;
  }

  void add_sample(const Sample& sample, const std::vector<size_t>& open,
                  const std::vector<std::string>& names,
                  std::vector<std::vector<SampleValue>>& tries) const {
    std::vector<SampleValue> one;
    for (size_t i = 0; i < open.size(); ++i) {
      const RewriteSlot& slot = pattern_.slots[open[i]];
      const auto value =
          std::find_if(sample.values.begin(), sample.values.end(),
                       [&](const SampleValue& other) { return other.name == names[i]; });
      const auto fallback = default_value(slot.type);
      if (value != sample.values.end() && is_taken(slot, *value))
        one.push_back(named(*value, slot.type.name));
      else if (fallback)
        one.push_back(named(*fallback, slot.type.name));
      else if (slot.type.optional)
        one.push_back(named({}, slot.type.name));
    }
    if (one.size() == open.size()) tries.push_back(std::move(one));
  }
  void add_samples(size_t c, const std::vector<size_t>& open, const std::vector<std::string>& names,
                   std::vector<std::vector<SampleValue>>& tries) const {
    for (const Sample& sample : samples_[c]) add_sample(sample, open, names, tries);
  }
  void add_generated(size_t c, const std::vector<size_t>& open,
                     const std::vector<std::string>& names,
                     std::vector<std::vector<SampleValue>>& tries) const {
    const PatternCall& call = pattern_.calls[c];
    std::string refusal;
    const auto accepts = [&](const Sample& sample) {
      try {
        const SampleCall made(call.op.name, sample, seed_);
        return !tensors_of(made(made.tensors)).empty();
      } catch (const tenon::Error& error) {
        refusal = error.what();
        return false;
      }
    };
    const Generated generated = generate_samples(call.op.parameters, accepts, &refusal);
    for (const Sample& sample : generated.samples) add_sample(sample, open, names, tries);
  }
  // First choices of all, then others in one or more of them.
  void add_candidates(size_t c, const std::vector<size_t>& open,
                      const std::vector<std::string>& names, const std::vector<Shape>& bases,
                      std::vector<std::vector<SampleValue>>& tries) {
    std::vector<std::vector<SampleValue>> all;
    for (size_t i = 0; i < open.size(); ++i) {
      all.push_back(candidates(pattern_.slots[open[i]], bases, samples_[c], names[i]));
      if (all.back().empty()) return;
    }
    const auto at = [&](const std::vector<size_t>& places) {
      std::vector<SampleValue> one;
      for (size_t i = 0; i < all.size(); ++i) one.push_back(all[i][places[i]]);
      tries.push_back(std::move(one));
    };
    std::vector<size_t> places(all.size(), 0);
    at(places);
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t k = 1; k < all[i].size(); ++k) {
        places.assign(all.size(), 0);
        places[i] = k;
        at(places);
      }
    }
    for (size_t n = 0; all.size() > 1 && n < kMostTries; ++n) {
      for (size_t i = 0; i < all.size(); ++i) places[i] = choices_.below(all[i].size());
      at(places);
    }
  }

  const RewritePattern& pattern_;
  const uint64_t seed_;
  Choices choices_;
  std::vector<std::vector<Sample>> samples_;  // by call
  std::vector<bool> bound_;                   // by slot
  std::vector<RewriteCase> found_;
};

}  // namespace

std::vector<RewriteCase> find_inputs(const RewritePattern& pattern, uint64_t seed) {
  std::vector<RewriteCase> found = Search(pattern, seed).run();
  for (RewriteCase& one : found) one.constants = least_constants(pattern);
  return found;
}

std::set<size_t> least_constants(const RewritePattern& pattern) {
  std::set<size_t> constants;
  for (size_t s = 0; s < pattern.slots.size(); ++s) {
    if (pattern.slots[s].constant) constants.insert(s);
  }
  return constants;
}
std::set<size_t> most_constants(const RewritePattern& pattern, const RewriteCase& given) {
  std::set<size_t> constants;
  bool first = true;
  for (size_t s = 0; s < pattern.slots.size(); ++s) {
    if (given.tensors[s].empty()) continue;
    if (!first || pattern.slots[s].constant) constants.insert(s);
    first = first && pattern.slots[s].constant;
  }
  return constants;
}

std::vector<SampleValue> other_values(const RewritePattern& pattern, const RewriteCase& given,
                                      size_t s) {
  const RewriteSlot& slot = pattern.slots[s];
  const SampleValue& value = given.values[s];
  std::vector<SampleValue> list;
  const auto add = [&](SampleValue other) {
    if (is_taken(slot, other)) list.push_back(named(std::move(other), value.name));
  };
  std::vector<double> numbers{0, 1, -1, 2, 3, 0.5, 1e-3};
  for (const rewrites::Literal& hint : slot.hints) {
    for (const double number : numbers_near(hint)) numbers.push_back(number);
    if (const auto written = value_of(hint)) add(*written);
  }
  if (slot.type.optional) add({});
  if (value.kind == Kind::tensor) {
    int64_t count = 1;
    for (const int64_t size : value.tensors[0].shape) count *= size;
    if (count != 1) return list;
    for (const double number : numbers) {
      SampleValue other = value;
      other.tensors[0].values = {number};
      add(other);
    }
    return list;
  }
  if (value.kind == Kind::integers || value.kind == Kind::numbers) {
    const size_t count =
        value.kind == Kind::integers ? value.integers.size() : value.numbers.size();
    for (size_t i = 0; i < count; ++i) {
      for (const double by : {1.0, -1.0, 2.0}) {
        SampleValue other = value;
        if (value.kind == Kind::integers)
          other.integers[i] += static_cast<int64_t>(by);
        else
          other.numbers[i] += by;
        add(other);
      }
    }
    if (count > 1) {  // all alike: int[2] of 2 and 2
      for (const int64_t number : {0, 1, 2, 3}) {
        SampleValue other = value;
        std::fill(other.integers.begin(), other.integers.end(), number);
        std::fill(other.numbers.begin(), other.numbers.end(), static_cast<double>(number));
        add(other);
      }
      SampleValue other = value;
      std::reverse(other.integers.begin(), other.integers.end());
      add(other);
    }
    return list;
  }
  if (slot.type.base == "bool") {
    add(scalar_value(true));
    add(scalar_value(false));
  } else if (slot.type.base == "int" || slot.type.base == "Scalar" || slot.type.base == "float" ||
             slot.type.base == "Tensor|Scalar") {
    for (const double number : numbers) {
      const auto whole = static_cast<int64_t>(number);
      if (static_cast<double>(whole) == number && slot.type.base != "float")
        add(scalar_value(whole));
      if (slot.type.base != "int") add(scalar_value(number));
    }
    if (slot.type.base == "int") add(scalar_value(int64_t{-2}));
  } else if (slot.type.base == "dtype") {
    for (const tenon::DType dtype : {tenon::f32, tenon::f64, tenon::i64, tenon::f16}) {
      SampleValue other = value;
      other.kind = Kind::dtype;
      other.dtype = dtype;
      add(other);
    }
  }
  return list;
}

std::vector<RewriteCase> other_attributes(const RewritePattern& pattern, const RewriteCase& given) {
  std::vector<RewriteCase> cases;
  for (size_t s = 0; s < pattern.slots.size(); ++s) {
    for (const SampleValue& value : other_values(pattern, given, s)) {
      RewriteCase other = given;
      other.values[s] = value;
      cases.push_back(std::move(other));
    }
  }
  return cases;
}

namespace {

constexpr double kMostElements = 1 << 15;  // elements of operands of other sizes

template <class Change>
RewriteCase with_shapes(const RewriteCase& given, Change&& change) {
  RewriteCase other = given;
  for (SampleValue& value : other.values) {
    for (TensorSpec& spec : value.tensors) change(spec.shape);
  }
  return other;
}
std::vector<int64_t> all_sizes(const RewriteCase& given) {
  std::vector<int64_t> sizes;
  for (const SampleValue& value : given.values) {
    for (const TensorSpec& spec : value.tensors) {
      for (const int64_t size : spec.shape) {
        if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
      }
    }
  }
  return sizes;
}
size_t highest_rank(const RewriteCase& given) {
  size_t rank = 0;
  for (const SampleValue& value : given.values) {
    for (const TensorSpec& spec : value.tensors) rank = std::max(rank, spec.shape.size());
  }
  return rank;
}

}  // namespace

std::vector<RewriteCase> other_sizes(const RewritePattern& pattern, const RewriteCase& given) {
  std::vector<RewriteCase> cases;
  std::vector<int64_t> targets{0, 1, 5, 8, 67, 2, 3, 4};
  targets.insert(targets.end(), pattern.sizes.begin(), pattern.sizes.end());
  const std::vector<int64_t> sizes = all_sizes(given);
  const auto exchange = [](Shape& shape, int64_t from, int64_t to) {
    std::replace(shape.begin(), shape.end(), from, to);
  };
  for (const int64_t from : sizes) {
    for (const int64_t to : targets) {
      if (from == to) continue;
      cases.push_back(with_shapes(given, [&](Shape& shape) { exchange(shape, from, to); }));
      RewriteCase both = cases.back();
      bool lists = false;
      for (SampleValue& value : both.values) {
        lists |= std::count(value.integers.begin(), value.integers.end(), from) > 0;
        exchange(value.integers, from, to);
      }
      if (lists) cases.push_back(std::move(both));
    }
  }
  for (const int64_t to : {0, 1, 4}) {
    cases.push_back(with_shapes(
        given, [&](Shape& shape) { std::fill(shape.begin(), shape.end(), int64_t{to}); }));
  }
  const size_t rank = highest_rank(given);
  for (const int64_t size : {int64_t{2}, int64_t{1}}) {
    for (int more = 1; more <= 3; ++more) {
      cases.push_back(with_shapes(given, [&](Shape& shape) {
        if (shape.size() == rank) shape.insert(shape.begin(), static_cast<size_t>(more), size);
      }));
      // Behind, where a dimension is counted from the front.
      cases.push_back(with_shapes(given, [&](Shape& shape) {
        if (shape.size() == rank) shape.insert(shape.end(), static_cast<size_t>(more), size);
      }));
    }
  }
  if (rank > 0) {
    cases.push_back(with_shapes(given, [&](Shape& shape) {
      if (shape.size() == rank) shape.erase(shape.begin());
    }));
  }
  // Each operand alone: broadcast, or of another size.
  for (size_t s = 0; s < given.values.size(); ++s) {
    for (size_t k = 0; k < given.values[s].tensors.size(); ++k) {
      const Shape shape = given.values[s].tensors[k].shape;
      const auto add = [&](Shape changed) {
        RewriteCase other = given;
        other.values[s].tensors[k].shape = std::move(changed);
        cases.push_back(std::move(other));
      };
      for (size_t d = 0; d < shape.size(); ++d) {
        for (const int64_t to : {int64_t{1}, int64_t{0}, shape[d] * 2, shape[d] + 1}) {
          Shape changed = shape;
          changed[d] = to;
          add(std::move(changed));
        }
      }
      add(Shape(shape.size(), 1));
      add({});
      add({1});
      Shape longer = shape;
      longer.insert(longer.begin(), 1);
      add(longer);
      longer[0] = 2;
      add(longer);
      if (!shape.empty()) {
        add(Shape(shape.begin() + 1, shape.end()));
        add({shape.back()});
        add({shape.front(), 1});
      }
    }
  }
  // Several dimensions of one size become 67 at once, which is too much for many of them.
  const double most = std::max(kMostElements, given.elements());
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [&](const RewriteCase& one) { return one.elements() > most; }),
              cases.end());
  return cases;
}

namespace {

RewriteCase with_dtype(const RewriteCase& given, tenon::DType dtype, size_t only) {
  RewriteCase other = given;
  for (size_t s = 0; s < other.values.size(); ++s) {
    if (only != SIZE_MAX && s != only) continue;
    for (TensorSpec& spec : other.values[s].tensors) {
      // Indices stay indices, where all change.
      if (only == SIZE_MAX && !tenon::is_differentiable(spec.dtype) &&
          tenon::is_differentiable(dtype))
        continue;
      if (spec.low > -1.5 && spec.values.empty() && !tenon::is_differentiable(dtype)) {
        spec.low = dtype == tenon::boolean ? -1 : dtype == tenon::u8 ? 0 : -9;
        spec.high = dtype == tenon::boolean ? 1 : 9;
      }
      spec.dtype = dtype;
    }
  }
  return other;
}

}  // namespace

std::vector<RewriteCase> other_dtypes(const RewriteCase& given) {
  constexpr tenon::DType dtypes[] = {tenon::f32, tenon::f64,     tenon::f16, tenon::bf16,
                                     tenon::i64, tenon::i32,     tenon::i16, tenon::i8,
                                     tenon::u8,  tenon::boolean, tenon::c64, tenon::c128};
  std::vector<RewriteCase> cases;
  for (const tenon::DType dtype : dtypes) cases.push_back(with_dtype(given, dtype, SIZE_MAX));
  for (size_t s = 0; s < given.values.size(); ++s) {
    if (given.values[s].tensors.empty()) continue;
    for (const tenon::DType dtype : dtypes) cases.push_back(with_dtype(given, dtype, s));
  }
  return cases;
}

RewriteCase changed_case(const RewritePattern& pattern, const RewriteCase& given,
                         Choices& choices) {
  std::vector<RewriteCase> cases;
  switch (choices.below(6)) {
    case 0:
      cases = other_dtypes(given);
      break;
    case 1:
    case 2:
      cases = other_attributes(pattern, given);
      break;
    default:
      cases = other_sizes(pattern, given);
  }
  return cases.empty() ? given : cases[choices.below(cases.size())];
}

}  // namespace cli
