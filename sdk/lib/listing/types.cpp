// Listings of tensor types: which there are, from facts, and how they handle ops, from the type table.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <tenon/listing/listing.hpp>
#include <tenon/text.hpp>

#include "inventory.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

// Loads the plugin of a type.
void require_type(const std::string& name) {
  uint32_t id = 0;
  detail::check(service::types().find, name.c_str(), &id);
}

bool has(const Json& texts, const std::string& text) {
  for (int64_t i = 0; i < texts.size(); ++i) {
    if (texts[i].text() == text) return true;
  }
  return false;
}

// ---- declared types ----

// How many overrides name each type.
std::map<std::string, int64_t> override_counts(const Json& plugins) {
  std::map<std::string, int64_t> counts;
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (!detail::is_usable(plugins[i])) continue;
    const Json overrides = plugins[i]["facts"]["overrides"];
    for (int64_t k = 0; k < overrides.size(); ++k) {
      const Json names = overrides[k]["types"];
      for (int64_t n = 0; n < names.size(); ++n) ++counts[names[n].text()];
    }
  }
  return counts;
}

void put_type(Writer& document, const Declared& type,
              const std::map<std::string, int64_t>& overrides) {
  const Json& facts = type.facts;
  const std::string fallback = facts["fallback"].text();
  const bool inherits = fallback == "inherit" && facts["parent"].is_null();
  put_members(document, facts, {"name", "parent"});
  document.set("provider", type.plugin);
  put_members(document, facts, {"doc", "handler"});
  const auto count = overrides.find(type.name);
  document.set("fallback", inherits ? "decline" : fallback)
      .set("overrides", count == overrides.end() ? 0 : count->second);
}

// ---- the type table ----

bool any_matches(const Json& patterns, const std::string& text) {
  for (int64_t i = 0; i < patterns.size(); ++i) {
    if (lib::matches(patterns[i].text(), text)) return true;
  }
  return false;
}

// How ops are handled on operands that are all of a type.
class Coverage {
 public:
  explicit Coverage(const std::string& type) : tables_(document(Document::registrations)) {
    const Json types = tables_["types"];
    std::map<std::string, Json> named;
    for (int64_t i = 0; i < types.size(); ++i) named.emplace(types[i]["name"].text(), types[i]);
    for (auto found = named.find(type); found != named.end();
         found = named.find(found->second["parent"].text()))
      line_.push_back(found->second);
    read_overrides();
  }

  Json listing() const {
    const Json& type = line_.front();
    const Json covers = type["covers"];
    Writer listing;
    listing.begin_object().set("type", type["name"]).set("provider", type["provider"]);
    if (covers.size() > 0) listing.set("covers", covers);
    std::map<std::string, int64_t> counts;
    listing.begin_array("ops");
    for (const Declared& op : Inventory().provided_ops()) {
      if (!detail::ignored_reason(op.facts).empty()) continue;
      if (covers.size() > 0 && !any_matches(covers, op.name)) continue;
      const Handled handled = handled_by(op.name);
      ++counts[handled.how];
      listing.begin_object().set("name", op.name).set("how", handled.how);
      if (!handled.by.empty()) listing.set("by", handled.by);
      listing.end();
    }
    listing.end().begin_object("counts");
    for (const char* how : {"handled", "handler", "inherited", "fallback", "missing"})
      listing.set(how, counts[how]);
    return listing.end().end().json();
  }

 private:
  struct Handled {
    const char* how;
    std::string by;
  };

  // Overrides for one type alone: all operands are of the type.
  void read_overrides() {
    const Json overrides = tables_["overrides"];
    for (int64_t i = 0; i < overrides.size(); ++i) {
      const Json entry = overrides[i];
      if (entry["types"].size() != 1 || entry["gradient"].as_bool()) continue;
      overrides_.emplace(std::pair(entry["op"].text(), entry["types"][int64_t{0}].text()),
                         entry["key"].text());
    }
  }

