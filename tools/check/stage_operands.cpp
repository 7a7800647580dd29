// Stage "operands": operands that are broadcast, dimensions counted from the end, a tensor that
// was changed since an earlier call, what errno holds.
#include <algorithm>
#include <array>
#include <cerrno>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// ---- broadcasting ----

struct Narrow {
  const char* name;
  // Sizes of an operand that broadcasts to `shape`.
  std::vector<int64_t> (*sizes)(const std::vector<int64_t>& shape);
};
constexpr std::array kNarrow{
    Narrow{"without dimensions",
           [](const std::vector<int64_t>&) { return std::vector<int64_t>{}; }},
    Narrow{"of one element", [](const std::vector<int64_t>&) { return std::vector<int64_t>{1}; }},
    Narrow{"of one row",
           [](const std::vector<int64_t>& shape) { return std::vector<int64_t>{shape.back()}; }},
    Narrow{"of one column",
           [](const std::vector<int64_t>& shape) {
             std::vector<int64_t> sizes = shape;
             sizes.back() = 1;
             return sizes;
           }},
};

// The first elements of `tensor` under `sizes`, and the same broadcast to its shape.
std::pair<Tensor, Tensor> narrowed(const Tensor& tensor, const std::vector<int64_t>& sizes) {
  std::vector<double> numbers = numbers_of(tensor);
  const Tensor small = with_elements(
      tenon::empty_tensor(tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size())),
                          tensor.dtype()),
      numbers);
  const Tensor whole = tenon::empty_tensor(tensor.shape(), tensor.dtype());
  tenon::copy_elements(whole, small);
  return {small, whole};
}

void check_broadcasting(OpCheck& check, const Sample& sample, bool single) {
  const SampleCall call = check.call_of(sample);
  const std::vector<Tensor> tensors = single ? in_single(call.tensors) : call.tensors;
  if (tensors.size() < 2 || tensors[0].dim() < 2 || tensors[0].sizes() != tensors[1].sizes())
    return;
  int agreed = 0;
  std::string breach;
  for (const size_t t : {size_t{0}, size_t{1}}) {
    for (const Narrow& narrow : kNarrow) {
      std::vector<Tensor> small = copied(tensors), whole = copied(tensors);
      std::tie(small[t], whole[t]) = narrowed(tensors[t], narrow.sizes(tensors[t].sizes()));
      const auto expected = check.attempt(sample, call, whole);
      const auto found = check.attempt(sample, call, small);
      if (!expected || !found) continue;
      const std::string what = difference(*expected, *found, single ? kSingle : kExact);
      if (what.empty())
        ++agreed;
      else if (breach.empty())
        breach = format_text("once with '{}' {} and once with the same elements in full, {}",
                             sample.values[call.places[t].value].name, narrow.name, what);
    }
  }
  // If most forms are broadcast, all must be.
  if (agreed >= 3 && !breach.empty()) check.find("broadcast", breach, &sample);
}

// ---- dimensions from the end ----

// The numbers of an `int` or `int[]`; empty for other values.
std::vector<int64_t> integers_of(const SampleValue& value) {
  if (value.kind == SampleValue::Kind::integers) return value.integers;
  if (value.kind != SampleValue::Kind::scalar || value.scalar.is_bool()) return {};
  return {value.scalar.to<int64_t>()};
}
Sample with_integers(Sample sample, size_t at, const std::vector<int64_t>& integers) {
  SampleValue& value = sample.values[at];
  if (value.kind == SampleValue::Kind::integers)
    value.integers = integers;
  else
    value.scalar = integers[0];
  return sample;
}
std::string assignment_text(const SampleValue& value) {
  Sample one;
  one.values.push_back(value);
  return one.dump();
}

// Which of the dimensions are counted from the end: each alone, then all.
std::vector<std::vector<size_t>> counted_from_end(const std::vector<int64_t>& dimensions) {
  std::vector<size_t> all;
  std::vector<std::vector<size_t>> choices;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] < 0) continue;
    all.push_back(i);
    choices.push_back({i});
  }
  if (all.size() > 1) choices.push_back(all);
  return choices;
}

// A list may be of counts, as that of `tile`, which no number of dimensions bounds.
bool counts_something_else(OpCheck& check, const Sample& sample, size_t at, int64_t rank) {
  if (sample.values[at].kind != SampleValue::Kind::integers) return false;
  const std::vector<int64_t>& given = sample.values[at].integers;
  for (size_t i = 0; i < given.size(); ++i) {
    std::vector<int64_t> beyond = given;
    beyond[i] = rank + static_cast<int64_t>(given.size()) + 1;
    const Sample other = with_integers(sample, at, beyond);
    const SampleCall call = check.call_of(other);
    if (check.attempt(other, call, call.tensors)) return true;
  }
  return false;
}

