// Unloading and reloading: withdrawn at once, drained in its own time, unmapped where that is safe.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/autograd/leak_tracking.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/running_calls.hpp"
#include "core/plugin/plugin_record.hpp"

namespace tenon::core {

namespace {

using Clock = std::chrono::steady_clock;

// Between two looks; calls end within microseconds, holders within seconds.
void pause(int look) {
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(50 << std::min(look, 6), 2000)));
}

}  // namespace

const char* retired_state_text(RetiredPlugin::State state) noexcept {
  switch (state) {
    case RetiredPlugin::State::Draining:
      return "draining";
    case RetiredPlugin::State::Drained:
      return "drained";
    case RetiredPlugin::State::Unmapped:
      return "unmapped";
  }
  return "unknown";
}

std::string holders_text(const std::array<int64_t, kHolders>& holders) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kHolders; ++i) {
    if (holders[i] != 0)
      parts.push_back(format_text("{} x {}", holders[i], holder_text(static_cast<Holder>(i))));
  }
  return join(parts, ", ");
}

RetiredPlugin PluginManager::Retired::report() const {
  RetiredPlugin report;
  report.id = id;
  report.path = path;
  report.generation = generation;
  report.kept_by = verdict.reasons;
  if (step != Step::Done) {
    report.holders = loaded.code->holders();
    report.recorded = recorded_by(*loaded.code);
  } else {
    report.state = unmapped ? RetiredPlugin::State::Unmapped : RetiredPlugin::State::Drained;
    if (!unmapped && verdict.can_unmap())
      report.kept_by.emplace_back("something else has the file open");
  }
  return report;
}

bool PluginManager::Retired::has_settled(UnloadChoice choice) const {
  if (step != Step::Holders) return step == Step::Done;
  if (choice == UnloadChoice::Refuse) return true;
  // Tensor types stay as long as the process.
  const auto holders = loaded.code->holders();
  for (size_t i = 0; i < kHolders; ++i) {
    if (i != static_cast<size_t>(Holder::Type) && holders[i] != 0) return false;
  }
  return holders[static_cast<size_t>(Holder::Type)] != 0;
}

std::shared_ptr<PluginManager::Retired> PluginManager::retire(const Record& record,
                                                              const LoadedPlugin& loaded,
                                                              uint64_t generation,
                                                              const UnmapVerdict& verdict) {
  auto retired = std::make_shared<Retired>();
  retired->id = record.id();
  retired->path = record.found.path;
  retired->generation = generation;
  retired->verdict = verdict;
  retired->loaded = loaded;
  return retired;
}

void PluginManager::let_drain(std::shared_ptr<Retired> retired) {
  retired->mark = mark_running_calls();
  const Lock lock(mutex_);
  retired_.push_back(std::move(retired));
}

// One look at one generation. What a plugin has registered itself, such as hooks for all modules, goes
// with its shutdown, which comes when nothing else is left.
void PluginManager::advance(Retired& retired) {
  using Step = Retired::Step;
  if (retired.step == Step::Calls && have_ended(retired.mark)) retired.step = Step::Holders;
  if (retired.step == Step::Holders) {
    const auto holders = retired.loaded.code->holders();
    const auto own = static_cast<size_t>(Holder::Hook);
    for (size_t i = 0; i < kHolders; ++i) {
      if (i != own && holders[i] != 0) return;
    }
    if (!std::exchange(retired.shut_down, true)) retired.loaded.shutdown();
    if (retired.loaded.code->is_held()) return;
    retired.mark = mark_running_calls();
    retired.step = Step::LastCalls;
  }
  if (retired.step != Step::LastCalls || !have_ended(retired.mark)) return;
  registrar_.forget(*retired.loaded.code);
  retired.withdrawn.reset();
  if (retired.verdict.can_unmap()) retired.unmapped = retired.loaded.unmap();
  retired.step = Step::Done;
}

void PluginManager::sweep() {
  Lock lock(mutex_);
  if (retired_.empty() || sweeper_ != std::thread::id()) return;
  sweeper_ = std::this_thread::get_id();
  const std::vector<std::shared_ptr<Retired>> retired = retired_;
  lock.unlock();
  try {
    for (const auto& one : retired) advance(*one);
  } catch (...) {
    lock.lock();
    sweeper_ = {};
    changed_.notify_all();
    throw;
  }
  lock.lock();
  sweeper_ = {};
  std::erase_if(retired_, [](const auto& one) { return one->step == Retired::Step::Done; });
  changed_.notify_all();
}

void PluginManager::wait_for_sweep(Lock& lock) {
  const std::thread::id self = std::this_thread::get_id();
  changed_.wait(lock, [&] { return sweeper_ == std::thread::id() || sweeper_ == self; });
}

// Reloads in a loop do not pile up code that only waits for calls to end.
void PluginManager::limit_retired() {
  constexpr size_t kMost = 64;
  constexpr auto kLongest = std::chrono::milliseconds(200);
  const auto begin = Clock::now();
  for (int look = 0; !is_in_call() && Clock::now() - begin < kLongest; ++look) {
    sweep();
    {
      const Lock lock(mutex_);
      if (std::ranges::count_if(retired_, [](const auto& one) {
            return one->step != Retired::Step::Holders;
          }) < static_cast<int64_t>(kMost))
        return;
    }
    pause(look);
  }
}

