// A metric: any op that is called once with all outputs and all targets of an evaluation, and gives
// a number, or a tensor such as a confusion matrix.
//
//   "metrics": ["accuracy", {"type": "metric.top_k", "k": 5}, "my.metric"]
//
// A result is named after the op, without its namespace: "accuracy". "name" gives another
// one, where two metrics call one op.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/training/op_choice.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct MetricResult {
  std::string name;
  std::optional<double> number;
  Tensor tensor;  // a result that is not one number
};

class Metric {
 public:
  explicit Metric(const Json& section);
  const std::string& name() const { return name_; }
  MetricResult operator()(const Tensor& outputs, const Tensor& targets) const;

 private:
  OpChoice choice_;
  std::string name_;
};

}  // namespace training

TENON_NAMESPACE_END
