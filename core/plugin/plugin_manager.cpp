// The load of a plugin at the first need of a name that it declares: each once, by one thread at a time.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
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
  const std::string asked_by =
      format_text("op {}, which plugin {} declined", quote(name), quote(declined));
  // A thread that loads it has not ranked it among the others yet.
  if (LivePlugin* first = find_live(declined); first != nullptr && !lifecycle_.is_changing())
    lifecycle_.wait(session.lock, *first, asked_by);
  const ProviderLevels levels = resolver_.levels(ItemKind::Op, name);
  auto next = std::ranges::find_if(
      levels, [&](const ProviderLevel& level) { return level.plugins.front()->id() == declined; });
  // One that a policy has taken out of the ranking since is asked before those that are in it.
  next = next == levels.end() ? levels.begin() : next + 1;
  if (next == levels.end()) return false;
  if (next->plugins.size() > 1) throw resolver_.contested(ItemKind::Op, name, next->plugins);
  const KnownPlugin* plugin = next->plugins.front();
  ensure_loaded(session.lock, *lifecycle_.live(plugin), asked_by);
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

// ---- services ----

namespace {

Error too_new(std::string_view name, uint32_t version, const KnownPlugin& provider,
              uint32_t provided) {
  return Error(TENON_ERROR_PLUGIN,
               "version {} of service {} is needed, and plugin {} provides version {}; update the "
               "plugin that provides it",
               version, quote(name), provider.text(), provided);
}

}  // namespace

// Before the provider is opened.
void PluginManager::refuse_old_provider(std::string_view name, uint32_t version) {
  const Session session(*this);
  const ProviderLevels levels = resolver_.levels(ItemKind::Service, name);
  if (levels.empty() || levels.front().plugins.size() != 1) return;
  const KnownPlugin& provider = *levels.front().plugins.front();
  for (const ServiceFacts& one : provider.found.facts->services) {
    if (one.service == name && one.version < version)
      throw too_new(name, version, provider, one.version);
  }
}

std::unique_ptr<tenon_lease> PluginManager::lease_service(std::string_view name, uint32_t version) {
  const std::string asked_by = format_text("service {}", quote(name));
  refuse_old_provider(name, version);
  // Unloaded between the two steps, it is asked for again: then `ensure` says so.
  while (ensure(ItemKind::Service, name)) {
    Lock lock = lifecycle_.lock();
    const KnownPlugins* registered = registrations_.of(ItemKind::Service, name);
    if (registered == nullptr) continue;
    LivePlugin& provider = *lifecycle_.live(registered->front());
    const std::shared_ptr<LivePlugin> keep = provider.shared_from_this();
    lifecycle_.wait(lock, provider, asked_by);
    if (provider.state != PluginState::Active) continue;
    const tenon_plugin& table = *provider.loaded.table;
    for (int64_t i = 0; i < table.service_count; ++i) {
      const tenon_service_descriptor& one = *table.services[i];
      if (one.name != name) continue;
      if (one.table->version < version) throw too_new(name, version, provider, one.table->version);
      PluginCode* const code = provider.loaded.code;
      return std::unique_ptr<tenon_lease>(
          new tenon_lease{std::string(name), one.table, code, CodeLease(code, Holder::Service)});
    }
  }
  return nullptr;
}

}  // namespace tenon::core
