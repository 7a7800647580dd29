// Optimizers by the form of their schemas, for trainings and for profiles of them.
#pragma once

#include <string>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace lib {

// (Tensor(a!) parameter, Tensor gradient, Tensor(b!) state, ..., *, keywords), or lists of them:
// (Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] states, ..., *, keywords).
enum class OptimizerForm { one, lists };

// Reasons why parameters, as parse_schema() has them, are not of this form.
std::vector<std::string> optimizer_faults(const Json& parameters, OptimizerForm form);
// Whether they are, with a learning rate: others change a tensor by a second one, too, as copy_ does.
bool is_optimizer(const Json& parameters, OptimizerForm form);

}  // namespace lib

TENON_NAMESPACE_END
