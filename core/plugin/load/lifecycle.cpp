// One thread changes a plugin, the others wait for it.
#include "core/plugin/load/lifecycle.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

void Lifecycle::renew(std::span<const FoundPlugin> found) {
  std::vector<std::shared_ptr<LivePlugin>> plugins;
  std::unordered_map<std::string_view, const LivePlugin*> final_ids, final_paths, before;
  for (const auto& plugin : plugins_) {
    if (plugin->is_final()) {
      plugins.push_back(plugin);
      final_ids.emplace(plugin->id(), plugin.get());
      final_paths.emplace(plugin->found.path, plugin.get());
    } else {
      before.emplace(plugin->found.path, plugin.get());
    }
  }
  for (const FoundPlugin& one : found) {
    if (final_paths.contains(one.path)) continue;
    auto plugin = std::make_shared<LivePlugin>();
    plugin->found = one;
    if (const auto active = final_ids.find(plugin->id()); one.facts && active != final_ids.end()) {
      plugin->found.shadowed =
          format_text("{} is loaded already", quote(active->second->found.path));
    }
    if (const auto old = before.find(one.path); old != before.end()) {
      plugin->named = old->second->named;
      plugin->unloaded = old->second->unloaded;
      plugin->generation = old->second->generation;
      if (old->second->attempt && old->second->found.stamp == one.stamp) {
        plugin->attempt = old->second->attempt;
        plugin->fail(*plugin->attempt);
      }
    }
    plugins.push_back(std::move(plugin));
  }
  plugins_ = std::move(plugins);
}

KnownPlugins Lifecycle::known() const {
  KnownPlugins known;
  for (const auto& plugin : plugins_) known.push_back(plugin.get());
  return known;
}

LivePlugin* Lifecycle::live(const KnownPlugin* plugin) const {
  const auto found =
      std::ranges::find_if(plugins_, [&](const auto& one) { return one.get() == plugin; });
  return found == plugins_.end() ? nullptr : found->get();
}

void Lifecycle::wait(Lock& lock, LivePlugin& plugin, const std::string& asked_by) {
  if (plugin.state != PluginState::Loading) return;
  const std::shared_ptr<LivePlugin> keep = plugin.shared_from_this();
  const std::thread::id self = std::this_thread::get_id();
  for (const LivePlugin* held = &plugin; held != nullptr;) {
    if (held->changer == self) {
      PluginFailure failure = make_failure(
          PluginStage::Init, plugin.id(), plugin.found.path,
          "it is needed while it is being loaded: its init, or that of a plugin that waits for it, "
          "uses what it provides",
          "do this at the first call of an op instead of in init");
      failure.asked_by = asked_by;
      throw PluginError(std::move(failure));
    }
    const auto next = waiting_.find(held->changer);
    held = next == waiting_.end() ? nullptr : next->second;
  }
  waiting_[self] = &plugin;
  changed_.wait(lock, [&] { return plugin.state != PluginState::Loading; });
  waiting_.erase(self);
}

bool Lifecycle::is_changing() const {
  const std::thread::id self = std::this_thread::get_id();
  return std::ranges::any_of(plugins_, [&](const auto& plugin) { return plugin->changer == self; });
}

void Lifecycle::forget_threads() {
  new (&changed_) std::condition_variable;  // it may count waiting threads of the parent
  const std::thread::id self = std::this_thread::get_id();
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first != self; });
  for (const auto& plugin : plugins_) {
    if (plugin->state != PluginState::Loading || plugin->changer == self) continue;
    plugin->changer = {};
    if (plugin->loaded.table != nullptr) {
      plugin->state = PluginState::Active;  // it was registering more: the next use does
      continue;
    }
    if (plugin->unloaded) {
      plugin->state = PluginState::Excluded;
      continue;
    }
    plugin->opened = true;  // its code may have run by half
    plugin->fail(make_failure(PluginStage::Register, plugin->id(), plugin->found.path,
                              "the process was forked while another thread loaded the plugin",
                              "load the plugin before the fork"));
  }
}

// ---- a change ----

Lifecycle::Change::Change(Lifecycle& lifecycle, LivePlugin& plugin)
    : lifecycle_(lifecycle), plugin_(plugin), keep_(plugin.shared_from_this()), end_(plugin.state) {
  plugin.state = PluginState::Loading;
  plugin.changer = std::this_thread::get_id();
}

Lifecycle::Change::~Change() {
  if (!ended_) leave(end_);
}

void Lifecycle::Change::activate(const LoadedPlugin& loaded, UnmapVerdict& verdict) {
  plugin_.loaded = loaded;
  std::swap(plugin_.verdict, verdict);
  ++plugin_.generation;
  plugin_.opened = true;
  plugin_.attempt.reset();
  end_ = PluginState::Active;
}

void Lifecycle::Change::deactivate() {
  plugin_.loaded = {};
  plugin_.reason = "it was unloaded";
  plugin_.unloaded = true;
  plugin_.opened = false;
  end_ = PluginState::Excluded;
}

void Lifecycle::Change::end() { leave(end_); }

void Lifecycle::Change::fail(PluginFailure failure, bool opened) {
  plugin_.attempt = failure;
  plugin_.fail(std::move(failure));
  plugin_.opened = opened;
  leave(PluginState::Failed);
}

void Lifecycle::Change::leave(PluginState state) noexcept {
  plugin_.changer = {};
  plugin_.state = state;
  ended_ = true;
  lifecycle_.changed_.notify_all();
}

}  // namespace tenon::core
