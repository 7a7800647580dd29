// Policies of configs: what of one is refused, and what it changes.
#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema.hpp"
#include "core/plugin/plugin_record.hpp"
#include "core/plugin/sha256.hpp"
#include "core/plugin/version_range.hpp"

namespace tenon::core {

namespace {

std::optional<PluginFailure> compare_hash(const std::string& id, const std::string& path,
                                          const std::string& found, const std::string& pinned) {
  std::string expected = pinned;
  for (char& c : expected) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  if (found == expected) return std::nullopt;
  PluginFailure failure =
      make_failure(PluginStage::Read, id, path, "its bytes are not those that the config pins",
                   "get the file that was meant, or correct `sha256`");
  failure.expected = format_text("sha256 {}", expected);
  failure.found = format_text("sha256 {}", found);
  return failure;
}

}  // namespace

std::optional<PluginFailure> check_hash(const std::string& id, const std::string& path,
                                        const std::string& expected) {
  if (expected.empty()) return std::nullopt;
  try {
    return compare_hash(id, path, sha256_file(path), expected);
  } catch (const Error& error) {
    return make_failure(PluginStage::Read, id, path, error.message, "check the file's rights");
  }
}

std::optional<PluginFailure> check_hash(const std::string& id, const SealedFile& file,
                                        const std::string& path, const std::string& expected) {
  if (expected.empty()) return std::nullopt;
  return compare_hash(id, path, file.sha256(), expected);
}

std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range) {
  PluginFailure failure = make_failure(PluginStage::Version, facts.id, path,
                                       "it is another version than the config wants",
                                       "install a version that fits, or correct `version`");
  try {
    if (VersionRange(range).contains(parse_version(facts.version))) return std::nullopt;
    failure.expected = format_text("version {}", range);
    failure.found = facts.version;
  } catch (const Error& error) {
    failure.problem = error.message;
    failure.remedy = "correct `version`";
  }
  return failure;
}

// All that is wrong with a policy, which is the first of the manager's list meanwhile.
class PluginManager::PolicyCheck {
 public:
  PolicyCheck(PluginManager& manager, const PluginPolicy& policy)
      : manager_(manager), policy_(policy) {}

  std::vector<PluginFailure> run() {
    for (const PluginPolicy::Plugin& plugin : policy_.plugins) check_plugin(plugin);
    for (const PluginPolicy::Preference& preference : policy_.disable) check_disabled(preference);
    for (const PluginPolicy::Preference& preference : policy_.prefer) check_preferred(preference);
    for (const PluginPolicy::Type& type : policy_.types) check_type(type);
    if (policy_.lock != nullptr) check_lock(*policy_.lock);
    const auto& policies = manager_.policies_->list;
    for (size_t i = 1; i < policies.size(); ++i) {
      if (policies[i].lock != nullptr) check_locked_providers(*policies[i].lock);
    }
    return std::move(failures_);
  }

 private:
  void refuse(PluginFailure failure, const Json& written, std::string_view pointer = {}) {
    failure.place = place_in(written, pointer);
    if (failure.place.empty()) failure.asked_by = policy_.source;
    failures_.push_back(std::move(failure));
  }
  void refuse_name(std::string problem, const Json& written, const std::string& remedy,
                   std::string_view pointer = {}) {
    refuse(make_failure(PluginStage::Find, "", "", std::move(problem), remedy), written, pointer);
  }
  void refuse_late(const KnownPlugin& plugin, PluginStage stage, std::string problem,
                   const Json& written, std::string_view pointer = {}) {
    refuse(make_failure(stage, plugin.id(), plugin.found.path, std::move(problem),
                        "apply the config before anything of the plugin is used"),
           written, pointer);
  }

