// Unloading and reloading: the code that goes is handed to retirement.
#include <utility>

#include "core/autograd/graph/leak_tracking.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/plugin/load/load_plugin.hpp"

namespace tenon::core {

void PluginManager::provide_again(const ItemNames& names) {
  for (const auto& [kind, name] : names) {
    {
      const Lock lock = lifecycle_.lock();
      if (registrations_.has(kind, name)) continue;
      const ProviderLevels levels = resolver_.levels(kind, name);
      if (levels.empty() || levels.front().plugins.size() != 1) continue;
    }
    try {
      ensure(kind, name);
    } catch (const Error& error) {
      log(LogLevel::warning, "", format_text("the next provider of {}: {}", name, error.message));
    }
  }
}

void PluginManager::refuse_users(const LivePlugin& plugin) {
  const std::vector<std::string> users = registrar_.users_of(*plugin.loaded.code);
  if (!users.empty())
    refuse_plugin(PluginStage::Register, plugin.id(), plugin.found.path,
                  format_text("plugins build on its tensor types: {}", join(users, ", ")),
                  "unload these before it");
}

std::vector<std::string> PluginManager::service_users(const PluginCode& code) {
  const Lock lock = lifecycle_.lock();
  std::vector<std::string> users;
  for (const auto& plugin : lifecycle_.plugins()) {
    if (plugin->loaded.services == nullptr) continue;
    for (const std::string& name : plugin->loaded.services->provided_by(code))
      users.push_back(
          format_text("service {} is used by plugin {}", quote(name), quote(plugin->id())));
  }
  return users;
}

void PluginManager::refuse_unload(const LivePlugin& plugin, UnloadChoice choice) {
  const auto refuse = [&](std::string problem, std::string remedy) {
    refuse_plugin(PluginStage::Register, plugin.id(), plugin.found.path, std::move(problem),
                  std::move(remedy));
  };
  refuse_users(plugin);
  if (choice == UnloadChoice::Force) return;
  if (is_in_call())
    refuse("it cannot be unloaded inside of a call, which may be its own",
           "unload it between calls, or by force");
  if (choice != UnloadChoice::Refuse || !plugin.loaded.code->is_held()) return;
  const auto holders = plugin.loaded.code->holders();
  const std::vector<std::string> places = recorded_by(*plugin.loaded.code);
  std::string problem = format_text("it is held by {}", holders_text(holders));
  for (const std::string& place : places) problem += format_text("\n  node of {}", place);
  // Nodes are counted always, but listed only when they were made while tracking was on.
  if (holders[static_cast<size_t>(Holder::Node)] != 0 && (places.empty() || !live_tracked))
    problem +=
        "\n  nodes that are recorded while tracking is off are not listed by op and place: set "
        "TENON_LIVE=1, or call track_live(true) before they are recorded";
  for (const std::string& user : service_users(*plugin.loaded.code)) problem += "\n  " + user;
  refuse(std::move(problem),
         "let these go, wait for them, or unload it by force: what holds it keeps its code");
}

RetiredPlugin PluginManager::unload(const std::string& id, UnloadChoice choice,
                                    int64_t timeout_ms) {
  retirement_.sweep();
  std::shared_ptr<RetiredCode> code;
  ItemNames names;
  {
    Lock lock = lifecycle_.lock();
    LivePlugin* const plugin = find_live(id);
    // A scan may drop it while this waits.
    const std::shared_ptr<LivePlugin> keep =
        plugin == nullptr ? nullptr : plugin->shared_from_this();
    if (plugin != nullptr) lifecycle_.wait(lock, *plugin, "unload");
    if (plugin == nullptr || plugin->state != PluginState::Active)
      refuse_plugin(PluginStage::Find, id, plugin == nullptr ? "" : plugin->found.path,
                    "it is not loaded", "name a plugin that is active");
    Lifecycle::Change change(lifecycle_, *plugin);
    {
      const Lifecycle::Unlocked free(lock);
      refuse_unload(*plugin, choice);
      code = std::make_shared<RetiredCode>(plugin->id(), plugin->found.path, plugin->generation,
                                           plugin->verdict, plugin->loaded);
      code->withdrawn = registrar_.withdraw(*plugin->loaded.code);
    }
    // A look at what drains may free the code as soon as it is there.
    change.deactivate();
    names = registrations_.withdraw(*plugin);
    {
      const Lifecycle::Unlocked free(lock);
      retirement_.add(code);
    }
    change.end();
  }
  provide_again(names);
  return retirement_.wait(*code, choice, timeout_ms);
}

uint64_t PluginManager::reload(const std::string& id_or_path) {
  retirement_.sweep();
  const std::string asked_by = "reload";
  {
    Session session(*this);
    LivePlugin& plugin = plugin_to_load(id_or_path, asked_by);
    const std::shared_ptr<LivePlugin> keep = plugin.shared_from_this();  // a scan may drop it
    lifecycle_.wait(session.lock, plugin, asked_by);
    if (plugin.state == PluginState::Active) {
      Load(*this, session.lock, plugin, asked_by, true).run();
      const uint64_t generation = plugin.generation;
      session.lock.unlock();
      retirement_.limit();
      return generation;
    }
  }
  load(id_or_path, asked_by);
  const Session session(*this);
  return plugin_to_load(id_or_path, asked_by).generation;
}

std::vector<RetiredPlugin> PluginManager::retired() { return retirement_.reports(); }

}  // namespace tenon::core
