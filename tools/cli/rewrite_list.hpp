// Rewrites as a document, for the commands that list and show them.
#pragma once

#include <string>

#include <tenon/json.hpp>
#include <tenon/prepare/rewrite.hpp>

namespace cli {

// [{name, plugin, pattern, replacement, conditions?, bound, active, reason?, rule}], in the order in which
// they are tried; sides are missing where the rule cannot be read.
tenon::Json rewrites_document();
// "equal by bits", "within 1e-06"
std::string bound_text(double bound);

}  // namespace cli
