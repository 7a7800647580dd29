// Keys about trust, as JSON Schema: signatures, lock files, quarantine, and files of other users.
#pragma once

#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace config {

inline constexpr std::string_view kTrustSections = R"({
  "properties": {
    "frozen": {"type": "string", "format": "input-path",
               "description": "lock file, as `tenon lock` writes it: only what it has may be loaded, and only as it is locked"},
    "trust": {"type": "array", "items": {"type": "string", "format": "input-path"},
              "description": "plugin files, and folders of them, that are used although other users can change them"},
    "keys": {"type": "array", "items": {"$ref": "#/definitions/key"},
             "description": "keys by which plugins must be signed, each with the namespaces it is for"},
    "quarantine": {"type": "boolean",
                   "description": "whether plugins that crash while they are loaded are kept out until they change; true when left out"},
    "retry": {"type": "array", "items": {"type": "string", "format": "plugin-id"},
              "description": "ids of plugins that are taken out of quarantine"}
  },
  "definitions": {
    "key": {
      "type": "object",
      "description": "a key that signs plugins, bound to namespaces",
      "properties": {
        "key": {"type": "string", "format": "public-key",
                "description": "public key, as minisign writes it: 'RW' and 54 characters"},
        "namespaces": {"type": "array", "items": {"type": "string", "format": "namespace"},
                       "minItems": 1,
                       "description": "a plugin that declares something in one of them, or whose id is in it, must be signed with this key, or with another that is bound to it: 'acme' is acme and all names below it, '*' stands for any text"}
      },
      "required": ["key", "namespaces"],
      "additionalProperties": false,
      "examples": [{"key": "RWSZLSa+OfoLl3ptRuAod4HRG0HjTRJ7r+rGkBNGRpYpE7CONpusoHAs",
                    "namespaces": ["math", "acme."]}]
    }
  },
  "examples": [
    {"frozen": "tenon.lock", "trust": ["/opt/shared/plugins"],
     "keys": [{"key": "RWSZLSa+OfoLl3ptRuAod4HRG0HjTRJ7r+rGkBNGRpYpE7CONpusoHAs",
               "namespaces": ["acme."]}],
     "quarantine": true, "retry": ["hello"]}]
})";

}  // namespace config

TENON_NAMESPACE_END
