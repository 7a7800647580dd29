// The file that holds this code: libtenon, but for unit tests, which link it.
#pragma once

#include <string>

namespace tenon::core {

// Without symbolic links; empty when it is not known. Does not change while the process runs.
// [any-thread]
const std::string& own_file();

}  // namespace tenon::core
