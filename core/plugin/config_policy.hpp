// What a config that was read says about plugins, as a policy.
#pragma once

#include "core/base/json.hpp"
#include "core/plugin/policy.hpp"

namespace tenon::core {

PluginPolicy policy_of(const tenon_json& config);

}  // namespace tenon::core
