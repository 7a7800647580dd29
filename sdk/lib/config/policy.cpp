// The part of a config that the host decides by.
#include <tenon/config/config.hpp>

#include "document.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

constexpr const char* kPolicyKeys[] = {"plugins", "search_paths", "ops",    "types",
                                       "strict",  "autoload",     "frozen", "trust",
                                       "keys",    "quarantine",   "retry"};

}  // namespace

Json policy(const Json& config) {
  const ConfigNode root = config;
  DocumentBuilder out;
  out.begin_object(root);
  for (const char* key : kPolicyKeys) {
    const ConfigNode member = root[key];
    if (!member) continue;
    out.key(key);
    out.copy(member, member);
  }
  out.end();
  return out.finish(root);
}

void apply(const Json& config, EagerPlugins eager) { apply_policy(policy(config), eager); }

}  // namespace config

TENON_NAMESPACE_END
