// Stage "ranks": an op that does the same to each element does so under every shape and for every
// number of elements; one that works on the last dimensions does so behind any number of others.
#include <algorithm>

#include <tenon/kernel/shape.hpp>

#include "format.hpp"
#include "op_check.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

using Shape = std::vector<int64_t>;

std::string text_of(const Shape& shape) {
  return tenon::kernel::shape_text(
      tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())));
}

// Calls with the same elements, or the first of them, under other shapes.
class Reshaped {
 public:
  Reshaped(OpCheck& check, const Sample& sample, bool single)
      : check_(check),
        sample_(sample),
        call_(check.call_of(sample)),
        tensors_(single ? in_single(call_.tensors) : call_.tensors),
        tolerance_(single ? kSingle : kExact) {
    expected_ = run(tensors_);
  }

  // All tensors, and all results, have one shape.
  bool applies() const {
    if (!expected_ || expected_->empty() || tensors_.empty() || tensors_[0].numel() < 2)
      return false;
    const auto fits = [&](const Tensor& tensor) {
      return tensor.defined() && tensor.sizes() == tensors_[0].sizes();
    };
    return std::all_of(tensors_.begin(), tensors_.end(), fits) &&
           std::all_of(expected_->begin(), expected_->end(), fits);
  }
  int64_t elements() const { return tensors_[0].numel(); }

  // " has 3 in one and 4 in the other ..."; empty where it agrees, nullopt where it is refused.
  std::optional<std::string> breach(const Shape& shape) {
    std::vector<Tensor> given, expected;
    for (const Tensor& tensor : tensors_) given.push_back(under(tensor, shape));
    for (const Tensor& tensor : *expected_) expected.push_back(under(tensor, shape));
    const auto found = run(given);
    if (!found) return std::nullopt;
    return difference(expected, *found, tolerance_);
  }

  // The breach for a row of this many elements, the given ones over and over.
  std::optional<std::string> repeated_breach(int64_t length) {
    const auto row = [&](const Tensor& tensor) {
      return with_elements(tenon::empty_tensor({length}, tensor.dtype()), numbers_of(tensor));
    };
    std::vector<Tensor> given, expected;
    for (const Tensor& tensor : tensors_) given.push_back(row(tensor));
    for (const Tensor& tensor : *expected_) expected.push_back(row(tensor));
    const auto found = run(given);
    if (!found) return std::nullopt;
    return difference(expected, *found, tolerance_);
  }

 private:
  // Under a shape of fewer elements: the first ones.
  static Tensor under(const Tensor& tensor, const Shape& shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const Tensor whole = copied(tensor);
    const auto rank = static_cast<int64_t>(shape.size());
    if (count == tensor.numel()) return reshaped(whole, shape);
    std::vector<double> numbers = numbers_of(whole);
    return with_elements(tenon::empty_tensor(tenon::IntList(shape.data(), rank), tensor.dtype()),
                         numbers);
  }
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& given) {
    const auto pieces = check_.attempt(sample_, call_, copied(given));
    if (!pieces) return std::nullopt;
    std::vector<Tensor> results = readable(tensors_of(*pieces));
    return results.size() == pieces->size() ? std::optional(std::move(results)) : std::nullopt;
  }

  OpCheck& check_;
  const Sample& sample_;
  SampleCall call_;
  std::vector<Tensor> tensors_;
  Tolerance tolerance_;
  std::optional<std::vector<Tensor>> expected_;
};

constexpr int64_t kLengths = 67;                   // every number of elements up to here
constexpr int64_t kLong = (int64_t{1} << 20) + 3;  // elements: large buffers, many chunks

// True where it works by element.
bool check_sample_ranks(OpCheck& check, const Sample& sample, bool single) {
  Reshaped op(check, sample, single);
  if (!op.applies()) return false;
  const int64_t n = op.elements();
  // Shapes of rank 1 to 3, and all elements but the last, show whether it works by element.
  for (const Shape& shape : {Shape{n}, Shape{n, 1}, Shape{1, n}, Shape{1, n, 1}, Shape{n - 1}}) {
    const auto breach = op.breach(shape);
    if (!breach || !breach->empty()) return false;
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}, Shape{1, n, 1, 1},
                             Shape{1, 1, n, 1, 1}, Shape{n, 1, 1, 1, 1}, Shape{1, 1, 1, 1, 1, n}}) {
    const auto breach = op.breach(shape);
    if (!breach || breach->empty()) continue;
    check.find("rank",
               format_text("once as a row and once under the shape {}{}, the result{}",
                           text_of(shape), single ? " in f32" : "", *breach),
               &sample);
    return true;
  }
  return true;
}

