// The operands of an optimizer, one by one.
#include "lib/base/optimizer_form.hpp"

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace lib {

std::vector<std::string> optimizer_faults(const Json& parameters, OptimizerForm form) {
  std::vector<std::string> faults;
  const bool lists = form == OptimizerForm::lists;
  const char* const operand = lists ? "Tensor[]" : "Tensor";
  int64_t operands = 0;
  for (; operands < parameters.size() && !parameters[operands]["keyword_only"].as_bool();
       ++operands) {
    const Json parameter = parameters[operands];
    const std::string text =
        format_text("{} {}", parameter["type"].text(), parameter["name"].text());
    const bool changes = parameter["mutates"].as_bool();
    if (parameter["kind"].text() != "Tensor" || parameter["list"].as_bool() != lists)
      faults.push_back(format_text("'{}' is not a {}; settings come after '*'", text, operand));
    else if (changes == (operands == 1))
      faults.push_back(format_text("'{}' is {}changed in place", text, changes ? "" : "not "));
  }
  if (operands < 2) faults.push_back(format_text("it has {} {}s before '*'", operands, operand));
  return faults;
}

bool is_optimizer(const Json& parameters, OptimizerForm form) {
  for (int64_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]["name"].text() == "learning_rate")
      return optimizer_faults(parameters, form).empty();
  }
  return false;
}

}  // namespace lib

TENON_NAMESPACE_END