  void check_plugin(const PluginPolicy::Plugin& plugin) {
    if (plugin.mode == LoadMode::Never) return check_excluded(plugin);
    if (manager_.is_left_out(plugin, policy_.source)) {
      left_out_.push_back(plugin.name);
      return;
    }
    Record* record = nullptr;
    try {
      record = &manager_.policy_record(plugin, policy_.source);
    } catch (const PluginError& error) {
      return refuse(error.failure, plugin.written);
    }
    if (is_another(plugin, *record) || is_listed_twice(plugin, *record)) return;
    listed_.emplace_back(record->found.path, plugin.name);
    if (record->state == PluginState::Failed) {
      const bool version = record->failure->stage == PluginStage::Version;
      return refuse(*record->failure, plugin.written, version ? "/version" : "");
    }
    if (auto failure = check_hash(record->id(), record->found.path, plugin.sha256))
      refuse(std::move(*failure), plugin.written, "/sha256");
    if (record->is_final()) check_loaded(plugin, *record);
    if (auto failure = manager_.resolver_->conflict(*record))
      refuse(std::move(*failure), plugin.written);
  }

  void check_excluded(const PluginPolicy::Plugin& plugin) {
    const Record* record = is_plugin_path(plugin.name) ? manager_.find_path(plugin.name)
                                                       : manager_.find_id(plugin.name);
    if (record == nullptr) return;
    listed_.emplace_back(record->found.path, plugin.name);
    if (record->is_final())
      refuse_late(*record, PluginStage::Register, "it is loaded already, so it cannot be disabled",
                  plugin.written, "/load");
  }

  bool is_another(const PluginPolicy::Plugin& plugin, const Record& record) {
    const std::string& id = record.id();
    if (plugin.id.empty() || id.empty() || record.is_named(plugin.id)) return false;
    const bool names_version = !split_plugin_name(plugin.id).second.empty();
    const std::string found = names_version && !record.found.is_side()
                                  ? format_text("{}@{}", id, record.found.facts->version)
                                  : id;
    refuse(make_failure(PluginStage::Find, plugin.id, record.found.path,
                        format_text("the file at this path is plugin {}", quote(found)),
                        "correct `name` or `path`, or leave one of them out"),
           plugin.written);
    return true;
  }

  bool is_listed_twice(const PluginPolicy::Plugin& plugin, const Record& record) {
    if (std::none_of(listed_.begin(), listed_.end(), [&](const auto& one) {
          return one.first == record.found.path && one.second != plugin.name;
        }))
      return false;
    refuse(make_failure(PluginStage::Find, record.id(), record.found.path,
                        "the config lists it twice, by its id and by its path",
                        "remove one of the entries"),
           plugin.written);
    return true;
  }

  void check_loaded(const PluginPolicy::Plugin& plugin, const Record& record) {
    if (auto failure = check_version(*record.found.facts, record.found.path, plugin.version))
      refuse(std::move(*failure), plugin.written, "/version");
    if (plugin.options)
      refuse_late(record, PluginStage::Init, "it is loaded already, so its options come too late",
                  plugin.written, "/options");
  }

  bool is_missing(const std::string& id) const {
    return std::find(left_out_.begin(), left_out_.end(), id) != left_out_.end();
  }

  // What a preference may match. What failed or is disabled still counts.
  std::vector<std::string_view> names_for(const PluginPolicy::Preference& preference) const {
    std::vector<std::string_view> names;
    for (const auto& record : manager_.records_) {
      if (record->found.facts == nullptr) continue;
      if (!preference.plugin.empty() && !record->is_named(preference.plugin)) continue;
      const PluginFacts& facts = *record->found.facts;
      for (const OverrideFacts& entry : facts.overrides)
        names.push_back(preference.about_overrides() ? entry.name() : schema_name(entry.schema));
      if (preference.about_overrides()) continue;
      for (const OpFacts& op : facts.ops) names.push_back(op.name());
      for (const ModuleFacts& module : facts.modules) names.push_back(module.name());
    }
    return names;
  }

