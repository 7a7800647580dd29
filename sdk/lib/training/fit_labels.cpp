// Labels in the form that a model's output asks for.
#include <algorithm>
#include <cmath>

#include <tenon/autograd.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/ops.hpp>
#include <tenon/text.hpp>
#include <tenon/training/dataset.hpp>
#include <tenon/training/op_choice.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// For outputs [samples, classes], or [samples, classes, ...] with a label at each of the places that
// follow. Of numbers only the first form has classes: the second may be a regression.
bool are_classes(const Tensor& labels, const std::vector<int64_t>& output) {
  const size_t rank = output.size();
  if (rank < 2 || output[1] < 2 || labels.dim() != static_cast<int64_t>(rank) - 1) return false;
  for (size_t i = 2; i < rank; ++i) {
    if (labels.size(static_cast<int64_t>(i) - 1) != output[i]) return false;
  }
  if (!is_floating(labels.dtype())) return true;
  if (rank > 2) return false;
  const auto classes = static_cast<double>(output[1]);
  const std::vector<double> values = labels.to_vector<double>();
  return std::all_of(values.begin(), values.end(), [&](double value) {
    return value == std::floor(value) && value >= 0 && value < classes;
  });
}

void check_classes(const Json& data, const Tensor& labels, int64_t classes) {
  for (const int64_t label : labels.to_vector<int64_t>()) {
    if (label >= 0 && label < classes) continue;
    throw ValueError(
        lib::format_text("{}: there is a label {}, but the model scores {} classes, 0 to {}",
                         data.place(), label, classes, classes - 1));
  }
}

Tensor as_numbers(const Json& model, const Tensor& labels, std::vector<int64_t> shape,
                  int64_t count) {
  shape[0] = count;
  const Tensor numbers = contiguous_as(labels, f32);
  int64_t expected = 1;
  for (const int64_t size : shape) expected *= size;
  if (numbers.numel() != expected) {
    throw ValueError(
        lib::format_text("{}: the model gives {} numbers for a sample, but a label has {}, and the "
                         "labels are not the numbers of classes",
                         model.place(), grouped(count > 0 ? expected / count : 0),
                         grouped(count > 0 ? numbers.numel() / count : 0)));
  }
  return numbers.reshape(shape);
}

// Cross entropy of one score is 0 whatever the score is.
void check_scores(const TrainingConfig& config, const std::vector<int64_t>& output) {
  const std::string loss = config.loss["type"].text();
  const bool classes = loss == "cross_entropy" || loss == "nn.functional.cross_entropy";
  if (!classes || output.size() != 2 || output[1] != 1) return;
  throw ValueError(lib::format_text(
      "{}: {} of a model with one output is always 0; give the model one output for "
      "each class, or use nn.functional.binary_cross_entropy_with_logits",
      config.loss["type"].place(), loss));
}

}  // namespace

void fit_labels(const TrainingConfig& config, Module& model, Dataset& dataset) {
  const NoGrad no_grad;
  const bool training = model.training();
  model.eval();
  const Tensor output =
      at_place(config.model, [&] { return model(narrow(dataset.train.inputs, 0, 0, 1)); });
  model.train(training);
  if (output.dim() < 1 || output.size(0) != 1) {
    throw ValueError(lib::format_text(
        "{}: for one sample the model gives a tensor of shape {}; its first size must "
        "be the number of samples",
        config.model.place(), kernel::shape_text(output.shape())));
  }
  check_scores(config, output.sizes());
  Samples* const parts[] = {&dataset.train, &dataset.validation, &dataset.test};
  const bool fits = std::all_of(std::begin(parts), std::end(parts), [&](const Samples* samples) {
    return samples->count() == 0 || are_classes(samples->labels, output.sizes());
  });
  for (Samples* samples : parts) {
    if (samples->count() == 0) continue;
    if (fits) {
      samples->labels = contiguous_as(samples->labels, i64);
      check_classes(config.data.section, samples->labels, output.size(1));
    } else {
      samples->labels = as_numbers(config.model, samples->labels, output.sizes(), samples->count());
    }
  }
}

}  // namespace training

TENON_NAMESPACE_END
