// The factor of the learning rate.
#include <tenon/training/schedule.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

std::vector<Json> section_list(const Json& section) {
  std::vector<Json> list;
  if (!section.defined()) return list;
  if (section.is_object()) return {section};
  for (int64_t i = 0; i < section.size(); ++i) list.push_back(section[i]);
  return list;
}

Schedule::Schedule(const Json& section) {
  for (const Json& one : section_list(section)) choices_.emplace_back(schedule_role(), one);
}

double Schedule::factor(const StepNumber& at) const {
  double product = 1;
  for (const OpChoice& choice : choices_) {
    const Value value = choice.call_one(
        {}, {arg("step") = at.step, arg("steps") = at.steps, arg("epoch") = at.epoch,
             arg("epochs") = at.epochs, arg("steps_per_epoch") = at.steps_per_epoch});
    if (!value.is_number() && !(value.is_tensor() && value.tensor().defined()))
      throw ValueError(lib::format_text("{}: {} must give the factor of the learning rate, a number",
                                   choice.section().place(), choice.found().name));
    product *= value.is_number() ? value.scalar().to<double>() : value.tensor().item();
  }
  return product;
}

}  // namespace training

TENON_NAMESPACE_END