  // A preference that matches nothing is mistyped.
  void check_matches(const PluginPolicy::Preference& preference, const char* list) {
    if (is_missing(preference.plugin)) return;
    const std::vector<std::string_view> names = names_for(preference);
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) {
          return matches_pattern(preference.pattern, name);
        }))
      return;
    refuse_name(format_text("{}: {} matches no {}{}{}", list, quote(preference.pattern),
                            preference.about_overrides() ? "override" : "op or module",
                            preference.plugin.empty()
                                ? " of any plugin"
                                : format_text(" of plugin {}", quote(preference.plugin)),
                            suggestion(preference.pattern, names)),
                preference.written, "correct the name, or remove the entry");
  }

  void check_disabled(const PluginPolicy::Preference& preference) {
    check_matches(preference, "ops.disable");
    for (const auto& names : manager_.registered_) {
      for (const auto& [name, plugins] : names) {
        if (!matches_pattern(preference.pattern, name)) continue;
        for (const KnownPlugin* plugin : plugins) {
          if (!preference.plugin.empty() && !plugin->is_named(preference.plugin)) continue;
          refuse_late(
              *plugin, PluginStage::Register,
              format_text("{} is registered already, so it cannot be disabled", quote(name)),
              preference.written);
        }
      }
    }
  }

  void check_preferred(const PluginPolicy::Preference& preference) {
    if (is_missing(preference.plugin)) return;
    const auto& records = manager_.records_;
    if (std::any_of(records.begin(), records.end(),
                    [&](const auto& record) { return record->is_named(preference.plugin); })) {
      check_matches(preference, "ops.prefer");
      return check_conditions(preference);
    }
    refuse(make_failure(PluginStage::Find, preference.plugin, "",
                        format_text("it is preferred for {} but no plugin has this id; {}",
                                    quote(preference.pattern), searched_text(manager_.folders_)),
                        "correct the id, or remove the entry"),
           preference.written);
  }

  // Conditions are about tensors among the parameters of an op that the plugin provides.
  void check_conditions(const PluginPolicy::Preference& preference) {
    if (!preference.when) return;
    if (preference.about_overrides())
      return refuse_name(
          format_text("ops.prefer: {} names overrides, which types choose, not shapes",
                      quote(preference.pattern)),
          preference.written, "remove `when`, or name an op", "/when");
    for (const ShapeCondition& condition : *preference.when) {
      std::vector<std::string> tensors;
      if (is_tensor_of_op(preference, condition.parameter, tensors)) continue;
      std::ranges::sort(tensors);
      tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
      const Words names(tensors.begin(), tensors.end());
      refuse_name(format_text("ops.prefer: {} is not a tensor among the parameters of {}{}",
                              quote(condition.parameter), quote(preference.pattern),
                              suggestion(condition.parameter, names)),
                  preference.written,
                  names.empty()
                      ? "remove `when`"
                      : format_text("name one of its tensors: {}", quoted_list(names, "or")),
                  format_text("/when/{}", condition.parameter));
    }
  }
  // `tensors` gets the parameters that a condition may be about.
  bool is_tensor_of_op(const PluginPolicy::Preference& preference, const std::string& parameter,
                       std::vector<std::string>& tensors) const {
    for (const auto& record : manager_.records_) {
      if (record->found.facts == nullptr || !record->is_named(preference.plugin)) continue;
      for (const OpFacts& op : record->found.facts->ops) {
        if (!matches_pattern(preference.pattern, op.name())) continue;
        try {
          for (const Parameter& one : parse_schema(op.schema).parameters) {
            if (one.type.kind != TypeKind::tensor || one.type.list) continue;
            if (one.name == parameter) return true;
            tensors.push_back(one.name);
          }
        } catch (const Error&) {  // loading the plugin says what is wrong with it
        }
      }
    }
    return false;
  }

  void check_type(const PluginPolicy::Type& type) {
    if (manager_.resolver_->declaring(ItemKind::Type, type.name) == nullptr) {
      refuse_name(format_text("types: no plugin provides a tensor type {}{}", quote(type.name),
                              suggestion(type.name, manager_.resolver_->names(ItemKind::Type))),
                  type.written, "correct the name, or remove the entry");
    }
    const std::vector<std::string_view> ops = manager_.resolver_->names(ItemKind::Op);
    const auto check_patterns = [&](const std::vector<std::string>& patterns, const char* list) {
      for (size_t i = 0; i < patterns.size(); ++i) {
        if (std::any_of(ops.begin(), ops.end(),
                        [&](std::string_view op) { return matches_pattern(patterns[i], op); }))
          continue;
        refuse_name(format_text("types: {}: {} matches no op of any plugin{}", type.name,
                                quote(patterns[i]), suggestion(patterns[i], ops)),
                    type.written, "correct the name, or remove it", format_text("{}{}", list, i));
      }
    };
    check_patterns(type.settings.fallback_allow, "/fallback_ops/allow/");
    check_patterns(type.settings.fallback_deny, "/fallback_ops/deny/");
    check_patterns(type.settings.covers, "/covers/");
  }

  void check_lock(const PluginLock& lock) {
    std::vector<PluginFailure> failures;
    const PluginLock present = manager_.lock_now(&lock, failures);
    for (PluginFailure& failure : compare_locks(lock, present))
      failures.push_back(std::move(failure));
    for (PluginFailure& failure : failures) refuse(std::move(failure), {});
    for (const auto& record : manager_.records_) {
      if (record->is_final() && lock.find(record->id()) == nullptr)
        refuse_late(
            *record, PluginStage::Register,
            format_text("it is loaded already, and not in the lock file {}", quote(lock.file)), {});
    }
  }

  // What an earlier policy has locked keeps its provider.
  void check_locked_providers(PluginLock lock) {
    lock.plugins.clear();
    std::vector<PluginFailure> none;
    for (PluginFailure& failure : compare_locks(lock, manager_.lock_now(&lock, none)))
      refuse(std::move(failure), {});
  }

  PluginManager& manager_;
  const PluginPolicy& policy_;
  std::vector<PluginFailure> failures_;
  std::vector<std::string> left_out_;                        // not required, and missing
  std::vector<std::pair<std::string, std::string>> listed_;  // path, name
};

