// Removing a folder that others have written into.
#pragma once

#include <filesystem>
#include <system_error>

namespace cli {

// Also what its owner may not read or change by the modes of folders. Links are not followed; nothing
// there is not a fault.
void remove_tree(const std::filesystem::path& path, std::error_code& fault);

}  // namespace cli
