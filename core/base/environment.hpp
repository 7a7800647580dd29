// The process's environment, read in one place.
#pragma once

#include <string_view>

namespace tenon::core {

// Null when the variable is not set, and for every variable of a program with elevated rights
// (set-uid, set-gid, file capabilities): its environment comes from a user who has fewer.
// [any-thread]
const char* environment(const char* name) noexcept;

// Advice in messages about a plugin that is in none of the folders: the variable, or where it is
// ignored what a program with elevated rights may do. [any-thread]
const char* plugin_folder_advice() noexcept;

// Whether the text of a switch says no: "0", "false", "off" or "no", in capitals as well.
bool says_no(std::string_view text) noexcept;

}  // namespace tenon::core
