// Requirements of policies for a plugin's bytes before they are mapped: a place that others cannot
// change, and a signature.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/discovery.hpp"
#include "core/plugin/policy.hpp"

namespace tenon::core {

class Approval {
 public:
  Approval() = default;
  explicit Approval(std::span<const PluginPolicy> policies);

  const PathTrust& trust() const { return trust_; }
  // Whether bytes are judged, so that those which are mapped have to be a private copy.
  bool judges_bytes() const { return !keys_.empty(); }
  // Throws PluginError, stage read, when what `facts` declare needs a signature that these bytes do
  // not have: the bytes of the plugin at `path`, beside which the signature is.
  void require_signature(const PluginFacts& facts, const std::string& path,
                         const ByteSource& bytes) const;
  // The missing signature of a plugin that was found, as its file is now.
  std::optional<PluginFailure> missing_signature(const FoundPlugin& plugin) const;

 private:
  PathTrust trust_;
  std::vector<PluginPolicy::Key> keys_;
};

// Whether a name is in a namespace: "acme", "acme." and "acme.*" are "acme" and all names below it,
// and '*' stands for any text.
bool is_in_namespace(std::string_view space, std::string_view name);

}  // namespace tenon::core
