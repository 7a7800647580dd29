// A config that trains as it is: `tenon new --config`.
#pragma once

#include <string>

namespace cli {

// Writes the file `name`, or config.jsonc in the folder of this name, for the samples of `data`;
// empty: for a small file of samples, which it writes, too. Returns the exit code. No file is
// overwritten.
int create_config(const std::string& name, const std::string& data);

}  // namespace cli
