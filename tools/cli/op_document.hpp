// The op that a word of the command line means.
#pragma once

#include <string>

#include <tenon/json.hpp>

namespace cli {

// Listing of the op, by its full name or the last part; ValueError, which says so where the name is one of a
// module, type or plugin.
tenon::Json op_document(const std::string& name);

}  // namespace cli
