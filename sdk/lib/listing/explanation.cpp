// Declarations of plugins about a call, beside the host's account of it.
#include "explanation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <tenon/listing/why.hpp>
#include <tenon/runtime.hpp>

#include "batching.hpp"
#include "inventory.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

using lib::format_text, lib::quote, lib::texts_of;

// An override that a plugin declares for the operands' types, and that is not active.
struct Possible {
  std::string plugin, key, state, reason;
};

class Explanation {
 public:
  Explanation(const Json& account, Json arguments)
      : account_(account),
        op_(account["op"].text()),
        arguments_(std::move(arguments)),
        plugins_(document(Document::plugins)),
        providers_(providers(ItemKind::op, op_)) {
    for (std::string& type : texts_of(account["types"])) {
      if (type != "Tensor") types_.push_back(std::move(type));
    }
    if (types_.empty()) return;
    tables_ = document(Document::registrations);
    const Json types = tables_["types"];
    for (int64_t i = 0; i < types.size(); ++i) table_.emplace(types[i]["name"].text(), types[i]);
    find_possible();
  }

  Json json() {
    document_.begin_object();
    put_members(document_, account_, {"op", "signature"});
    put_provider(account_);
    put_ranked();
    document_.set("arguments", arguments_);
    if (account_["types"].defined()) put_walk();
    if (account_["error"].defined()) put_refusal();
    return document_.end().json();
  }

 private:
  void put_provider(const Json& item) {
    const Json provider = item["provider"];
    if (provider.defined())
      document_.set("provider", provider).set("version", version_of(provider.text()));
  }
  std::string version_of(const std::string& plugin) const {
    for (int64_t i = 0; i < plugins_.size(); ++i) {
      if (plugins_[i]["id"].text() == plugin && plugins_[i]["state"].text() != "shadowed")
        return plugins_[i]["version"].text();
    }
    return "";
  }

  void put_ranked() {
    for (int64_t i = 0; i < providers_.size(); ++i) {
      const Json provider = providers_[i], reason = provider["reason"];
      if (provider["plugin"].text() == account_["provider"].text() && reason.defined())
        document_.set("ranked", reason);
    }
  }

  // ---- the walk ----

  void put_walk() {
    put_members(document_, account_, {"types", "modes", "modes_below"});
    if (account_["order"].defined())
      put_members(document_, account_, {"order"});
    else
      document_.begin_array("order").end();
    const Json steps = account_["steps"];
    document_.begin_array("steps");
    for (int64_t i = 0; i < steps.size(); ++i) {
      document_.begin_object();
      put_members(document_, steps[i], {"type", "what"});
      put_provider(steps[i]);
      put_members(document_, steps[i], {"asked", "reason"});
      document_.end();
    }
    document_.end();
    put_members(document_, account_, {"declined"});
    if (account_["error"].defined()) return;
    put_next();
    put_outranked();
    for (const char* key : {"answer", "then"}) {
      const Json handling = account_[key];
      if (!handling.defined()) continue;
      document_.begin_object(key);
      put_members(document_, handling, {"what"});
      put_provider(handling);
      document_.end();
    }
    put_members(document_, account_, {"kernel", "gradient"});
    put_batching();
  }

  // Operands of a vmap: the rules that it tries in this order.
  void put_batching() {
    if (std::find(types_.begin(), types_.end(), "Batched") == types_.end()) return;
    document_.set("batching", batching_of(op_));
  }

  // Who runs what the provider that takes this call declines.
  void put_next() {
    const Json last = account_["implementation"], declined = account_["declined"];
    if (!last["may_decline"].as_bool()) return;
    std::set<std::string> passed = {last["provider"].text()};
    for (int64_t i = 0; i < declined.size(); ++i) passed.insert(declined[i]["plugin"].text());
    document_.begin_array("next");
    for (int64_t i = 0; i < providers_.size(); ++i) {
      const std::string plugin = providers_[i]["plugin"].text();
      if (providers_[i]["standing"].text() == "next" && passed.count(plugin) == 0)
        document_.add(plugin);
    }
    document_.end();
  }

  // Who else declares what is asked, and is not.
  void put_outranked() {
    document_.begin_array("outranked");
    for (int64_t i = 0; i < providers_.size(); ++i) {
      const Json provider = providers_[i];
      const std::string standing = provider["standing"].text();
      if (standing != "chosen" && standing != "next")
        put_unused(provider["plugin"].text(), "op " + op_, standing, provider["reason"].text());
    }
    for (const Possible& one : possible_)
      put_unused(one.plugin, "override " + one.key, one.state, one.reason);
    document_.end();
  }
  void put_unused(const std::string& plugin, const std::string& what, const std::string& standing,
                  const std::string& reason) {
    document_.begin_object().set("plugin", plugin).set("what", what).set("standing", standing);
    if (!reason.empty()) document_.set("reason", reason);
    document_.end();
  }

  // ---- overrides for the types ----

  // Whether one of the operands' types derives from it, or the other way round.
  bool relates(const std::string& name) const {
    const auto other = table_.find(name);
    if (other == table_.end()) return false;
    return std::any_of(types_.begin(), types_.end(), [&](const std::string& type) {
      const auto id = [](const Json& entry) {
        return static_cast<uint32_t>(entry["id"].integer());
      };
      const uint32_t own = id(table_.at(type)), another = id(other->second);
      return service::types().is(own, another) != 0 || service::types().is(another, own) != 0;
    });
  }
  bool any_relates(const Json& names) const {
    for (int64_t i = 0; i < names.size(); ++i) {
      if (relates(names[i].text())) return true;
    }
    return false;
  }

