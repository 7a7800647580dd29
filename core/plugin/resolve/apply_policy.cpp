// Policies become active, or are refused as a whole.
#include <utility>

#include "core/base/format.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/plugin/resolve/policy_check.hpp"

namespace tenon::core {

namespace {

Guard::Adopted adopted_by(const Guard* guard, const PluginPolicy& policy, bool applies) {
  if (guard == nullptr && policy.needs_guard) {
    throw Error(
        TENON_ERROR_CONFIG,
        "{} pins or restricts plugins, and this program has no load guard that could enforce "
        "it; set one: link tenon::trust, and call tenon::trust::install()",
        policy.source);
  }
  return guard == nullptr || !policy.guard ? Guard::Adopted() : guard->adopt(policy.guard, applies);
}

}  // namespace

void PluginManager::set_guard(const std::shared_ptr<Guard>& guard) {
  // The guard that was removed is released when the lock is free.
  std::shared_ptr<const Guard> before;
  const Lock lock = lifecycle_.lock();
  if (guard != nullptr && policies_.guard != nullptr)
    throw Error(TENON_ERROR_RUNTIME, "another load guard is set; remove it first, with a null one");
  std::vector<Guard::Adopted> adopted;
  for (const PluginPolicy& policy : policies_.list)
    adopted.push_back(guard == nullptr ? Guard::Adopted() : adopted_by(guard.get(), policy, false));
  for (size_t i = 0; i < adopted.size(); ++i) policies_.list[i].adopted = std::move(adopted[i]);
  if (guard != nullptr) guard->set();
  before = std::exchange(policies_.guard, guard);
  catalogue_.expire();
}

std::vector<PluginFailure> PluginManager::adopt(const PluginPolicy& policy, bool keep) {
  PluginPolicy adopted = policy;
  for (PluginPolicy::Plugin& plugin : adopted.plugins) {
    if (is_plugin_path(plugin.name)) plugin.name = absolute_path(plugin.name);
  }
  for (auto* preferences : {&adopted.prefer, &adopted.disable}) {
    for (PluginPolicy::Preference& preference : *preferences)
      preference.pattern = canonical_pattern(preference.pattern);
  }
  adopted.adopted = adopted_by(policies_.guard.get(), adopted, keep);
  policies_.list.insert(policies_.list.begin(), std::move(adopted));
  scan();
  const PluginPolicy& first = policies_.list.front();
  for (const PluginPolicy::Plugin& plugin : first.plugins) {
    LivePlugin* const live = find_live(plugin.name);
    if (live != nullptr && plugin.mode != LoadMode::Never) retry(*live);
  }
  std::vector<PluginFailure> failures = check_policy(
      {lifecycle_.known(), catalogue_.folders(), policies_, registrations_, resolver_});
  if (!failures.empty() || !keep) {
    policies_.list.erase(policies_.list.begin());
    scan();
  }
  return failures;
}

std::vector<PluginFailure> PluginManager::check(const PluginPolicy& policy) {
  const Session session(*this, Session::Folders::Any);
  return adopt(policy, false);
}

void PluginManager::apply(const PluginPolicy& policy) {
  Session session(*this, Session::Folders::Any);
  const std::vector<PluginFailure> failures = adopt(policy, true);
  if (!failures.empty()) {
    PluginError error(failures.front());
    for (size_t i = 1; i < failures.size(); ++i)
      error.message.append("\n").append(failures[i].text());
    if (failures.size() > 1 && !failures.front().place.empty())
      error.message.insert(0, format_text("{} has {} faults:\n", policy.source, failures.size()));
    throw error;
  }
  const std::vector<PluginPolicy::Plugin> plugins = policies_.list.front().plugins;
  Registrar::Preferences preferences;
  if (policies_.prefers_for_calls()) {
    for (const std::string_view op : resolver_.names(ItemKind::Op)) {
      if (auto found = resolver_.preferences(op); !found.empty())
        preferences.emplace(op, std::move(found));
    }
  }
  session.lock.unlock();
  if (!preferences.empty()) registrar_.set_preferences(std::move(preferences));
  for (const PluginPolicy::Type& type : policy.types)
    registrar_.configure(type.name, type.settings);
  session.lock.lock();
  for (const PluginPolicy::Plugin& plugin : plugins) {
    if (plugin.mode != LoadMode::Eager) continue;
    LivePlugin* const live =
        lifecycle_.live(plugin_of(plugin, lifecycle_.known(), catalogue_.folders(), policy.source));
    if (live == nullptr) continue;
    retry(*live);
    ensure_loaded(session.lock, *live, plugin.written ? "" : policy.source);
  }
}

}  // namespace tenon::core
