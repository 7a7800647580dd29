// Steps that are computed when the model is made, once for all calls.
#pragma once

#include "program.hpp"

namespace onnx {

class Folding {
 public:
  explicit Folding(const std::vector<tenon::Value>& constants) : constants_(constants) {}

  // Whether the step's results are constants too. Weights stay what can be trained, and results that
  // may be large are computed in each call.
  bool admits(const Step& step) { return is_constant(step) && is_small(step); }

 private:
  bool is_constant(const Step& step) const;
  bool is_small(const Step& step);

  const std::vector<tenon::Value>& constants_;
  int64_t folded_ = 0;  // elements of operands and results of the steps that it admitted
};

}  // namespace onnx
