// Signatures held against the namespaces that keys are bound to.
#include "core/plugin/approval.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/input_file.hpp"
#include "core/base/text.hpp"
#include "core/plugin/absolute_path.hpp"

namespace tenon::core {

namespace {

using Key = PluginPolicy::Key;

std::vector<std::string> allowed_paths(std::span<const PluginPolicy> policies) {
  std::vector<std::string> paths;
  for (const PluginPolicy& policy : policies) {
    for (const std::string& path : policy.trust) paths.push_back(absolute_path(path));
  }
  return paths;
}

bool covers(const Key& key, std::string_view name) {
  return std::ranges::any_of(
      key.namespaces, [&](const std::string& space) { return is_in_namespace(space, name); });
}

// A name that a plugin takes, and what a message calls it.
struct Claim {
  std::string_view name;
  std::string text;
};

// An override counts as its op: it changes what the op does.
std::vector<Claim> claims_of(const PluginFacts& facts) {
  std::vector<Claim> claims = {{facts.id, "its id"}};
  const auto add = [&](const char* kind, std::string_view name) {
    claims.push_back({name, format_text("{} {}", kind, quote(name))});
  };
  for (const OpFacts& op : facts.ops) add("op", op.name());
  for (const ModuleFacts& module : facts.modules) add("module", module.name());
  for (const TypeFacts& type : facts.types) add("type", type.name());
  for (const OverrideFacts& entry : facts.overrides)
    claims.push_back({schema_name(entry.schema), format_text("override {}", entry.key)});
  return claims;
}

std::string key_names(std::span<const Key* const> keys) {
  std::vector<std::string> names;
  for (const Key* key : keys) names.push_back(key_id_text(key->key.id));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const Words words(names.begin(), names.end());
  return word_list(words, "or");
}

class SignatureCheck {
 public:
  SignatureCheck(const std::string& id, const std::string& path, const ByteSource& bytes)
      : id_(id), path_(path), file_(format_text("{}.minisig", path)), bytes_(bytes) {}

  // The key of `keys` that has signed the bytes.
  void require(const Claim& claim, std::span<const Key* const> keys) {
    if (!signature_) read(claim, keys);
    std::string fault = "it was made with another key";
    for (const Key* key : keys) {
      if (key->key.id != signature_->id) continue;
      fault = fault_of(*key);
      if (fault.empty()) return;
    }
    fail(claim, keys, format_text("signature {} does not match this file: {}", quote(file_), fault),
         format_text("key {}", key_id_text(signature_->id)));
  }

 private:
  void read(const Claim& claim, std::span<const Key* const> keys) {
    try {
      const InputFile file(file_, "the signature ");
      if (file.size() > kMostMinisignBytes)
        throw Error(TENON_ERROR_VALUE, "it has more than {} bytes", kMostMinisignBytes);
      std::string text(static_cast<size_t>(file.size()), '\0');
      file.read_at(text.data(), file.size(), 0);
      signature_ = parse_minisign_signature(text);
    } catch (const Error& error) {
      fail(claim, keys,
           error.kind == TENON_ERROR_IO
               ? format_text("it has no signature: {}", error.message)
               : format_text("{} is not a signature: {}", quote(file_), error.message));
    }
  }

  // Verified once for each key.
  std::string fault_of(const Key& key) {
    for (const auto& [known, fault] : verified_) {
      if (known == key.key) return fault;
    }
    verified_.emplace_back(key.key, signature_fault(*signature_, key.key, bytes_));
    return verified_.back().second;
  }

  [[noreturn]] void fail(const Claim& claim, std::span<const Key* const> keys, std::string problem,
                         std::string found = "") const {
    PluginFailure failure;
    failure.stage = PluginStage::Read;
    failure.plugin = id_;
    failure.path = path_;
    failure.problem = std::move(problem);
    failure.expected = format_text("a signature by key {}, to which the namespace of {} is bound",
                                   key_names(keys), claim.text);
    failure.found = std::move(found);
    failure.remedy = format_text("sign it: minisign -S -m {}; or correct `keys`", quote(path_));
    failure.place = place_in(keys.front()->written);
    throw PluginError(std::move(failure));
  }

  const std::string& id_;
  const std::string& path_;
  const std::string file_;
  const ByteSource& bytes_;
  std::optional<MinisignSignature> signature_;
  std::vector<std::pair<MinisignKey, std::string>> verified_;
};

}  // namespace

bool is_in_namespace(std::string_view space, std::string_view name) {
  if (matches_pattern(space, name)) return true;
  if (space.ends_with(".*")) space.remove_suffix(2);
  if (space.ends_with('.')) space.remove_suffix(1);
  return matches_pattern(space, name) || matches_pattern(format_text("{}.*", space), name);
}

Approval::Approval(std::span<const PluginPolicy> policies) : trust_(allowed_paths(policies)) {
  for (const PluginPolicy& policy : policies)
    keys_.insert(keys_.end(), policy.keys.begin(), policy.keys.end());
}

void Approval::require_signature(const PluginFacts& facts, const std::string& path,
                                 const ByteSource& bytes) const {
  if (keys_.empty()) return;
  SignatureCheck check(facts.id, path, bytes);
  for (const Claim& claim : claims_of(facts)) {
    std::vector<const Key*> bound;
    for (const Key& key : keys_) {
      if (covers(key, claim.name)) bound.push_back(&key);
    }
    if (!bound.empty()) check.require(claim, bound);
  }
}

std::optional<PluginFailure> Approval::missing_signature(const FoundPlugin& plugin) const {
  if (keys_.empty()) return std::nullopt;
  try {
    require_signature(*plugin.facts, plugin.path, FileSource(plugin.path));
    return std::nullopt;
  } catch (const PluginError& error) {
    return error.failure;
  } catch (const Error& error) {
    PluginFailure failure;
    failure.stage = PluginStage::Read;
    failure.plugin = plugin.facts->id;
    failure.path = plugin.path;
    failure.problem = error.message;
    failure.remedy = "copy the file again";
    return failure;
  }
}

}  // namespace tenon::core
