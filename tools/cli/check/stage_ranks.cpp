// Stage "ranks": an op that does the same to each element does so under every shape.
#include <algorithm>

#include "format.hpp"
#include "op_check.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

using Shape = std::vector<int64_t>;

std::string text_of(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += format_text("{}{}", text.empty() ? "" : ", ", size);
  return format_text("[{}]", text);
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

void check_sample_ranks(OpCheck& check, const Sample& sample, bool single) {
  Reshaped op(check, sample, single);
  if (!op.applies()) return;
  const int64_t n = op.elements();
  // Shapes of rank 1 to 3, and all elements but the last, show whether it works by element.
  for (const Shape& shape : {Shape{n}, Shape{n, 1}, Shape{1, n}, Shape{1, n, 1}, Shape{n - 1}}) {
    const auto breach = op.breach(shape);
    if (!breach || !breach->empty()) return;
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}, Shape{1, n, 1, 1},
                             Shape{1, 1, n, 1, 1}, Shape{n, 1, 1, 1, 1}, Shape{1, 1, 1, 1, 1, n}}) {
    const auto breach = op.breach(shape);
    if (!breach || breach->empty()) continue;
    check.find("rank",
               format_text("once as a row and once under the shape {}{}, the result{}",
                           text_of(shape), single ? " in f32" : "", *breach),
               &sample);
    return;
  }
}

}  // namespace

void check_ranks(OpCheck& check) {
  if (check.random) return;
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic) continue;
    check.listener.trying(sample);
    check_sample_ranks(check, sample, false);
    if (sample.precision) check_sample_ranks(check, sample, true);
  }
}

}  // namespace cli
