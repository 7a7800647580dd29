// The factor of the learning rate.
#include <tenon/training/schedule.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Schedule::Schedule(const std::vector<Json>& sections) {
  for (const Json& one : sections) choices_.emplace_back(schedule_role(), one);
}

double Schedule::factor(const StepNumber& at) const {
  double product = 1;
  for (const OpChoice& choice : choices_) {
    const Value value = choice.call_one(
        {}, {arg("step") = at.step, arg("steps") = at.steps, arg("epoch") = at.epoch,
             arg("epochs") = at.epochs, arg("steps_per_epoch") = at.steps_per_epoch});
    if (!value.is_number() && !(value.is_tensor() && value.tensor().defined()))
      throw ValueError(
          lib::format_text("{}: {} must give the factor of the learning rate, a number",
                           choice.section().place(), choice.found().name));
    product *= value.is_number() ? value.scalar().to<double>() : value.tensor().item();
  }
  return product;
}

}  // namespace training

TENON_NAMESPACE_END