std::vector<RetiredPlugin> PluginManager::retired() {
  sweep();
  Lock lock(mutex_);
  wait_for_sweep(lock);
  std::vector<RetiredPlugin> reports;
  for (const auto& one : retired_) reports.push_back(one->report());
  return reports;
}

std::vector<std::pair<ItemKind, std::string>> PluginManager::withdraw_names(const Record& record) {
  std::vector<std::pair<ItemKind, std::string>> names;
  for (size_t kind = 0; kind < kItemKinds; ++kind) {
    auto& registered = registered_[kind];
    for (auto entry = registered.begin(); entry != registered.end();) {
      if (std::erase(entry->second, &record) == 0 || !entry->second.empty()) {
        ++entry;
        continue;
      }
      names.emplace_back(static_cast<ItemKind>(kind), entry->first);
      entry = registered.erase(entry);
    }
  }
  std::ranges::sort(names);
  return names;
}

// Handles lead to the next provider, where another plugin is; a failure of it is its own.
void PluginManager::provide_again(const std::vector<std::pair<ItemKind, std::string>>& names) {
  for (const auto& [kind, name] : names) {
    {
      const Lock lock(mutex_);
      if (registered_[static_cast<size_t>(kind)].contains(name)) continue;
      const ProviderLevels levels = resolver_->levels(kind, name);
      if (levels.empty() || levels.front().plugins.size() != 1) continue;
    }
    try {
      ensure(kind, name);
    } catch (const Error& error) {
      log(LogLevel::warning, "", format_text("the next provider of {}: {}", name, error.message));
    }
  }
}

void PluginManager::refuse_unload(const Record& record, UnloadChoice choice) {
  const auto refuse = [&](std::string problem, std::string remedy) {
    throw PluginError(make_failure(PluginStage::Register, record.id(), record.found.path,
                                   std::move(problem), std::move(remedy)));
  };
  const std::vector<std::string> users = registrar_.users_of(*record.loaded.code);
  if (!users.empty())
    refuse(format_text("plugins build on its tensor types: {}", join(users, ", ")),
           "unload these before it");
  if (choice == UnloadChoice::Force) return;
  if (is_in_call())
    refuse("it cannot be unloaded inside of a call, which may be its own",
           "unload it between calls, or by force");
  if (choice != UnloadChoice::Refuse || !record.loaded.code->is_held()) return;
  std::string problem =
      format_text("it is held by {}", holders_text(record.loaded.code->holders()));
  for (const std::string& place : recorded_by(*record.loaded.code))
    problem += format_text("\n  node of {}", place);
  refuse(std::move(problem),
         "let these go, wait for them, or unload it by force: what holds it keeps its code");
}

RetiredPlugin PluginManager::unload(const std::string& id, UnloadChoice choice,
                                    int64_t timeout_ms) {
  sweep();
  Lock lock(mutex_);
  Record* const record = is_plugin_path(id) ? find_path(absolute_path(id)) : find_id(id);
  // A scan may drop it while this waits.
  const std::shared_ptr<Record> keep = record == nullptr ? nullptr : record->shared_from_this();
  if (record != nullptr && record->state == PluginState::Loading) wait_for(lock, *record, "unload");
  if (record == nullptr || record->state != PluginState::Active) {
    throw PluginError(make_failure(PluginStage::Find, id,
                                   record == nullptr ? "" : record->found.path, "it is not loaded",
                                   "name a plugin that is active"));
  }
  // Held by its state while the tables are asked without the lock.
  record->state = PluginState::Loading;
  record->loader = std::this_thread::get_id();
  lock.unlock();
  const auto end = [&](PluginState state) {
    lock.lock();
    record->loader = {};
    record->state = state;
    changed_.notify_all();
  };
  std::shared_ptr<Retired> retired;
  try {
    refuse_unload(*record, choice);
    retired = retire(*record, record->loaded, record->generation, record->verdict);
    retired->withdrawn = registrar_.withdraw(*record->loaded.code);
  } catch (...) {
    end(PluginState::Active);
    throw;
  }
  // A sweep may free the code as soon as it drains.
  lock.lock();
  record->loaded = {};
  lock.unlock();
  let_drain(retired);
  end(PluginState::Excluded);
  record->reason = "it was unloaded";
  record->unloaded = true;
  record->opened = false;
  std::erase(active_, record);
  const auto names = withdraw_names(*record);
  lock.unlock();
  provide_again(names);

  const auto begin = Clock::now();
  for (int look = 0;; ++look) {
    sweep();
    lock.lock();
    wait_for_sweep(lock);
    const bool late =
        timeout_ms >= 0 && Clock::now() - begin >= std::chrono::milliseconds(timeout_ms);
    if (choice == UnloadChoice::Force || late || retired->has_settled(choice))
      return retired->report();
    lock.unlock();
    pause(look);
  }
}

uint64_t PluginManager::reload(const std::string& id_or_path) {
  sweep();
  {
    Lock lock(mutex_);
    Record& record = loadable(id_or_path, "reload");
    const std::shared_ptr<Record> keep = record.shared_from_this();  // a scan may drop it
    if (record.state == PluginState::Loading) wait_for(lock, record, "reload");
    if (record.state == PluginState::Active) {
      reload_active(lock, record);
      const uint64_t generation = record.generation;
      lock.unlock();
      limit_retired();
      return generation;
    }
  }
  load(id_or_path, "reload");
  const Lock lock(mutex_);
  return loadable(id_or_path, "reload").generation;
}

}  // namespace tenon::core
