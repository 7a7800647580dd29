// Clipping: any op that changes a list of gradients in place, before each step of the optimizer.
//
//   "clip": {"type": "norm", "maximum": 1.0}
//   "clip": [{"type": "value", "maximum": 0.5}, "my.clip_"]
#pragma once

#include <vector>

#include "tenon/training/op_choice.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class GradientClip {
 public:
  // Clips by the ops that a config's "training" names, in order; without any it does nothing.
  explicit GradientClip(const std::vector<Json>& sections);
  bool empty() const { return choices_.empty(); }
  void operator()(const std::vector<Tensor>& gradients) const;

 private:
  std::vector<OpChoice> choices_;
};

}  // namespace training

TENON_NAMESPACE_END