std::vector<PluginFailure> PluginManager::adopt(const PluginPolicy& policy, bool keep) {
  PluginPolicy adopted = policy;
  for (PluginPolicy::Plugin& plugin : adopted.plugins) {
    if (is_plugin_path(plugin.name)) plugin.name = absolute_path(plugin.name);
  }
  for (auto* preferences : {&adopted.prefer, &adopted.disable}) {
    for (PluginPolicy::Preference& preference : *preferences)
      preference.pattern = canonical_pattern(preference.pattern);
  }
  policies_->list.insert(policies_->list.begin(), adopted);
  for (const std::string& id : adopted.retry) {
    if (keep) quarantine_.release(id);
  }
  scan();
  std::vector<PluginFailure> failures = PolicyCheck(*this, adopted).run();
  if (!failures.empty() || !keep) {
    policies_->list.erase(policies_->list.begin());
    scan();
  }
  return failures;
}

std::vector<PluginFailure> PluginManager::check(const PluginPolicy& policy) {
  const Lock lock(mutex_);
  return adopt(policy, false);
}

void PluginManager::apply(const PluginPolicy& policy) {
  Lock lock(mutex_);
  const std::vector<PluginFailure> failures = adopt(policy, true);
  if (!failures.empty()) {
    PluginError error(failures.front());
    for (size_t i = 1; i < failures.size(); ++i)
      error.message.append("\n").append(failures[i].text());
    if (failures.size() > 1 && !failures.front().place.empty())
      error.message.insert(0, format_text("{} has {} faults:\n", policy.source, failures.size()));
    throw error;
  }
  const std::vector<PluginPolicy::Plugin> plugins = policies_->list.front().plugins;
  Registrar::Rules rules;
  if (policies_->prefers_for_calls()) {
    for (const std::string_view op : resolver_->names(ItemKind::Op)) {
      if (auto found = resolver_->rules(op); !found.empty()) rules.emplace(op, std::move(found));
    }
  }
  lock.unlock();
  if (!rules.empty()) registrar_.set_rules(std::move(rules));
  for (const PluginPolicy::Type& type : policy.types)
    registrar_.configure(type.name, type.settings);
  lock.lock();
  for (const PluginPolicy::Plugin& plugin : plugins) {
    if (plugin.mode != LoadMode::Eager || is_left_out(plugin, policy.source)) continue;
    ensure_loaded(lock, policy_record(plugin, policy.source), plugin.written ? "" : policy.source);
  }
}

bool PluginManager::strict() {
  const Lock lock(mutex_);
  return std::any_of(policies_->list.begin(), policies_->list.end(),
                     [](const PluginPolicy& policy) { return policy.strict; });
}

bool PluginManager::is_glue(const std::string& id) {
  const Lock lock(mutex_);
  const Record* record = find_id(id);
  const auto entry = record == nullptr ? Policies::Entry() : policies_->entry(*record);
  return entry.plugin != nullptr && entry.plugin->glue;
}

}  // namespace tenon::core
