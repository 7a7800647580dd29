// Keys, locks and quarantine of policies.
#include "policy.hpp"

#include <algorithm>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

Json array_of(const std::vector<std::string>& strings) {
  JsonArray list;
  for (const std::string& text : strings) list.add(text);
  return list.json();
}

Json keys_document(const Json& keys) {
  JsonArray kept;
  for (int64_t i = 0; i < keys.size(); ++i) {
    const std::string key = keys[i]["key"].text();
    if (!parse_minisign_key(key)) {
      const std::string place = keys[i].place();
      throw ConfigError(
          lib::format_text("{}{}`keys` has a text that is not a minisign key; copy "
                           "the second line of the file that minisign -G has written",
                           place, place.empty() ? "" : ": "));
    }
    kept.add(JsonObject()
                 .set("key", key)
                 .set("namespaces", array_of(lib::texts_of(keys[i]["namespaces"])))
                 .set("place", keys[i].place())
                 .json());
  }
  return kept.json();
}

Json lock_with_file(const std::string& file) {
  const Json document = lock_document(read_lock(file));
  JsonObject kept;
  for (int64_t i = 0; i < document.size(); ++i) kept.set(document.key(i), document[i]);
  return kept.set("file", file).json();
}

}  // namespace

Json policy_document(const Json& config) {
  JsonObject kept;
  bool says = false;
  if (const Json keys = config["keys"]; keys.size() > 0) {
    kept.set("keys", keys_document(keys));
    says = true;
  }
  if (const std::string file = config["frozen"].text(); !file.empty()) {
    kept.set("lock", lock_with_file(file));
    says = true;
  }
  if (!config["quarantine"].as_bool(true)) {
    kept.set("quarantine", false);
    says = true;
  }
  return says ? kept.json() : Json();
}

Policies::Policies(const tenon_json* const* documents, int64_t count) {
  for (int64_t i = 0; i < count; ++i) documents_.push_back(Json::borrow(documents[i]));
}

bool Policies::judges_bytes() const {
  return std::any_of(documents_.begin(), documents_.end(), [](const Json& document) {
    return document["keys"].defined() || document["lock"].defined();
  });
}

bool Policies::keeps_quarantine() const {
  return std::all_of(documents_.begin(), documents_.end(),
                     [](const Json& document) { return document["quarantine"].as_bool(true); });
}

std::vector<BoundKey> Policies::keys() const {
  std::vector<BoundKey> bound;
  for (const Json& document : documents_) {
    const Json keys = document["keys"];
    for (int64_t i = 0; i < keys.size(); ++i) {
      const auto key = parse_minisign_key(keys[i]["key"].text());
      if (!key) throw ConfigError("a policy has a key that is not one of minisign");
      bound.push_back({*key, lib::texts_of(keys[i]["namespaces"]), keys[i]["place"].text()});
    }
  }
  return bound;
}

std::vector<Json> Policies::locks() const {
  std::vector<Json> locks;
  for (const Json& document : documents_) {
    if (Json lock = document["lock"]; lock.defined()) locks.push_back(std::move(lock));
  }
  return locks;
}

Json locked_entry(const Json& lock, const std::string& plugin) {
  const Json plugins = lock["plugins"];
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["id"].text() == plugin) return plugins[i];
  }
  return {};
}

}  // namespace trust

TENON_NAMESPACE_END
