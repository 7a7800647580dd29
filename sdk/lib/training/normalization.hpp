// Normalisation: what was learned from the training part, applied to every part and stored with the
// weights.
#pragma once

#include <string>

#include <tenon/json.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

struct Normalization {
  Tensor mean, deviation;  // f32, of one sample, size 1 where they hold for a whole dimension

  bool active() const { return mean.defined(); }
  // Mean and deviation of each feature of [samples, features], of each channel of
  // [samples, channels, ...].
  static Normalization fit(const Tensor& inputs);
  // Undefined inputs stay so; NaN becomes 0, the mean.
  Tensor apply(const Tensor& inputs) const;
};

// Values that a training learned from its data, for evaluation and prediction: the reader's own
// text and the normalisation, as the text that is stored with the weights. Empty: nothing.
struct Fitted {
  std::string reader;
  Normalization normalization;

  static Fitted parse(const std::string& text);
  std::string text() const;
};

}  // namespace training

TENON_NAMESPACE_END