  // Who is asked first: from the type up, as calls go.
  Handled handled_by(const std::string& op) const {
    const Json& type = line_.front();
    if ((type["flags"].integer() & TENON_TYPE_NEVER_OPERAND) != 0) return {"missing", ""};
    for (const Json& level : line_) {
      const bool own = &level == &type;
      const std::string name = level["name"].text();
      if (const auto found = overrides_.find({op, name}); found != overrides_.end())
        return {own ? "handled" : "inherited", "override " + found->second};
      if (level["handler"].as_bool()) return {own ? "handler" : "inherited", "handler of " + name};
      if (level["id"].integer() == 0) return {"inherited", "default handler"};
    }
    const std::string fallback = type["fallback"].text();
    if (fallback == "decline" || !falls_back(op)) return {"missing", ""};
    return {"fallback", lib::format_text("fallback {} of {}", fallback, type["name"].text())};
  }
  // Whether the config lets the fallback stand for the op: the nearest type that the config speaks of
  // decides.
  bool falls_back(const std::string& op) const {
    for (const Json& level : line_) {
      const Json allow = level["fallback_allow"], deny = level["fallback_deny"];
      if (allow.size() == 0 && deny.size() == 0) continue;
      return (allow.size() == 0 || any_matches(allow, op)) && !any_matches(deny, op);
    }
    return true;
  }

  const Json tables_;
  std::vector<Json> line_;  // the type, its parent, and so on
  std::map<std::pair<std::string, std::string>, std::string> overrides_;  // keys, by op and type
};

}  // namespace

Json types() {
  const Inventory inventory;
  const auto overrides = override_counts(inventory.plugins());
  Writer list;
  list.begin_array();
  for (const Declared& type : inventory.all("types")) {
    list.begin_object();
    put_type(list, type, overrides);
    list.end();
  }
  return list.end().json();
}

Json type(const std::string& name) {
  const Inventory inventory;
  const std::vector<Declared> declared = inventory.all("types");
  std::vector<std::string> names;
  for (const Declared& type : declared) names.push_back(type.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw ValueError(lib::format_text("no tensor type is named {}{}", lib::quote(name),
                                      suggestion(name, names)));
  }
  require_type(name);
  const Json tables = document(Document::registrations);
  std::string provider;
  for (int64_t i = 0; i < tables["types"].size(); ++i) {
    if (tables["types"][i]["name"].text() == name) provider = tables["types"][i]["provider"].text();
  }
  Writer document;
  document.begin_object();
  // Several plugins may declare it; one provides it.
  for (const Declared& type : declared) {
    if (type.name != name || type.plugin != provider) continue;
    put_type(document, type, override_counts(inventory.plugins()));
  }
  document.begin_array("overrides_in_force");
  const Json overrides = tables["overrides"];
  for (int64_t i = 0; i < overrides.size(); ++i) {
    const Json entry = overrides[i], differences = entry["differences"];
    if (!has(entry["types"], name)) continue;
    document.begin_object();
    put_members(document, entry, {"op", "signature", "provider"});
    std::vector<std::string> texts;
    for (int64_t d = 0; d < differences.size(); ++d) texts.push_back(differences[d].text());
    if (!texts.empty()) document.set("signature_differs", join(texts, "; "));
    document.end();
  }
  return document.end().end().json();
}

Json coverage(const std::string& type) {
  require_type(type);
  return Coverage(type).listing();
}

Json ambiguities() {
  // Overrides are known with the types that they are for. One plugin that is refused does not hide
  // what is wrong with others; where it may be refused for its ambiguities, it is listed instead.
  const Inventory inventory;
  for (const Declared& type : inventory.all("types")) {
    try {
      require_type(type.name);
    } catch (const Error& error) {
      if (document(Document::runtime)["strict"].as_bool()) throw;
      constexpr int32_t warning = 3;
      const std::string_view message = error.what();
      service::threads().log(warning, type.plugin.c_str(), message.data(),
                             static_cast<int64_t>(message.size()));
    }
  }
  return document(Document::registrations)["ambiguities"];
}

}  // namespace listing

TENON_NAMESPACE_END
