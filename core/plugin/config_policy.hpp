// Reader of the document that the slot policy_apply takes.
#pragma once

#include "core/base/json.hpp"
#include "core/plugin/policy.hpp"

namespace tenon::core {

// share/tenon/documents.md has the document's members; all of them may be absent. ConfigError with
// the place of an unknown member, of a value of another kind, and of a text that is not what it
// should be. `lazy`: eager plugins wait for their first use.
PluginPolicy policy_of(const tenon_json& document, bool lazy = false);

}  // namespace tenon::core
