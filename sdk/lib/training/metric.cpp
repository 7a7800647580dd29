// Metrics of an evaluation.
#include <tenon/training/metric.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Metric::Metric(const Json& section)
    : choice_(metric_role(), section),
      name_(
          section["name"].text(choice_.found().name.substr(choice_.found().name.rfind('.') + 1))) {}

MetricResult Metric::operator()(const Tensor& outputs, const Tensor& targets) const {
  const Value value = choice_.call_one({outputs, targets});
  MetricResult result;
  result.name = name_;
  if (value.is_number()) {
    result.number = value.scalar().to<double>();
  } else if (value.is_tensor() && value.tensor().defined()) {
    result.tensor = value.tensor();
    if (result.tensor.numel() == 1) result.number = result.tensor.item();
  } else {
    throw ValueError(lib::format_text("{}: {} must give a number or a tensor",
                                      choice_.section().place(), choice_.found().name));
  }
  return result;
}

}  // namespace training

TENON_NAMESPACE_END
