// Keys that are bound to namespaces: a plugin that takes a name in one must carry a signature by a key that
// is bound to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/trust/minisign.hpp>
#include <tenon/trust/refusal.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct BoundKey {                       // a key and what it may sign
  MinisignKey key;                      // the public key
  std::vector<std::string> namespaces;  // namespaces of ops, such as "acme"
  std::string place;                    // in a config; empty: code binds it
};

// Whether a name is in a namespace: "acme", "acme." and "acme.*" are "acme" and all names below it,
// and '*' stands for any text.
bool is_in_namespace(std::string_view space, std::string_view name);

// Whether a name that the facts declare is in a namespace of a key. tenon/abi/guard.h has the members of
// facts.
bool needs_signature(const std::vector<BoundKey>& keys, const Json& facts);

// A plugin's file that keys are held against: its signature is beside it, in PATH.minisig.
struct SignedFile {
  std::string plugin, path;  // id and file
  std::string_view bytes;    // contents of the file
};
// Why the file needs a signature that it does not have, by what its facts declare. Nothing: it has
// each that it needs.
std::optional<Refusal> missing_signature(const std::vector<BoundKey>& keys, const Json& facts,
                                         const SignedFile& file);

}  // namespace trust

TENON_NAMESPACE_END
