// A learning-rate schedule: any op that gives the factor of the learning rate for a step.
//
//   "schedule": "cosine"
//   "schedule": [{"type": "warmup", "warmup_steps": 100}, "cosine"]    the factors are multiplied
//
// An op gets those of these parameters that its schema has: `step` (from 0), `steps` (of the whole
// training), `epoch` (from 0), `epochs`, `steps_per_epoch`.
#pragma once

#include <vector>

#include "tenon/training/op_choice.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct StepNumber {
  int64_t step = 0, steps = 1;
  int64_t epoch = 0, epochs = 1, steps_per_epoch = 1;
};

class Schedule {
 public:
  // Multiplies the factors of the ops that a config's "training" names; without any it is 1.
  explicit Schedule(const std::vector<Json>& sections);
  double factor(const StepNumber& at) const;

 private:
  std::vector<OpChoice> choices_;
};

}  // namespace training

TENON_NAMESPACE_END
