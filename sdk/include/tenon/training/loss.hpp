// The loss: any op that is called with output and target and gives one number.
//
//   "loss": "cross_entropy"
//   "loss": {"type": "nn.functional.cross_entropy", "label_smoothing": 0.1}
#pragma once

#include "tenon/training/op_choice.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class Loss {
 public:
  // From the section "loss" of a config. ConfigError for what is wrong with it.
  explicit Loss(const Json& section);
  // ValueError when it is not one number.
  Tensor operator()(const Tensor& output, const Tensor& target) const;
  // Whether it adds up the samples of a batch instead of averaging them: "reduction": "sum".
  bool sums() const { return sums_; }
  const OpChoice& choice() const { return choice_; }

 private:
  OpChoice choice_;
  bool sums_;
};

}  // namespace training

TENON_NAMESPACE_END
