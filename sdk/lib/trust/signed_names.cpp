// Signatures held against the namespaces that keys are bound to.
#include <algorithm>
#include <fnmatch.h>
#include <utility>

#include <tenon/trust/signed_names.hpp>

#include "file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;
using lib::quote;

using Keys = std::vector<const BoundKey*>;

// A name that a plugin takes, and what a message calls it.
struct Claim {
  std::string name;
  std::string text;
};

std::string schema_name(const std::string& schema) {
  const size_t end = std::min(schema.find('('), schema.size());
  const size_t begin = std::min(schema.find_first_not_of(' '), end);
  const size_t last = schema.find_last_not_of(' ', end == 0 ? 0 : end - 1);
  return last == schema.npos || last < begin ? "" : schema.substr(begin, last + 1 - begin);
}

// An override counts as its op: it changes what the op does.
std::vector<Claim> claims_of(const Json& facts) {
  std::vector<Claim> claims = {{facts["id"].text(), "its id"}};
  const auto add = [&](const char* list, const char* kind) {
    const Json entries = facts[list];
    for (int64_t i = 0; i < entries.size(); ++i) {
      const std::string name = entries[i]["name"].text();
      claims.push_back({name, format_text("{} {}", kind, quote(name))});
    }
  };
  add("ops", "op");
  add("modules", "module");
  add("types", "type");
  const Json overrides = facts["overrides"];
  for (int64_t i = 0; i < overrides.size(); ++i)
    claims.push_back({schema_name(overrides[i]["schema"].text()),
                      format_text("override {}", overrides[i]["name"].text())});
  return claims;
}

bool covers(const BoundKey& key, const std::string& name) {
  return std::any_of(key.namespaces.begin(), key.namespaces.end(),
                     [&](const std::string& space) { return is_in_namespace(space, name); });
}

Keys keys_for(const Claim& claim, const std::vector<BoundKey>& keys) {
  Keys bound;
  for (const BoundKey& key : keys) {
    if (covers(key, claim.name)) bound.push_back(&key);
  }
  return bound;
}

std::string key_names(const Keys& keys) {
  std::vector<std::string> names;
  for (const BoundKey* key : keys) names.push_back(key_id_text(key->key.id));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return lib::word_list(names, "or");
}

// One file and its signature, which is read when a claim first needs it.
class SignatureCheck {
 public:
  explicit SignatureCheck(const SignedFile& file)
      : file_(file), signature_file_(format_text("{}.minisig", file.path)) {}

  // Why none of `keys` has signed the bytes.
  std::optional<Refusal> refusal(const Claim& claim, const Keys& keys) {
    if (!signature_) {
      if (std::string problem = read(); !problem.empty())
        return refuse(claim, keys, std::move(problem));
    }
    std::string fault = "it was made with another key";
    for (const BoundKey* key : keys) {
      if (key->key.id != signature_->id) continue;
      fault = fault_of(*key);
      if (fault.empty()) return std::nullopt;
    }
    return refuse(
        claim, keys,
        format_text("signature {} does not match this file: {}", quote(signature_file_), fault),
        format_text("key {}", key_id_text(signature_->id)));
  }

 private:
  // Why there is no signature; empty: it was read.
  std::string read() {
    try {
      const RegularFile file(signature_file_, "the signature ");
      if (file.size() > kMostMinisignBytes) {
        throw ValueError(format_text("it has more than {} bytes", kMostMinisignBytes));
      }
      signature_ = parse_minisign_signature(file.read());
      return {};
    } catch (const IOError& error) {
      return format_text("it has no signature: {}", error.what());
    } catch (const Error& error) {
      return format_text("{} is not a signature: {}", quote(signature_file_), error.what());
    }
  }

  // Verified once for each key.
  std::string fault_of(const BoundKey& key) {
    for (const auto& [known, fault] : verified_) {
      if (known == key.key) return fault;
    }
    verified_.emplace_back(key.key, signature_fault(*signature_, key.key, file_.bytes));
    return verified_.back().second;
  }

  Refusal refuse(const Claim& claim, const Keys& keys, std::string problem,
                 std::string found = "") const {
    Refusal refusal;
    refusal.plugin = file_.plugin;
    refusal.path = file_.path;
    refusal.problem = std::move(problem);
    refusal.expected = format_text("a signature by key {}, to which the namespace of {} is bound",
                                   key_names(keys), claim.text);
    refusal.found = std::move(found);
    refusal.remedy =
        format_text("sign it: minisign -S -m {}; or correct `keys`", quote(file_.path));
    refusal.place = keys.front()->place;
    return refusal;
  }

  const SignedFile& file_;
  const std::string signature_file_;
  std::optional<MinisignSignature> signature_;
  std::vector<std::pair<MinisignKey, std::string>> verified_;
};

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace

bool is_in_namespace(std::string_view given, std::string_view name_of) {
  std::string space(given);
  const std::string name(name_of);
  if (matches(space, name)) return true;
  if (space.size() >= 2 && space.compare(space.size() - 2, 2, ".*") == 0)
    space.resize(space.size() - 2);
  if (!space.empty() && space.back() == '.') space.pop_back();
  return matches(space, name) || matches(space + ".*", name);
}

bool needs_signature(const std::vector<BoundKey>& keys, const Json& facts) {
  if (keys.empty()) return false;
  const std::vector<Claim> claims = claims_of(facts);
  return std::any_of(claims.begin(), claims.end(),
                     [&](const Claim& claim) { return !keys_for(claim, keys).empty(); });
}

std::optional<Refusal> missing_signature(const std::vector<BoundKey>& keys, const Json& facts,
                                         const SignedFile& file) {
  if (keys.empty()) return std::nullopt;
  SignatureCheck check(file);
  for (const Claim& claim : claims_of(facts)) {
    const Keys bound = keys_for(claim, keys);
    if (bound.empty()) continue;
    if (auto refusal = check.refusal(claim, bound)) return refusal;
  }
  return std::nullopt;
}

}  // namespace trust

TENON_NAMESPACE_END
