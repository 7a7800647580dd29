#include "rule_set.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/conversion_rules.hpp>
#include <tenon/runtime.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using lib::format_text;

bool continues_rule(std::string_view before, std::string_view line) {
  const auto begins = [&](std::string_view word) { return line.substr(0, word.size()) == word; };
  const auto ends = [&](std::string_view word) {
    return before.size() >= word.size() && before.substr(before.size() - word.size()) == word;
  };
  return begins("=>") || begins("where ") || begins("within ") || ends(",") || ends("(") ||
         ends("=>");
}

namespace {

struct WrittenRule {
  std::string plugin, text;
};
std::vector<WrittenRule> written_rules(const Json& plugins) {
  std::vector<WrittenRule> rules;
  for_each_conversion_rule(plugins, [&](const std::string& format, const std::string& plugin,
                                        std::string_view line) {
    if (format != "rewrite" || line.front() == '#') return;
    if (!rules.empty() && rules.back().plugin == plugin && continues_rule(rules.back().text, line))
      rules.back().text += " " + std::string(line);
    else
      rules.push_back({plugin, std::string(line)});
  });
  return rules;
}

std::map<std::string, std::string> states_of(const Json& plugins) {
  std::map<std::string, std::string> states;
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (tenon::detail::is_usable(plugins[i]))
      states[plugins[i]["id"].text()] = plugins[i]["state"].text();
  }
  return states;
}

std::map<std::string, std::string> schemas_of(const Json& plugins) {
  std::map<std::string, std::string> schemas;
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const Json ops = plugins[i]["facts"]["ops"];
    if (!tenon::detail::is_usable(plugins[i]) || plugins[i]["state"].text() == "excluded") continue;
    for (int64_t k = 0; k < ops.size(); ++k) {
      if (!ops[k]["fault"].defined())
        schemas.emplace(ops[k]["name"].text(), ops[k]["schema"].text());
    }
  }
  return schemas;
}

// Choice of the process.
struct Policy {
  std::mutex mutex;
  Options options;
  std::atomic<uint64_t> generation{0};
};
Policy& process_policy() {
  static auto& policy = *new Policy;
  return policy;
}
Options with_policy(const Options& own) {
  Options options = own;
  Policy& policy = process_policy();
  const std::lock_guard lock(policy.mutex);
  const auto append = [](std::vector<std::string>& list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  options.enabled = own.enabled && policy.options.enabled;
  append(options.disable, policy.options.disable);
  append(options.prefer, policy.options.prefer);
  return options;
}

size_t rank_of(const Options& options, const std::string& name) {
  size_t rank = 0;
  while (rank < options.prefer.size() && !lib::matches(options.prefer[rank], name)) ++rank;
  return rank;
}
bool is_disabled(const Options& options, const std::string& name) {
  return std::any_of(options.disable.begin(), options.disable.end(),
                     [&](const std::string& pattern) { return lib::matches(pattern, name); });
}

}  // namespace

uint64_t policy_generation() { return process_policy().generation.load(); }

void apply_policy(const Json& section) {
  Options options = options_of(section);
  Policy& policy = process_policy();
  const std::lock_guard lock(policy.mutex);
  policy.options = std::move(options);
  ++policy.generation;
}

RuleSet::RuleSet(const Options& own) {
  const Options options = with_policy(own);
  const Json plugins = document(Document::facts);
  read(options, plugins);
  refuse_equal_names();
  for (const std::unique_ptr<Entry>& entry : entries_) {
    ListedRule& listed = entry->listed;
    entry->rank = rank_of(options, listed.rule.name);
    if (!listed.reason.empty()) continue;
    if (!options.enabled)
      listed.reason = "rewrites are switched off";
    else if (is_disabled(options, listed.rule.name))
      listed.reason = "it is disabled";
  }
  signatures_ = std::make_unique<Signatures>(schemas_of(plugins));
  compile_all(*signatures_);
}

void RuleSet::add(Rule rule, std::string reason) {
  auto entry = std::make_unique<Entry>();
  entry->listed.rule = std::move(rule);
  entry->listed.reason = std::move(reason);
  entries_.push_back(std::move(entry));
}

