// Which plugins are known, which one a name means, and its load at the first need: each once, by one
// thread at a time.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/load/load_plugin.hpp"

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

PluginManager::Session::Session(PluginManager& manager, Folders folders)
    : lock(manager.lifecycle_.lock()), manager_(manager) {
  if (folders == Folders::Current && !manager.catalogue_.is_current()) manager.scan();
}

PluginManager::Session::~Session() {
  if (!lock.owns_lock()) lock.lock();
  const std::vector<std::string> notes = std::exchange(manager_.notes_, {});
  lock.unlock();
  for (const std::string& note : notes) log(LogLevel::warning, "", note);
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

// ---- which plugin a name means ----

LivePlugin* PluginManager::find_live(const std::string& id_or_path) const {
  const KnownPlugins known = lifecycle_.known();
  return lifecycle_.live(is_plugin_path(id_or_path) ? find_path(known, absolute_path(id_or_path))
                                                    : find_id(known, id_or_path));
}

void PluginManager::retry(LivePlugin& plugin) {
  if (!plugin.attempt || plugin.is_final()) return;
  plugin.attempt.reset();
  judge(plugin);
}

LivePlugin& PluginManager::plugin_at(const std::string& path) {
  LivePlugin* plugin = find_live(path);
  if (plugin == nullptr || plugin->state == PluginState::Shadowed || !plugin->found.facts) {
    // Named files come first, so it stands for its id unless that is loaded already.
    auto& files = policies_.files;
    std::erase(files, path);
    files.insert(files.begin(), path);
    scan();
    plugin = find_live(path);
    if (plugin->failure && plugin->failure->stage == PluginStage::Find) {
      PluginFailure failure = *plugin->failure;
      files.erase(files.begin());
      scan();
      throw PluginError(std::move(failure));
    }
  }
  retry(*plugin);
  if (plugin->state != PluginState::Shadowed) return *plugin;
  return *lifecycle_.live(&same_plugin(*plugin, lifecycle_.known()));
}

LivePlugin& PluginManager::plugin_with(const std::string& id) {
  LivePlugin* plugin = find_live(id);
  // The folders may have changed since they were read.
  if (plugin == nullptr || (plugin->state == PluginState::Failed && !plugin->opened)) {
    auto& versions = policies_.versions;
    const bool names_version =
        id.find('@') != id.npos && std::ranges::find(versions, id) == versions.end();
    if (names_version) versions.push_back(id);
    scan();
    plugin = find_live(id);
    if (plugin == nullptr && names_version) versions.pop_back();
  }
  if (plugin == nullptr)
    throw PluginError(missing_plugin(id, lifecycle_.known(), catalogue_.folders()));
  retry(*plugin);
  return *plugin;
}

LivePlugin& PluginManager::plugin_to_load(const std::string& id_or_path,
                                          const std::string& asked_by) {
  try {
    return is_plugin_path(id_or_path) ? plugin_at(absolute_path(id_or_path))
                                      : plugin_with(id_or_path);
  } catch (PluginError& error) {
    error.failure.asked_by = asked_by;
    throw PluginError(std::move(error.failure));
  }
}

// ---- loads ----

void PluginManager::ensure_loaded(Lock& lock, LivePlugin& plugin, const std::string& asked_by) {
  // While this thread waits, a scan may drop a plugin whose load has failed.
  const std::shared_ptr<LivePlugin> keep = plugin.shared_from_this();
  lifecycle_.wait(lock, plugin, asked_by);
  if (plugin.state == PluginState::Failed) {
    PluginFailure failure = *plugin.failure;
    if (failure.asked_by.empty()) failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  if (plugin.state == PluginState::Excluded) {
    PluginFailure failure = make_failure(PluginStage::Find, plugin.id(), plugin.found.path,
                                         format_text("it is excluded: {}", plugin.reason),
                                         R"(name it in the config with "load": "lazy")");
    failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  Load(*this, lock, plugin, asked_by).run();
  if (!plugin.found.facts->types.empty()) load_companions(lock, plugin);
}

void PluginManager::load_companions(Lock& lock, const LivePlugin& plugin) {
  const std::shared_ptr<const PluginFacts> facts = plugin.found.facts;
  const auto concerns = [&](const OverrideFacts& entry) {
    const std::vector<std::string> names = type_names(entry.types);
    return std::ranges::any_of(facts->types, [&](const TypeFacts& type) {
      return std::ranges::find(names, type.name()) != names.end();
    });
  };
  const std::vector<std::shared_ptr<LivePlugin>> plugins = lifecycle_.plugins();
  for (const auto& other : plugins) {
    if (other.get() == &plugin || !other->found.facts) continue;
    // One that another thread loads may wait for what this thread loads.
    if (other->state != PluginState::Indexed &&
        (other->state != PluginState::Loading || lifecycle_.is_changing()))
      continue;
    if (std::ranges::any_of(other->found.facts->overrides, concerns))
      ensure_loaded(lock, *other, format_text("an override for a type of '{}'", plugin.id()));
  }
}

bool PluginManager::ensure(ItemKind kind, std::string_view name) {
  Session session(*this);
  const KnownPlugins* declaring = resolver_.declaring(kind, name);
  if (declaring == nullptr) return false;
  if (registrations_.has(kind, name)) return true;

  const ProviderLevels levels = resolver_.levels(kind, name);
  const std::string asked_by = format_text("{} {}", kind_text(kind), quote(name));
  if (levels.empty()) {
    const KnownPlugin& plugin = *declaring->front();
    std::string reason;
    resolver_.standing(plugin, kind, name, &reason);
    throw Error(TENON_ERROR_PLUGIN, "{} is provided by plugin {} but not available: {}; {}",
                asked_by, plugin.text(), reason,
                plugin.unloaded ? "load it again by its name" : "enable it in the config");
  }
  const KnownPlugins& best = levels.front().plugins;
  if (best.size() > 1) throw resolver_.contested(kind, name, best);
  ensure_loaded(session.lock, *lifecycle_.live(best.front()), asked_by);
  // A file that was built again since it was indexed may provide less.
  return registrations_.has(kind, name);
}

bool PluginManager::ensure_next_op(std::string_view name, const std::string& declined) {
  Session session(*this);
  const ProviderLevels levels = resolver_.levels(ItemKind::Op, name);
  auto next = std::ranges::find_if(
      levels, [&](const ProviderLevel& level) { return level.plugins.front()->id() == declined; });
  // One that a policy has taken out of the ranking since is asked before those that are in it.
  next = next == levels.end() ? levels.begin() : next + 1;
  if (next == levels.end()) return false;
  if (next->plugins.size() > 1) throw resolver_.contested(ItemKind::Op, name, next->plugins);
  const KnownPlugin* plugin = next->plugins.front();
  ensure_loaded(session.lock, *lifecycle_.live(plugin),
                format_text("op {}, which plugin {} declined", quote(name), quote(declined)));
  const KnownPlugins* registered = registrations_.of(ItemKind::Op, name);
  return registered != nullptr && std::ranges::find(*registered, plugin) != registered->end();
}

bool PluginManager::complete_type(std::string_view name) {
  {
    Session session(*this);
    if (lifecycle_.is_changing()) return false;
    if (const KnownPlugins* registered = registrations_.of(ItemKind::Type, name)) {
      load_companions(session.lock, *lifecycle_.live(registered->front()));
      return true;
    }
  }
  ensure_type(name);  // in the table, but its plugin is not active yet
  return true;
}

void PluginManager::load(const std::string& id_or_path, const std::string& asked_by) {
  Session session(*this);
  LivePlugin& plugin = plugin_to_load(id_or_path, asked_by);
  if (plugin.unloaded) {
    plugin.unloaded = false;
    judge(plugin);
  }
  if (plugin.state == PluginState::Excluded && !plugin.named && policies_.is_autoload_off()) {
    plugin.named = true;
    judge(plugin);
    plugin.named = plugin.state != PluginState::Excluded;
  }
  if (plugin.state != PluginState::Failed && plugin.state != PluginState::Excluded) {
    const bool was_named = std::exchange(plugin.named, true);
    if (auto failure = resolver_.conflict(plugin)) {
      plugin.named = was_named;
      failure->asked_by = asked_by;
      throw PluginError(std::move(*failure));
    }
  }
  ensure_loaded(session.lock, plugin, asked_by);
}

}  // namespace tenon::core
