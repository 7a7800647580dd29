// Class-index targets of nll_loss and cross_entropy: shapes, weights and reductions, checked once.
#include "targets.hpp"

namespace nn {

namespace {

// The shape of the targets that scores of shape [classes], [N, classes] or [N, classes, ...] want.
Shape expected_shape(IntList scores) {
  Shape shape;
  for (int64_t i = 0; i < scores.size(); ++i) {
    if (i != (scores.size() == 1 ? 0 : 1)) shape.push(scores[i]);
  }
  return shape;
}

}  // namespace

void check_smoothing(const char* op, double label_smoothing) {
  if (label_smoothing >= 0 && label_smoothing <= 1) return;
  throw tenon::ValueError(std::string(op) + "(): label_smoothing must be between 0 and 1, got " +
                          std::to_string(label_smoothing));
}

void check_class_weight(const char* op, const Tensor& weight, int64_t classes) {
  if (weight.dim() == 1 && weight.shape()[0] == classes) return;
  throw tenon::ValueError(std::string(op) + "(): 'weight' must have one element for each of the " +
                          std::to_string(classes) + " classes, got shape " + shape_text(weight));
}

Targets::Targets(const char* op, IntList scores, DType dtype, const Tensor& target,
                 const Tensor& weight, int64_t ignored, std::string_view reduction_name,
                 double label_smoothing)
    : ignore_index(ignored),
      reduction(parse_reduction(op, reduction_name)),
      smoothing(label_smoothing) {
  const auto refusal = [op] { return std::string(op) + "()"; };
  if (scores.empty())
    throw tenon::ValueError(refusal() + ": 'input' must have a dimension of classes, got shape []");
  if (tenon::is_floating(target.dtype()) || target.dtype() == tenon::boolean) {
    throw tenon::TypeError(refusal() + ": class-index targets must be integers, got " +
                           tenon::dtype_text(target.dtype()) + " of shape " + shape_text(target) +
                           "; convert them with to(i64)");
  }
  const Shape expected = expected_shape(scores);
  if (!kernel::same_shape(target.shape(), expected)) {
    throw tenon::ValueError(refusal() + ": 'target' of shape " + shape_text(target) +
                            " does not fit 'input' of shape " + shape_text(scores) + "; expected " +
                            shape_text(expected));
  }
  check_smoothing(op, label_smoothing);
  classes = scores[scores.size() == 1 ? 0 : 1];
  if (scores.size() > 1) batch = scores[0];
  for (int64_t i = 2; i < scores.size(); ++i) inner *= scores[i];
  targets = tenon::contiguous_as(target, tenon::i64);
  index = count() == 0 ? nullptr : targets.data<const int64_t>();
  weight_sum = static_cast<double>(classes);
  if (weight.defined()) {
    check_class_weight(op, weight, classes);
    weights = tenon::contiguous_as(weight, dtype);
    weight_sum = 0;
    visit_floating(dtype, [&](auto zero) {
      for (int64_t k = 0; k < classes; ++k) {
        weight_sum += static_cast<double>(weights.data<const decltype(zero)>()[k]);
      }
    });
  }
  for (int64_t i = 0; i < count(); ++i) {
    if (__builtin_expect(static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(classes), 0))
      check(op, i);
  }
}

void Targets::check(const char* op, int64_t position) const {
  const int64_t at = index[position];
  if (at == ignore_index) return;
  throw tenon::IndexError(std::string(op) + "(): target " + std::to_string(at) + " at position " +
                          std::to_string(position) + " is out of range for " +
                          std::to_string(classes) + " classes");
}

}  // namespace nn
