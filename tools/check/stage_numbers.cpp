// Stage "numbers": inf, nan, subnormal numbers and integers that no double holds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// Sums of f32 in another order, some terms of which are large.
constexpr Tolerance kWide{1e-2, 1e-3, false};

std::vector<Tensor> with_numbers(std::vector<Tensor> tensors, const std::vector<double>& numbers) {
  for (Tensor& tensor : tensors) {
    if (tensor.defined() && tenon::is_floating(tensor.dtype()))
      tensor = with_elements(tensor, numbers);
  }
  return tensors;
}

// ---- numbers that are rare ----

// Small tensors are repeated, so that vector loops and their tails see each number.
std::vector<Tensor> repeated(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors)
    result.push_back(tensor.defined() && tensor.dim() > 0 ? tiled(tensor, 0, 23) : tensor);
  return result;
}

void compare_layouts(OpCheck& check, const Sample& sample, const char* name,
                     const std::vector<Tensor>& tensors, const Tolerance& tolerance) {
  const SampleCall call = check.call_of(sample);
  const auto expected = check.attempt(sample, call, copied(tensors));
  if (!expected) return;
  for (size_t l = 0; l < 3; ++l) {
    std::vector<Tensor> changed;
    changed.reserve(tensors.size());
    for (const Tensor& tensor : tensors)
      changed.push_back(tensor.defined() ? kLayouts[l].make(tensor) : tensor);
    const auto found = check.attempt(sample, call, changed);
    if (!found) continue;
    const std::string what = difference(*expected, *found, tolerance);
    if (what.empty()) continue;
    check.find(
        "number",
        format_text("with {}, once contiguous and once with {}, {}", name, kLayouts[l].name, what),
        &sample);
    return;
  }
}

// The elements of `copies` copies in a row are those of one.
void compare_sizes(OpCheck& check, const Sample& sample, const char* name,
                   const std::vector<Tensor>& tensors, const Tolerance& tolerance) {
  const SampleCall call = check.call_of(sample);
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.dim() == 0) return;
  }
  const auto results = [&](const std::vector<Tensor>& given) -> std::vector<Tensor> {
    const auto pieces = check.attempt(sample, call, copied(given));
    return pieces ? readable(tensors_of(*pieces)) : std::vector<Tensor>{};
  };
  const auto of_copies = [&](int64_t count, const std::vector<Tensor>& of) {
    std::vector<Tensor> list;
    list.reserve(of.size());
    for (const Tensor& tensor : of)
      list.push_back(tensor.defined() && tensor.dim() > 0 ? tiled(tensor, 0, count) : tensor);
    return list;
  };
  // The law has to hold for ordinary numbers.
  const std::vector<Tensor> plain =
      sample.precision && tensors[0].dtype() == tenon::f32 ? in_single(call.tensors) : call.tensors;
  // Also where products neither vanish nor overflow.
  for (const std::vector<Tensor>& usual :
       {plain, with_numbers(plain, {1.25, -1.5, 0.75, 2.5, -3, 1.75})}) {
    const std::vector<Tensor> one = results(usual);
    if (one.empty() ||
        !difference(of_copies(23, one), results(of_copies(23, usual)), kSingle).empty())
      return;
  }
  const std::vector<Tensor> rare = results(tensors), many = results(of_copies(23, tensors));
  if (rare.empty() || many.empty()) return;
  const std::string what = difference(of_copies(23, rare), many, tolerance);
  if (!what.empty())
    check.find("number",
               format_text("with {}, once as 23 copies of a small call and once in one call of 23 "
                           "copies, the result{}",
                           name, what),
               &sample);
}

void check_rare_numbers(OpCheck& check, const Sample& sample) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const SampleCall call = check.call_of(sample);
  const std::vector<double> special = {inf, 0.5, nan, -0.25, -inf, 0.75, -0.0};
  for (const bool single : {false, true}) {
    if (single && !sample.precision) continue;
    const std::vector<Tensor> tensors = single ? in_single(call.tensors) : call.tensors;
    if (!has_floating(tensors)) return;
    const double least = single ? 1e-41 : 1e-310;
    const std::vector<double> subnormal = {least, 3 * least, -2 * least, 5 * least};
    const std::vector<Tensor> infinite = with_numbers(tensors, special),
                              tiny = with_numbers(tensors, subnormal),
                              wide = with_numbers(tensors, {37.5, -0.003, 120, -9.25, 1500, -80});
    const Tolerance usual = single ? kSingle : kExact,
                    rough = single ? kSubnormalSingle : kSubnormal;
    compare_layouts(check, sample, "inf and nan", repeated(infinite), usual);
    compare_layouts(check, sample, "subnormal numbers", repeated(tiny), rough);
    compare_layouts(check, sample, "numbers up to 1500", repeated(wide), single ? kWide : usual);
    compare_sizes(check, sample, "inf and nan", infinite, usual);
    compare_sizes(check, sample, "numbers up to 1500", wide, single ? kWide : usual);
    compare_sizes(check, sample, "subnormal numbers", tiny, rough);
  }
}

// ---- integers ----

Tensor moved(const Tensor& tensor, int64_t by) {
  const Tensor result = copied(tensor);
  auto* data = result.data<int64_t>();
  for (int64_t i = 0; i < result.numel(); ++i)
    data[i] = static_cast<int64_t>(static_cast<uint64_t>(data[i]) + static_cast<uint64_t>(by));
  return result;
}

