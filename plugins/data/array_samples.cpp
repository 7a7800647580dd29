// Inputs and targets from arrays: shapes, dtypes, scale, and the shape that later files must have.
#include "array_samples.hpp"

#include <cmath>

#include <tenon/json.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/kernel/visit.hpp>

#include "file_fault.hpp"

namespace data {

using tenon::IntList;
using tenon::Tensor;
using tenon::kernel::shape_text;

namespace {

// The place that messages name: "x.npz: 'inputs'".
class Place {
 public:
  explicit Place(const FileArray& file)
      : text_(std::string(file.path) + ": " + quoted_text(file.name)) {}
  [[noreturn]] void refuse(const std::string& what) const {
    throw tenon::ValueError(text_ + " " + what);
  }

 private:
  std::string text_;
};

IntList sample_shape(const Tensor& samples) {
  return {samples.shape().data() + 1, samples.dim() - 1};
}

// The first number that is not finite, by its indices.
void check_finite(const Tensor& tensor, const Place& place) {
  if (!tenon::is_floating(tensor.dtype())) return;
  tenon::kernel::visit<tenon::floating_dtypes>(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* values = tensor.data<T>();
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      if (std::isfinite(values[i])) continue;
      std::string indices;
      int64_t rest = i;
      for (int64_t d = tensor.dim() - 1; d >= 0; rest /= tensor.shape()[d], --d)
        indices.insert(0, std::to_string(rest % tensor.shape()[d]) + (indices.empty() ? "" : ", "));
      place.refuse("has " +
                   std::string(std::isnan(values[i]) ? "nan"
                               : values[i] > 0       ? "inf"
                                                     : "-inf") +
                   " at [" + indices + "]; say check_finite=false to read it");
    }
  });
}

// A view of the samples with the channels before height and width.
Tensor channels_first(const Tensor& samples, const Place& place) {
  if (samples.dim() != 4)
    place.refuse("has the shape " + shape_text(samples.shape()) +
                 "; channels_last=true takes [samples, height, width, channels]");
  const auto order = {0, 3, 1, 2};
  std::vector<int64_t> shape, strides;
  for (const int64_t d : order) {
    shape.push_back(samples.shape()[d]);
    strides.push_back(samples.strides()[d]);
  }
  return tenon::alias_tensor(samples, IntList(shape.data(), 4), IntList(strides.data(), 4), 0);
}

Tensor reshaped(const Tensor& samples, IntList shape, const Place& place) {
  int64_t count = 1;
  bool fits = true;
  for (const int64_t n : shape) fits = fits && n > 0 && !__builtin_mul_overflow(count, n, &count);
  const int64_t present = samples.numel() / samples.shape()[0];
  if (!fits || count != present) {
    place.refuse("has " + std::to_string(present) + " numbers in each sample, " +
                 shape_text(sample_shape(samples)) + ", which do not make " + shape_text(shape));
  }
  std::vector<int64_t> sizes = {samples.shape()[0]}, strides = {count};
  for (const int64_t n : shape) {
    sizes.push_back(n);
    count /= n;
    strides.push_back(count);
  }
  const auto rank = static_cast<int64_t>(sizes.size());
  return tenon::alias_tensor(samples, IntList(sizes.data(), rank), IntList(strides.data(), rank),
                             0);
}

// In place, where the file has no other use for the memory.
void multiply(const Tensor& tensor, double factor) {
  tenon::kernel::visit<tenon::floating_dtypes>(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = tensor.data<T>();
    for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<T>(values[i] * factor);
  });
}

void check_targets(const Tensor& targets, int64_t samples, const Place& place) {
  if (targets.dim() != 1 && targets.dim() != 2) {
    place.refuse("has the shape " + shape_text(targets.shape()) +
                 "; targets are [samples] or [samples, columns]");
  }
  if (targets.shape()[0] != samples) {
    place.refuse("has " + std::to_string(targets.shape()[0]) + " targets, for " +
                 std::to_string(samples) + " samples");
  }
}

// The fitted text has the shape of a sample.
std::string fit(const Tensor& inputs, const ArrayRequest& request, const Place& place) {
  tenon::JsonArray sizes;
  for (const int64_t n : sample_shape(inputs)) sizes.add(n);
  std::string found = tenon::JsonObject().set("shape", sizes.json()).json().dump();
  if (request.fitted.empty()) return found;
  const std::string expected = tenon::Json::parse(request.fitted)["shape"].dump();
  if (sizes.json().dump() != expected) {
    place.refuse("has samples of shape " + shape_text(sample_shape(inputs)) +
                 ", the file that was fitted has " + expected);
  }
  return std::string(request.fitted);
}

}  // namespace

ArraySamples make_samples(const FileArray& inputs_file, const FileArray& targets_file,
                          const ArrayRequest& request) {
  if (request.dtype != tenon::f32 && request.dtype != tenon::f64)
    throw tenon::ValueError("dtype must be f32 or f64");
  const Place place(inputs_file);
  Tensor inputs = inputs_file.array;
  if (inputs.dim() < 1 || inputs.numel() == 0)
    place.refuse("has the shape " + shape_text(inputs.shape()) + ", which holds no samples");
  if (request.channels_last) inputs = channels_first(inputs, place);
  inputs = tenon::contiguous_as(inputs, request.dtype);
  if (request.check_finite) check_finite(inputs, place);
  if (request.shape) inputs = reshaped(inputs, *request.shape, place);
  if (request.scale != 1) multiply(inputs, request.scale);
  std::string fitted = fit(inputs, request, place);

  const int64_t samples = inputs.shape()[0];
  Tensor targets = targets_file.array;
  if (!targets.defined()) return {inputs, tenon::empty_tensor({samples, 0}), fitted};
  const Place targets_place(targets_file);
  check_targets(targets, samples, targets_place);
  // Class numbers, or numbers like the inputs.
  targets = tenon::contiguous_as(targets,
                                 tenon::is_floating(targets.dtype()) ? request.dtype : tenon::i64);
  if (request.check_finite) check_finite(targets, targets_place);
  return {inputs, targets, fitted};
}

}  // namespace data
