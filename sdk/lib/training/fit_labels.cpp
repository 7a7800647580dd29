// Labels in the form that a model's output asks for.
#include <algorithm>
#include <cmath>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/ops.hpp>
#include <tenon/text.hpp>
#include <tenon/training/dataset.hpp>
#include <tenon/training/op_choice.hpp>

#include "label_form.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

int64_t numbers_of(const std::vector<int64_t>& shape) {
  int64_t numbers = 1;
  for (size_t i = 1; i < shape.size(); ++i) numbers *= shape[i];
  return numbers;
}

}  // namespace

LabelForm label_form(const std::vector<int64_t>& labels, bool whole_labels,
                     const std::vector<int64_t>& output) {
  const size_t rank = output.size();
  bool classes =
      rank >= 2 && output[1] >= 2 && labels.size() == rank - 1 && (rank == 2 || whole_labels);
  for (size_t i = 2; i < rank && classes; ++i) classes = labels[i - 1] == output[i];
  if (classes) return LabelForm::classes;
  return numbers_of(labels) == numbers_of(output) ? LabelForm::numbers : LabelForm::neither;
}

std::string number_fault(const Json& model, const std::vector<int64_t>& labels,
                         const std::vector<int64_t>& output) {
  return lib::format_text(
      "{}: the model gives {} numbers for a sample, but a label has {}, and the labels are not the "
      "numbers of classes",
      model.place(), grouped(numbers_of(output)), grouped(numbers_of(labels)));
}

namespace {

// Labels that are not numbers of classes: the first in its file, and how many there are.
struct Misfits {
  Json ignored;  // a label that the loss leaves out; undefined: none
  std::string first;
  int64_t count = 0;

  void add(const std::string& part, const Samples& samples, int64_t classes) {
    const std::vector<double> values = samples.labels.to_vector<double>();
    const auto for_each = static_cast<int64_t>(values.size()) / samples.count();
    const std::vector<int64_t> rows =
        samples.rows.defined() ? samples.rows.to_vector<int64_t>() : std::vector<int64_t>();
    const int64_t known = count;
    int64_t first_row = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
      const double value = values[static_cast<size_t>(i)];
      if (value == std::floor(value) && value >= 0 && value < static_cast<double>(classes))
        continue;
      if (ignored.is_number() && value == ignored.number()) continue;
      const int64_t sample = i / for_each;
      const int64_t row = rows.empty() ? sample : rows[static_cast<size_t>(sample)];
      if (known == 0 && (count == 0 || row < first_row)) {
        first_row = row;
        first = lib::format_text("the label of sample {} ({}) is {}", row + 1, part,
                                 Scalar(value).text());
      }
      ++count;
    }
  }
};

[[noreturn]] void refuse_labels(const Json& data, const Misfits& misfits, int64_t classes) {
  throw ValueError(lib::format_text(
      "{}: {}, but the model scores {} classes, 0 to {}{}", data.place(), misfits.first, classes,
      classes - 1,
      misfits.count == 1   ? ""
      : misfits.count == 2 ? "; 1 more label does not fit"
                           : lib::format_text("; {} more labels do not fit", misfits.count - 1)));
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
  const std::pair<const char*, Samples*> parts[] = {
      {"train", &dataset.train}, {"validation", &dataset.validation}, {"test", &dataset.test}};
  std::vector<int64_t> shape = output.sizes();
  bool classes = true;
  for (const auto& [name, samples] : parts) {
    if (samples->count() == 0) continue;
    const Tensor& labels = samples->labels;
    const LabelForm form = label_form(labels.sizes(), !is_floating(labels.dtype()), shape);
    if (form == LabelForm::neither)
      throw ValueError(number_fault(config.model, labels.sizes(), shape));
    classes = classes && form == LabelForm::classes;
  }
  dataset.classes = classes ? shape[1] : 0;
  Misfits misfits;
  misfits.ignored = config.loss["ignore_index"];
  for (const auto& [name, samples] : parts) {
    if (samples->count() == 0) continue;
    if (classes) {
      misfits.add(name, *samples, shape[1]);
      samples->labels = contiguous_as(samples->labels, i64);
    } else {
      shape[0] = samples->count();
      samples->labels = contiguous_as(samples->labels, f32).reshape(shape);
    }
  }
  if (misfits.count > 0) refuse_labels(config.data.section, misfits, shape[1]);
}

}  // namespace training

TENON_NAMESPACE_END