void RuleSet::read(const Options& options, const Json& plugins) {
  for (const Rule& rule : options.rules) add(rule, "");
  if (!options.declared) return;
  const std::map<std::string, std::string> states = states_of(plugins);
  for (const WrittenRule& written : written_rules(plugins)) {
    try {
      Rule rule = read_rule(written.plugin, written.text);
      const auto state = states.find(written.plugin);
      const bool excluded = state != states.end() && state->second == "excluded";
      add(std::move(rule), excluded ? "its plugin is not used, or is unloaded" : "");
    } catch (const ValueError& fault) {
      Rule rule;
      rule.plugin = written.plugin;
      rule.text = written.text;
      rule.name = tenon::detail::trim(written.text.substr(0, written.text.find(':')));
      add(std::move(rule), fault.what());
    }
  }
}

void RuleSet::refuse_equal_names() {
  std::map<std::string, size_t> count;
  for (const std::unique_ptr<Entry>& entry : entries_) ++count[entry->listed.rule.name];
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (count[entry->listed.rule.name] > 1 && entry->listed.reason.empty())
      entry->listed.reason =
          format_text("{} rules have its name: rename all but one", count[entry->listed.rule.name]);
  }
}

void RuleSet::compile_all(Signatures& signatures) {
  std::vector<std::pair<const Entry*, CompiledRule>> active;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (!entry->listed.reason.empty()) continue;
    try {
      active.emplace_back(entry.get(), compile(entry->listed.rule, signatures));
    } catch (const ValueError& fault) {
      entry->listed.reason = fault.what();
    }
  }
  std::stable_sort(active.begin(), active.end(), [](const auto& a, const auto& b) {
    if (a.first->rank != b.first->rank) return a.first->rank < b.first->rank;
    if (a.second.calls != b.second.calls) return a.second.calls > b.second.calls;
    if (a.second.left != b.second.left) return a.second.left < b.second.left;
    return a.second.rule->name < b.second.rule->name;
  });
  for (auto& [entry, compiled] : active) active_.push_back(std::move(compiled));
}

std::vector<ListedRule> RuleSet::listed() const {
  std::vector<ListedRule> rules, others;
  for (const CompiledRule& rule : active_) rules.push_back({*rule.rule, ""});
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (!entry->listed.reason.empty()) others.push_back(entry->listed);
  }
  std::stable_sort(others.begin(), others.end(), [](const ListedRule& a, const ListedRule& b) {
    return a.rule.name < b.rule.name;
  });
  rules.insert(rules.end(), others.begin(), others.end());
  return rules;
}

namespace {

// The last set of options without rules of an application.
struct KeptSet {
  std::mutex mutex;
  uint64_t ops = 0, policy = 0;
  Options options;
  std::shared_ptr<const RuleSet> set;

  bool is_for(const Options& other) const {
    return set != nullptr && ops == service::calls().ops_generation() &&
           policy == policy_generation() && options.enabled == other.enabled &&
           options.declared == other.declared && options.disable == other.disable &&
           options.prefer == other.prefer;
  }
};

}  // namespace

std::shared_ptr<const RuleSet> rule_set_for(const Options& options) {
  if (!options.rules.empty()) return std::make_shared<RuleSet>(options);
  static auto& kept = *new KeptSet;
  const std::lock_guard lock(kept.mutex);
  if (!kept.is_for(options)) {
    kept.ops = service::calls().ops_generation();
    kept.policy = policy_generation();
    kept.options = options;
    kept.set = std::make_shared<RuleSet>(options);
  }
  return kept.set;
}

std::vector<ListedRule> rules(const Options& options) { return RuleSet(options).listed(); }

Options options_of(const Json& section) {
  Options options;
  for (int64_t i = 0; i < section.size(); ++i) {
    const std::string key = section.key(i);
    if (key == "enabled")
      options.enabled = section[key].as_bool(true);
    else if (key == "disable")
      options.disable = lib::texts_of(section[key]);
    else if (key == "prefer")
      options.prefer = lib::texts_of(section[key]);
    else
      throw ConfigError(format_text("{}: '{}' is not a key of rewrites{}", section.place(), key,
                                    suggestion(key, {"enabled", "disable", "prefer"})));
  }
  return options;
}

}  // namespace rewrites

TENON_NAMESPACE_END
