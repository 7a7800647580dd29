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
  // From "clip" of a config's "training": one op, a list of them, or undefined, which does nothing.
  explicit GradientClip(const Json& section);
  bool empty() const { return choices_.empty(); }
  void operator()(const std::vector<Tensor>& gradients) const;

 private:
  std::vector<OpChoice> choices_;
};

}  // namespace training

TENON_NAMESPACE_END
