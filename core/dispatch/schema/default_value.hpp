// Defaults of parameters. Private to the folder.
#pragma once

#include "core/dispatch/schema/cursor.hpp"
#include "core/dispatch/schema/schema.hpp"

namespace tenon::core {

// Reads the default of the parameter, whose type is known, at the reading position. Its strings and
// lists live in the schema.
void parse_default(SchemaCursor& text, Schema& schema, Parameter& parameter);

}  // namespace tenon::core
