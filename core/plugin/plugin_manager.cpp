// Which plugins are known, what policies make of them, and the listings of both.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/absolute_path.hpp"
#include "core/plugin/admission.hpp"
#include "core/plugin/loadable.hpp"
#include "core/plugin/plugin_session.hpp"
#include "core/plugin/policy_check.hpp"

namespace tenon::core {

PluginManager::PluginManager(const tenon_host& host, Registrar& registrar,
                             const SearchEnvironment& environment)
    : host_(host),
      registrar_(registrar),
      retirement_(registrar),
      catalogue_(environment),
      resolver_(policies_, registrations_.names()) {
  std::vector<std::string> faults;
  policies_.autoload = environment.autoload;
  policies_.environment.source = "TENON_PREFER";
  policies_.environment.prefer = parse_preferences(environment.prefer.value_or(""), faults);
  unchecked_ = policies_.environment.prefer;
  for (const std::string& fault : faults)
    log(LogLevel::warning, "", format_text("TENON_PREFER: {}", fault));
}

// ---- what is known ----

void PluginManager::scan() {
  catalogue_.rescan(policies_.search());
  try {
    lifecycle_.renew(catalogue_.plugins());
    for (const auto& plugin : lifecycle_.plugins()) judge(*plugin);
    renew_resolver();
  } catch (...) {
    // The next use scans again; what was dropped halfway is not to be resolved to.
    catalogue_.expire();
    resolver_.set_plugins({});
    throw;
  }
  note_unknown_preferences();
}

// Said once: the same environment is there for programs with other plugins.
void PluginManager::note_unknown_preferences() {
  for (const PluginPolicy::Preference& preference : std::exchange(unchecked_, {})) {
    if (std::ranges::none_of(lifecycle_.plugins(), [&](const auto& plugin) {
          return plugin->is_named(preference.plugin);
        }))
      notes_.push_back(
          format_text("TENON_PREFER: no plugin has the id {}", quote(preference.plugin)));
  }
}

void PluginManager::judge(LivePlugin& plugin) {
  const PolicyStack::Entry entry = policies_.entry(plugin);
  plugin.configured = entry.plugin != nullptr && entry.plugin->mode != LoadMode::Never;
  if (plugin.is_final() || plugin.attempt) return;
  Admission admission = admit(plugin, policies_, host_);
  plugin.state = admission.state;
  plugin.reason = std::move(admission.reason);
  plugin.failure = std::move(admission.failure);
}

void PluginManager::renew_resolver() {
  KnownPlugins plugins;
  for (const auto& plugin : lifecycle_.plugins()) {
    if (plugin->found.facts && plugin->state != PluginState::Shadowed)
      plugins.push_back(plugin.get());
  }
  resolver_.set_plugins(plugins);
}

void PluginManager::add_search_path(const std::string& folder) {
  const Lock lock = lifecycle_.lock();
  policies_.folders.insert(policies_.folders.begin(), folder);
  catalogue_.expire();
}

// ---- policies ----

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

bool PluginManager::strict() {
  const Lock lock = lifecycle_.lock();
  return policies_.is_strict();
}

bool PluginManager::is_glue(const std::string& id) {
  const Lock lock = lifecycle_.lock();
  const LivePlugin* plugin = lifecycle_.live(find_id(lifecycle_.known(), id));
  const auto entry = plugin == nullptr ? PolicyStack::Entry() : policies_.entry(*plugin);
  return entry.plugin != nullptr && entry.plugin->glue;
}

// ---- listings ----

std::vector<PluginListing> PluginManager::list() {
  retirement_.sweep();
  const Session session(*this);
  std::vector<PluginListing> listings;
  for (const auto& plugin : lifecycle_.plugins()) {
    PluginListing listing;
    listing.id = plugin->id();
    if (plugin->found.facts) listing.version = plugin->found.facts->version;
    listing.path = plugin->found.path;
    listing.origin = plugin->found.origin;
    listing.state = plugin->state;
    listing.reason = plugin->reason;
    listing.failure = plugin->failure;
    listing.facts = plugin->found.facts;
    listing.generation = plugin->generation;
    if (plugin->loaded.code != nullptr) listing.holders = plugin->loaded.code->holders();
    listings.push_back(std::move(listing));
  }
  std::sort(listings.begin(), listings.end(), [](const PluginListing& a, const PluginListing& b) {
    return std::tie(a.id, a.path) < std::tie(b.id, b.path);
  });
  return listings;
}

std::vector<ProviderListing> PluginManager::providers(ItemKind kind, std::string_view name) {
  const Session session(*this);
  std::vector<ProviderListing> listings;
  const KnownPlugins* declaring = resolver_.declaring(kind, name);
  if (declaring == nullptr) return listings;
  for (const KnownPlugin* plugin : *declaring) {
    ProviderListing listing;
    listing.plugin = plugin->id();
    listing.standing = resolver_.standing(*plugin, kind, name, &listing.reason);
    listing.may_decline = may_decline(*plugin, kind, name);
    listings.push_back(std::move(listing));
  }
  std::ranges::sort(listings, {}, &ProviderListing::plugin);
  return listings;
}

std::vector<std::string> PluginManager::declared_names(ItemKind kind) {
  const Session session(*this);
  const std::vector<std::string_view> declared = resolver_.names(kind);
  std::vector<std::string> names(declared.begin(), declared.end());
  std::sort(names.begin(), names.end());
  return names;
}

std::string PluginManager::preferred(std::string_view op, std::string_view key,
                                     const std::string& a, const std::string& b) {
  const Lock lock = lifecycle_.lock();
  const KnownPlugins known = lifecycle_.known();
  KnownPlugins candidates;
  for (const std::string* id : {&a, &b}) {
    if (const KnownPlugin* plugin = find_id(known, *id)) candidates.push_back(plugin);
  }
  const KnownPlugin* plugin =
      candidates.size() < 2 ? nullptr : resolver_.ranked_override({op, key}, candidates);
  return plugin == nullptr ? "" : plugin->id();
}

PluginManager::DeclaredOp PluginManager::declared_op(std::string_view op) {
  const Session session(*this);
  const ProviderLevels levels = resolver_.levels(ItemKind::Op, op);
  if (levels.empty()) return {};
  const KnownPlugin& best = *levels.front().plugins.front();
  for (const OpFacts& declared : best.found.facts->ops) {
    if (declared.name() == op)
      return {declared.schema, best.id(), (declared.flags & TENON_OP_NOT_OVERRIDABLE) == 0};
  }
  return {};
}

bool PluginManager::declares_override(std::string_view key) {
  const Lock lock = lifecycle_.lock();
  return resolver_.declares_override(key);
}

std::vector<SearchFolder> PluginManager::folders() {
  const Session session(*this);
  return catalogue_.folders();
}

Json PluginManager::loadable() {
  const Session session(*this);
  return loadable_document(lifecycle_.known(), resolver_);
}

void PluginManager::shutdown() {
  Lock lock = lifecycle_.lock();
  const std::vector<LoadedPlugin> active = lifecycle_.take_active();
  lock.unlock();
  for (const LoadedPlugin& loaded : active) loaded.shutdown();
}

}  // namespace tenon::core
