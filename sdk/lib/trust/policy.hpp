// The part of one config for the guard, as the document that the host keeps: checked, with the lock file read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/trust/lock.hpp>
#include <tenon/trust/signed_names.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// {keys: [{key, namespaces, place}], lock: a lock file's document and its `file`, quarantine: false}, without
// what the config does not say; undefined where that is all. Throws ConfigError or IOError.
Json policy_document(const Json& config);

// Such documents, of the policies that are active. Borrowed for one call of the guard.
class Policies {
 public:
  Policies(const tenon_json* const* documents, int64_t count);

  bool judges_bytes() const;
  bool keeps_quarantine() const;
  std::vector<BoundKey> keys() const;
  // As documents, the newest first; `file` is their member.
  std::vector<Json> locks() const;

 private:
  std::vector<Json> documents_;
};

// The entry of a plugin in the document of a lock; undefined: it is not locked.
Json locked_entry(const Json& lock, const std::string& plugin);

}  // namespace trust

TENON_NAMESPACE_END