// The sample with whole numbers in all of its tensors; nullopt where some are of another kind.
std::optional<Sample> of_integers(const Sample& sample) {
  Sample whole = sample;
  for (SampleValue& value : whole.values) {
    for (TensorSpec& spec : value.tensors) {
      if (spec.dtype != tenon::f64 && spec.dtype != tenon::i64) return std::nullopt;
      spec.dtype = tenon::i64;
      spec.values.clear();
      spec.low = 0;
      spec.high = 9;
    }
  }
  return whole;
}

// Whether each number of an i64 tensor is one of another integer dtype.
bool holds(tenon::DType dtype, const Tensor& tensor) {
  const int64_t most = (int64_t{1} << (8 * tenon::element_size(dtype) - 1)) - 1;
  for (const int64_t number : tensor.to_vector<int64_t>()) {
    if (number < -most - 1 || number > most) return false;
  }
  return true;
}

// If a narrower dtype can hold the result of i64, a call in that dtype must give it too.
void check_narrow_integers(OpCheck& check, const Sample& sample) {
  const std::optional<Sample> whole = of_integers(sample);
  if (!whole) return;
  struct Narrow {
    tenon::DType dtype;
    int64_t by;  // more than a narrower one holds
  };
  for (const auto& [dtype, by] :
       {Narrow{tenon::i8, 0}, Narrow{tenon::i16, 0}, Narrow{tenon::i16, 1000},
        Narrow{tenon::i32, 0}, Narrow{tenon::i32, 1000000}}) {
    const SampleCall call = check.call_of(*whole);
    if (call.tensors.empty()) return;
    std::vector<Tensor> wide, narrow;
    for (const Tensor& tensor : call.tensors) {
      wide.push_back(tensor.defined() ? moved(tensor, wide.empty() ? by : 0) : tensor);
      narrow.push_back(tensor.defined() ? converted(wide.back(), dtype) : tensor);
    }
    const auto expected = check.attempt(*whole, call, wide);
    if (!expected) continue;
    const std::vector<Tensor> x = tensors_of(*expected);
    const auto comparable = [&, dtype = dtype](const Tensor& result) {
      return result.defined() && result.dtype() == tenon::i64 && has_data(result) &&
             holds(dtype, result);
    };
    // Nothing is asked for that would overflow: an author's own sanitizer would stop there.
    if (std::none_of(x.begin(), x.end(), comparable)) continue;
    const auto found = check.attempt(*whole, call, narrow);
    if (!found || expected->size() != found->size()) continue;
    const std::vector<Tensor> y = tensors_of(*found);
    for (size_t r = 0; r < x.size() && r < y.size(); ++r) {
      if (!comparable(x[r]) || !y[r].defined() || y[r].dtype() != dtype) continue;
      const std::string what = difference(x[r], converted(y[r], tenon::i64), kExact);
      if (!what.empty())
        check.find(
            "integer",
            format_text("once in i64 and once in {}, the result{}", tenon::dtype_text(dtype), what),
            &*whole);
    }
  }
}

// If results grow evenly with all inputs, as those of sums, copies and maxima do, they must for
// integers that no double holds.
void check_integers(OpCheck& check, const Sample& sample) {
  const std::optional<Sample> integers = of_integers(sample);
  if (!integers) return;
  const Sample& whole = *integers;
  const SampleCall call = check.call_of(whole);
  if (call.tensors.empty()) return;
  const auto run = [&](int64_t by) -> std::vector<Tensor> {
    std::vector<Tensor> given = copied(call.tensors);
    given[0] = moved(given[0], by);
    const auto pieces = check.attempt(whole, call, given);
    if (!pieces) return {};
    const std::vector<Tensor> tensors = tensors_of(*pieces);
    if (tensors.size() != 1 || tensors.size() != pieces->size() || !tensors[0].defined() ||
        tensors[0].dtype() != tenon::i64 || !has_data(tensors[0]))
      return {};
    return tensors;
  };
  const std::vector<Tensor> start = run(0), next = run(1);
  if (start.empty() || next.empty() || start[0].sizes() != next[0].sizes()) return;
  const auto x = start[0].to_vector<int64_t>(), y = next[0].to_vector<int64_t>();
  constexpr int64_t two = 2;
  for (const int64_t by : {two, int64_t{3}, int64_t{1} << 20, int64_t{1} << 30, int64_t{1} << 40,
                           int64_t{1} << 53, int64_t{1} << 55, (int64_t{1} << 60) + 1}) {
    const std::vector<Tensor> there = run(by);
    if (there.empty() || there[0].sizes() != start[0].sizes()) return;
    const auto z = there[0].to_vector<int64_t>();
    for (size_t i = 0; i < x.size(); ++i) {
      const uint64_t step = static_cast<uint64_t>(y[i]) - static_cast<uint64_t>(x[i]);
      const auto expected =
          static_cast<int64_t>(static_cast<uint64_t>(x[i]) + step * static_cast<uint64_t>(by));
      if (z[i] == expected) continue;
      if (by <= 1 << 20) return;  // it is not even
      check.find("integer",
                 format_text("with {} more in each element of the first tensor, the result has {} "
                             "at element {}; smaller ones grow by {} for each, to {}",
                             by, z[i], i, static_cast<int64_t>(step), expected),
                 &whole);
      return;
    }
  }
}

}  // namespace

void check_numbers(OpCheck& check) {
  if (check.random) return;
  size_t left = kMostSamples;
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic || left == 0) continue;
    --left;
    check.listener.trying(sample);
    if (sample.layouts && check.aliased.empty() && !check.mutates(sample))
      check_rare_numbers(check, sample);
    if (check.mutates(sample)) continue;
    check_integers(check, sample);
    check_narrow_integers(check, sample);
  }
}

}  // namespace cli