  // From facts.
  void find_possible() {
    const Json active = tables_["overrides"], plugins = document(Document::facts);
    std::map<std::string, std::string> preferred;  // plugin of each active override
    for (int64_t i = 0; i < active.size(); ++i)
      preferred.emplace(active[i]["key"].text(), active[i]["provider"].text());
    for (int64_t i = 0; i < plugins.size(); ++i) {
      const Json plugin = plugins[i], overrides = plugin["facts"]["overrides"];
      if (plugin["state"].text() == "shadowed") continue;
      for (int64_t k = 0; k < overrides.size(); ++k) {
        const std::string key = overrides[k]["key"].text();
        if (key.substr(0, key.find('[')) != op_ || !any_relates(overrides[k]["types"])) continue;
        const auto known = preferred.find(key);
        add_possible(plugin, key, known == preferred.end() ? "" : known->second);
      }
    }
  }
  void add_possible(const Json& plugin, const std::string& key, const std::string& preferred) {
    const std::string id = plugin["id"].text(), state = plugin["state"].text();
    if (preferred == id) return;
    if (state != "active")
      possible_.push_back(
          {id, key, state == "indexed" ? "not loaded" : state, plugin["reason"].text()});
    else if (!preferred.empty())
      possible_.push_back(
          {id, key, "outranked", format_text("plugin {} is preferred", quote(preferred))});
    else
      possible_.push_back({id, key, "switched off",
                           "switched off by `ops.disable` in a config, or by an OverrideDisabled"});
  }

  // ---- refusals ----

  void put_refusal() {
    put_members(document_, account_, {"error", "kind"});
    document_.begin_array("nearest");
    for (const std::string& text : nearest_overrides()) document_.add(text);
    document_.end().begin_array("plugins");
    for (const Possible& one : possible_) {
      document_.begin_object()
          .set("plugin", one.plugin)
          .set("override", one.key)
          .set("state", one.state)
          .set("reason", one.reason)
          .end();
    }
    document_.end().set("suggestion", suggestion());
  }

  // Active overrides for one of the types or a relative; else for any types.
  std::vector<std::string> nearest_overrides() const {
    std::vector<std::string> related, others;
    const Json active = tables_["overrides"];
    for (int64_t i = 0; i < active.size(); ++i) {
      const Json entry = active[i];
      if (entry["op"].text() != op_) continue;
      std::vector<std::string>& list = any_relates(entry["types"]) ? related : others;
      if (list.size() < 3)
        list.push_back(format_text("{} from '{}'", entry["key"].text(), entry["provider"].text()));
    }
    return related.empty() ? others : related;
  }

  // One thing to try.
  std::string suggestion() const {
    const std::string refused_by = account_["refused_by"].text();
    if (refused_by == "op") return format_text("see `tenon show {}` for what it takes", op_);
    if (refused_by == "binding")
      return format_text("call it as {}{}", op_.substr(op_.rfind('.') + 1),
                         account_["signature"].text());
    const std::string remedy = account_["suggestion"].text();
    return remedy.empty() ? suggestion_for_types() : remedy;
  }
  std::string suggestion_for_types() const {
    for (const Possible& one : possible_) {
      if (one.state == "outranked") continue;
      if (one.state == "switched off") return format_text("switch override {} on again", one.key);
      if (one.state == "not loaded") return format_text("load plugin '{}'", one.plugin);
      if (one.state == "failed" || one.state == "quarantined")
        return format_text("repair plugin '{}': `tenon show {}` says what is wrong", one.plugin,
                           one.plugin);
      return format_text("enable plugin '{}' in the config", one.plugin);
    }
    if (!account_["order"].defined()) return "pass a plain Tensor: the op is not overridable";
    for (auto type = types_.rbegin(); type != types_.rend(); ++type) {
      if ((table_.at(*type)["flags"].integer() & TENON_TYPE_NEVER_OPERAND) != 0)
        return format_text("pass another operand: no op takes {}", *type);
    }
    const std::string key = format_text("{}[{}]", op_, join(types_, ", "));
    for (const std::string& type : types_) {
      if (converts(type))
        return format_text(
            "register an override {}, or convert by ensure_tensor({}) or by the type's fallback",
            key, type);
    }
    return format_text("register an override {}, or give the type a tenon_function", key);
  }
  // Whether it, or a type that it derives from, has a conversion to Tensor.
  bool converts(const std::string& type) const {
    for (auto at = table_.find(type); at != table_.end();
         at = table_.find(at->second["parent"].text())) {
      if (at->second["converts"].as_bool()) return true;
    }
    return false;
  }

  const Json& account_;
  const std::string op_;
  const Json arguments_;
  const Json plugins_, providers_;
  std::vector<std::string> types_;  // names of the operands' types, but for Tensor
  Json tables_;
  std::map<std::string, Json> table_;  // types by name
  std::vector<Possible> possible_;
  Writer document_;
};

}  // namespace

Json explanation(const Json& account) { return explanation_of(account, account["arguments"]); }

Json explanation_of(const Json& account, const Json& arguments) {
  return Explanation(account, arguments).json();
}

}  // namespace listing

TENON_NAMESPACE_END
