// What texts of a config must look like: as code, as a regular expression, and in words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/plugin/config_table.hpp"

namespace tenon::core {

// Whether the text is of the kind; choices are held against those of their schema instead.
bool fits_text(ConfigText kind, std::string_view text);
// The same as a regular expression of ECMAScript; empty where none says it.
std::string_view text_pattern(ConfigText kind);

// "an integer from 1 to 1024", "'lazy', 'eager' or 'never'", ...
std::string expected_text(const ConfigSchema& schema);
std::string expected_text(std::span<const ConfigSchema> schemas);

}  // namespace tenon::core