void check_dimensions_of(OpCheck& check, const Sample& sample, const SampleCall& call, size_t at) {
  const std::vector<int64_t> dimensions = integers_of(sample.values[at]);
  const std::vector<std::vector<size_t>> choices = counted_from_end(dimensions);
  if (choices.empty() || counts_something_else(check, sample, at, call.tensors[0].dim())) return;
  const auto expected = check.attempt(sample, call, copied(call.tensors));
  if (!expected) return;
  for (const std::vector<size_t>& choice : choices) {
    std::string breach;
    // Some ops count the dimensions of their result, which has as many more as they add.
    const auto most = call.tensors[0].dim() + static_cast<int64_t>(dimensions.size());
    for (int64_t rank = call.tensors[0].dim(); rank <= most; ++rank) {
      std::vector<int64_t> counted = dimensions;
      for (const size_t i : choice) counted[i] -= rank;
      const Sample other = with_integers(sample, at, counted);
      const SampleCall again = check.call_of(other);
      const auto found = check.attempt(other, again, again.tensors);
      if (!found) continue;
      const std::string what = difference(*expected, *found, kExact);
      if (what.empty()) {
        breach.clear();
        break;
      }
      if (breach.empty())
        breach =
            format_text("once with {} and once with {}, {}", assignment_text(sample.values[at]),
                        assignment_text(other.values[at]), what);
    }
    if (!breach.empty()) check.find("negative-dim", breach, &sample);
  }
}

void check_dimensions(OpCheck& check, const Sample& sample) {
  const SampleCall call = check.call_of(sample);
  if (call.tensors.empty()) return;
  for (size_t v = 0; v < sample.values.size(); ++v) {
    if (names_dimension(check.parameter_of(sample, v))) check_dimensions_of(check, sample, call, v);
  }
}

// ---- calls before ----

void check_earlier_calls(OpCheck& check, const Sample& sample) {
  if (check.mutates(sample)) return;
  const SampleCall call = check.call_of(sample);
  std::vector<Tensor> changing = copied(call.tensors);
  std::vector<Tensor> others;
  for (const Tensor& tensor : changing) {
    std::vector<double> numbers = tensor.defined() ? numbers_of(tensor) : std::vector<double>{};
    if (!numbers.empty() && tenon::is_differentiable(tensor.dtype())) {
      for (double& number : numbers) number = number * 0.75;
    }
    others.push_back(numbers.empty() ? tensor : with_elements(tensor, numbers));
  }
  const auto first = check.attempt(sample, call, changing);
  if (!first) return;
  // An object is made of its components, which no letter of a schema can name.
  std::vector<Tensor> results, objects;
  for (const Tensor& result : tensors_of(*first))
    (!result.defined() || has_data(result) ? results : objects).push_back(result);
  const auto before = bytes_of(results), before_objects = bytes_of(objects);
  for (size_t t = 0; t < changing.size(); ++t) {
    if (changing[t].defined()) tenon::copy_elements(changing[t], others[t]);
  }
  if (check.aliased.empty() && bytes_of(results) != before)
    check.find("undeclared-alias", "the result changes with the argument after the call", &sample);
  if (bytes_of(objects) != before_objects)
    check.listener.note("the object that it returns is in the memory of an argument");
  const auto after = bytes_of(tensors_of(*first));
  const auto found = check.attempt(sample, call, changing);
  const auto expected = check.attempt(sample, call, copied(others));
  if (!found || !expected) return;
  const std::string what = difference(*expected, *found, kExact);
  if (!what.empty())
    check.find("stale",
               format_text("once with new tensors and once with those of an earlier call, changed "
                           "since, {}",
                           what),
               &sample);
  if (check.aliased.empty() && bytes_of(tensors_of(*first)) != after)
    check.find("shared-result", "a later call with other arguments changes an earlier result",
               &sample);
}

// Memory of a result is its caller's, however many calls come later.
void check_later_calls(OpCheck& check, const Sample& sample) {
  constexpr int calls = 20;
  if (check.mutates(sample) || !check.aliased.empty()) return;
  std::vector<Tensor> kept;
  const SampleCall call = check.call_of(sample);
  for (int i = 0; i < calls; ++i) {
    const auto found = check.attempt(sample, call, copied(call.tensors));
    if (!found) return;
    for (const Tensor& result : tensors_of(*found)) {
      const auto shares = [&](const Tensor& other) { return shares_storage(other, result); };
      if (i > 0 && std::any_of(kept.begin(), kept.end(), shares))
        return check.find("shared-result",
                          "a later call returns memory that the result of an earlier one uses",
                          &sample);
    }
    for (const Tensor& result : tensors_of(*found)) kept.push_back(result);
  }
}

void check_errno(OpCheck& check, const Sample& sample) {
  const SampleCall call = check.call_of(sample);
  errno = 0;
  const auto expected = check.attempt(sample, call, copied(call.tensors));
  for (const int code : {ERANGE, EINTR}) {
    const SampleCall again = check.call_of(sample);
    errno = code;
    const auto found = check.attempt(sample, again, again.tensors);
    const std::string what =
        !expected || !found ? (expected.has_value() == found.has_value() ? "" : "it is refused")
                            : difference(*expected, *found, kExact);
    if (!what.empty())
      check.find(
          "errno",
          format_text("once with errno 0 and once with errno {} before the call, {}", code, what),
          &sample);
  }
}

}  // namespace

void check_operands(OpCheck& check) {
  if (check.random) return;
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic) continue;
    check.listener.trying(sample);
    check_broadcasting(check, sample, false);
    if (sample.precision) check_broadcasting(check, sample, true);
    check_dimensions(check, sample);
    check_earlier_calls(check, sample);
    check_later_calls(check, sample);
  }
  if (check.samples[0].deterministic) check_errno(check, check.samples[0]);
}

}  // namespace cli
