// Versions and hashes of the plugins that are loaded.
#pragma once

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

// [{id, version, sha256}] of loaded plugins; the hash is empty where the file cannot be read any more. A file
// that has not changed is read once.
Json loaded_plugins();

}  // namespace record

TENON_NAMESPACE_END