// Lengths of an op by element: every length of a row, then a long one.
void check_lengths(OpCheck& check, const Sample& sample, bool single) {
  Reshaped op(check, sample, single);
  const auto look = [&](int64_t length) {
    const auto breach = op.repeated_breach(length);
    if (!breach || breach->empty()) return true;
    check.find("size",
               format_text("once as copies of a small call and once in one call of {} elements{}, "
                           "the result{}",
                           length, single ? " in f32" : "", *breach),
               &sample);
    return false;
  };
  // Elements may depend on their place: then copies are not repeated.
  for (const int64_t copies : {2, 3}) {
    const auto breach = op.repeated_breach(copies * op.elements());
    if (!breach || !breach->empty()) return;
  }
  for (int64_t length = 1; length <= kLengths; ++length) {
    if (!look(length)) return;
  }
  if (!single) look(kLong);
}

// ---- dimensions in front ----

// The sample with dimensions counted from the end, so that others may come in front.
Sample counted_from_end(OpCheck& check, const Sample& sample, int64_t rank) {
  Sample other = sample;
  for (size_t v = 0; v < other.values.size(); ++v) {
    if (!names_dimension(check.parameter_of(sample, v))) continue;
    SampleValue& value = other.values[v];
    if (value.kind == SampleValue::Kind::scalar && !value.scalar.is_bool() &&
        value.scalar.to<int64_t>() >= 0)
      value.scalar = value.scalar.to<int64_t>() - rank;
    for (int64_t& number : value.integers) number -= number < 0 ? 0 : rank;
  }
  return other;
}

Tensor behind(const Tensor& tensor, int64_t count) {
  Shape shape = tensor.sizes();
  shape.insert(shape.begin(), static_cast<size_t>(count), 1);
  return reshaped(tensor, shape);
}

// If one dimension of size 1 in front of all operands becomes one in front of all results, several
// must.
void check_dimensions_in_front(OpCheck& check, const Sample& sample) {
  const SampleCall plain = check.call_of(sample);
  if (plain.tensors.empty() || !plain.tensors[0].defined()) return;
  const int64_t rank = plain.tensors[0].dim();
  const Sample other = counted_from_end(check, sample, rank);
  const SampleCall call = check.call_of(other);
  const auto results = [&](int64_t count) -> std::optional<std::vector<Tensor>> {
    std::vector<Tensor> given;
    for (const Tensor& tensor : call.tensors) {
      if (!tensor.defined() || tensor.dim() != rank) return std::nullopt;
      given.push_back(behind(tensor, count));
    }
    const auto pieces = check.attempt(other, call, given);
    if (!pieces) return std::nullopt;
    std::vector<Tensor> tensors = readable(tensors_of(*pieces));
    return tensors.size() == pieces->size() ? std::optional(std::move(tensors)) : std::nullopt;
  };
  const auto expected = results(0);
  if (!expected || expected->empty()) return;
  for (int64_t count = 1; rank + count <= 6; ++count) {
    std::vector<Tensor> shifted;
    for (const Tensor& tensor : *expected)
      shifted.push_back(tensor.defined() ? behind(tensor, count) : tensor);
    const auto found = results(count);
    if (!found) return;
    const std::string what = difference(shifted, *found, kExact);
    if (what.empty()) continue;
    if (count == 1) return;  // it means something else by the first dimension
    check.find(
        "rank",
        format_text("once with {} dimensions and once with {} of size 1 in front of them, the "
                    "result{}",
                    rank, count, what),
        &other);
    return;
  }
}

}  // namespace

void check_ranks(OpCheck& check) {
  if (check.random) return;
  bool lengths = true;  // once is enough
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic) continue;
    check.listener.trying(sample);
    const bool by_element = check_sample_ranks(check, sample, false);
    if (sample.precision) check_sample_ranks(check, sample, true);
    if (!by_element) check_dimensions_in_front(check, sample);
    if (!by_element || !lengths) continue;
    lengths = false;
    check_lengths(check, sample, false);
    if (sample.precision) check_lengths(check, sample, true);
  }
}

}  // namespace cli
