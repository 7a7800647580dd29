// Which plugins are known, in which state, and the index of what they declare.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/plugin/approval.hpp"
#include "core/plugin/plugin_record.hpp"

namespace tenon::core {

PluginFailure make_failure(PluginStage stage, const std::string& plugin, const std::string& path,
                           std::string problem, std::string remedy) {
  PluginFailure failure;
  failure.stage = stage;
  failure.plugin = plugin;
  failure.path = path;
  failure.problem = std::move(problem);
  failure.remedy = std::move(remedy);
  return failure;
}

const char* plugin_state_text(PluginState state) noexcept {
  switch (state) {
    case PluginState::Indexed:
      return "indexed";
    case PluginState::Loading:
      return "loading";
    case PluginState::Active:
      return "active";
    case PluginState::Failed:
      return "failed";
    case PluginState::Excluded:
      return "excluded";
    case PluginState::Shadowed:
      return "shadowed";
  }
  return "unknown";
}

PluginManager::PluginManager(const tenon_host& host, Registrar& registrar,
                             SearchEnvironment environment)
    : host_(host),
      registrar_(registrar),
      environment_(std::move(environment)),
      quarantine_(environment_.state_folder, environment_.trial_program),
      policies_(std::make_unique<Policies>()),
      resolver_(std::make_unique<Resolver>(*policies_, registered_)) {
  std::vector<std::string> faults;
  policies_->environment.source = "TENON_PREFER";
  policies_->environment.prefer = parse_preferences(environment_.prefer.value_or(""), faults);
  policies_->unchecked = policies_->environment.prefer;
  for (const std::string& fault : faults)
    log(LogLevel::warning, "", format_text("TENON_PREFER: {}", fault));
}

PluginManager::~PluginManager() = default;

// ---- what is known ----

void PluginManager::scan() {
  std::vector<std::string> files = policies_->files;
  std::vector<std::string> configured;
  for (const PluginPolicy& policy : policies_->list) {
    configured.insert(configured.end(), policy.search_paths.begin(), policy.search_paths.end());
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      if (!is_plugin_path(plugin.name)) continue;
      std::error_code fault;
      if (plugin.required || std::filesystem::exists(plugin.name, fault))
        files.push_back(plugin.name);
    }
  }
  std::vector<const FoundPlugin*> known;
  for (const auto& record : records_) known.push_back(&record->found);
  Discovery discovery =
      discover_plugins(files, search_folders(configured, environment_, policies_->folders),
                       Approval(policies_->list).trust(), known, policies_->named_plugins());
  folders_ = std::move(discovery.folders);
  renew_records(std::move(discovery.plugins));
  for (const auto& record : records_) judge(*record);
  renew_resolver();
  scanned_ = true;
  // Said once: the same environment is there for programs with other plugins.
  for (const PluginPolicy::Preference& preference : std::exchange(policies_->unchecked, {})) {
    if (std::none_of(records_.begin(), records_.end(),
                     [&](const auto& record) { return record->is_named(preference.plugin); }))
      log(LogLevel::warning, "",
          format_text("TENON_PREFER: no plugin has the id {}", quote(preference.plugin)));
  }
}

// What has run stays, whatever the folders say now; it stands for its id.
void PluginManager::renew_records(std::vector<FoundPlugin> discovered) {
  std::vector<std::shared_ptr<Record>> records;
  std::vector<std::shared_ptr<Record>> replaced;
  for (auto& record : records_) {
    (record->is_final() ? records : replaced).push_back(std::move(record));
  }
  std::unordered_map<std::string_view, Record*> final_ids;
  std::unordered_map<std::string_view, Record*> final_paths;
  std::unordered_map<std::string_view, Record*> replaced_paths;
  for (const auto& record : records) {
    final_ids.emplace(record->id(), record.get());
    final_paths.emplace(record->found.path, record.get());
  }
  for (const auto& record : replaced) replaced_paths.emplace(record->found.path, record.get());
  for (FoundPlugin& found : discovered) {
    if (final_paths.contains(found.path)) continue;
    auto record = std::make_shared<Record>();
    record->found = std::move(found);
    if (const auto active = final_ids.find(record->id());
        record->found.facts && active != final_ids.end()) {
      record->found.shadowed =
          format_text("{} is loaded already", quote(active->second->found.path));
    }
    if (const auto old = replaced_paths.find(record->found.path); old != replaced_paths.end()) {
      record->named = old->second->named;
      record->unloaded = old->second->unloaded;
      record->generation = old->second->generation;
      if (old->second->tried && old->second->found.stamp == record->found.stamp) {
        record->tried = true;
        record->fail(*old->second->failure);
      }
    }
    records.push_back(std::move(record));
  }
  records_ = std::move(records);
}

void PluginManager::judge(Record& record) {
  const Policies::Entry entry = policies_->entry(record);
  record.configured = entry.plugin != nullptr && entry.plugin->mode != LoadMode::Never;
  if (record.is_final() || record.tried) return;
  record.state = PluginState::Indexed;
  record.reason.clear();
  record.failure.reset();
  if (record.found.failure) {
    record.fail(*record.found.failure);
    return;
  }
  if (!record.found.shadowed.empty()) {
    record.state = PluginState::Shadowed;
    record.reason = record.found.shadowed;
    return;
  }
  if (record.unloaded) {
    record.state = PluginState::Excluded;
    record.reason = "it was unloaded";
    return;
  }
  if (entry.plugin != nullptr && entry.plugin->mode == LoadMode::Never) {
    record.state = PluginState::Excluded;
    record.reason = format_text(R"("load" is "never" in {})", entry.policy->source);
    return;
  }
  if (entry.plugin == nullptr && !record.named && record.found.origin != PluginOrigin::Path &&
      is_autoload_off()) {
    record.state = PluginState::Excluded;
    record.reason = "loading from folders is switched off, and no config names it";
    return;
  }
  const PluginFacts& facts = *record.found.facts;
  auto failure = judge_abi(host_, facts.id, record.found.path, facts.abi_major, facts.abi_minor);
  if (!failure && entry.plugin != nullptr) {
    failure = check_version(facts, record.found.path, entry.plugin->version);
    if (failure) failure->asked_by = entry.policy->source;
  }
  if (!failure) failure = Approval(policies_->list).missing_signature(record.found);
  if (!failure && policies_->quarantine())
    failure = quarantine_.find(record.found.path, record.found.stamp);
  if (failure) record.fail(std::move(*failure));
}

void PluginManager::renew_resolver() {
  KnownPlugins plugins;
  for (const auto& record : records_) {
    if (record->found.facts && record->state != PluginState::Shadowed)
      plugins.push_back(record.get());
  }
  resolver_->set_plugins(plugins);
}

// What the resolver names is a record of this manager.
PluginManager::Record& PluginManager::record_of(const KnownPlugin& plugin) const {
  return const_cast<Record&>(static_cast<const Record&>(plugin));
}

void PluginManager::add_search_path(const std::string& folder) {
  const Lock lock(mutex_);
  policies_->folders.insert(policies_->folders.begin(), folder);
  scanned_ = false;
}

// ---- listings ----

std::vector<PluginListing> PluginManager::list() {
  sweep();
  const Lock lock(mutex_);
  if (!scanned_) scan();
  std::vector<PluginListing> listings;
  for (const auto& record : records_) {
    PluginListing listing;
    listing.id = record->id();
    if (record->found.facts) listing.version = record->found.facts->version;
    listing.path = record->found.path;
    listing.origin = record->found.origin;
    listing.state = record->state;
    listing.reason = record->reason;
    listing.failure = record->failure;
    listing.facts = record->found.facts;
    listing.generation = record->generation;
    if (record->loaded.code != nullptr) listing.holders = record->loaded.code->holders();
    listings.push_back(std::move(listing));
  }
  std::sort(listings.begin(), listings.end(), [](const PluginListing& a, const PluginListing& b) {
    return std::tie(a.id, a.path) < std::tie(b.id, b.path);
  });
  return listings;
}

std::vector<ProviderListing> PluginManager::providers(ItemKind kind, std::string_view name) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  std::vector<ProviderListing> listings;
  const KnownPlugins* declaring = resolver_->declaring(kind, name);
  if (declaring == nullptr) return listings;
  for (const KnownPlugin* plugin : *declaring) {
    ProviderListing listing;
    listing.plugin = plugin->id();
    listing.standing = resolver_->standing(*plugin, kind, name, &listing.reason);
    listing.may_decline = may_decline(*plugin, kind, name);
    listings.push_back(std::move(listing));
  }
  std::ranges::sort(listings, {}, &ProviderListing::plugin);
  return listings;
}

std::vector<std::string> PluginManager::declared_names(ItemKind kind) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  const std::vector<std::string_view> declared = resolver_->names(kind);
  std::vector<std::string> names(declared.begin(), declared.end());
  std::sort(names.begin(), names.end());
  return names;
}

std::string PluginManager::preferred(std::string_view op, std::string_view key,
                                     const std::string& a, const std::string& b) {
  const Lock lock(mutex_);
  KnownPlugins candidates;
  for (const std::string* id : {&a, &b}) {
    if (const Record* record = find_id(*id)) candidates.push_back(record);
  }
  const KnownPlugin* plugin =
      candidates.size() < 2 ? nullptr : resolver_->ranked_override({op, key}, candidates);
  return plugin == nullptr ? "" : plugin->id();
}

PluginManager::DeclaredOp PluginManager::declared_op(std::string_view op) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  const ProviderLevels levels = resolver_->levels(ItemKind::Op, op);
  if (levels.empty()) return {};
  const KnownPlugin& best = *levels.front().plugins.front();
  for (const OpFacts& declared : best.found.facts->ops) {
    if (declared.name() == op)
      return {declared.schema, best.id(), (declared.flags & TENON_OP_NOT_OVERRIDABLE) == 0};
  }
  return {};
}

bool PluginManager::declares_override(std::string_view key) {
  const Lock lock(mutex_);
  return resolver_->declares_override(key);
}

std::vector<SearchFolder> PluginManager::folders() {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  return folders_;
}

PluginLock PluginManager::lock() {
  std::vector<PluginFailure> failures;
  PluginLock lock;
  {
    const Lock hold(mutex_);
    if (!scanned_) scan();
    lock = lock_now(nullptr, failures);
  }
  for (const PluginFailure& failure : failures)
    log(LogLevel::warning, failure.plugin, format_text("left out of the lock: {}", failure.text()));
  return lock;
}

PluginLock PluginManager::lock_now(const PluginLock* locked,
                                   std::vector<PluginFailure>& failures) const {
  PluginLock lock;
  KnownHashes known;
  for (const auto& record : records_) {
    if (!record->found.facts || record->state == PluginState::Failed ||
        record->state == PluginState::Excluded || record->state == PluginState::Shadowed)
      continue;
    const LockedPlugin* const approved = locked == nullptr ? nullptr : locked->find(record->id());
    if (locked != nullptr && approved == nullptr) continue;
    try {
      LockedPlugin plugin = lock_plugin(*record->found.facts, record->found.path);
      plugin.id = record->id();
      // The loader is not asked about bytes that are not approved.
      if (approved != nullptr && approved->sha256 != plugin.sha256)
        plugin.libraries = approved->libraries;
      else
        lock_libraries(plugin, known);
      lock.plugins.push_back(std::move(plugin));
    } catch (const PluginError& error) {
      failures.push_back(error.failure);
      failures.back().plugin = record->id();
    }
  }
  std::ranges::sort(lock.plugins, {}, &LockedPlugin::id);
  const auto add = [&](ItemKind kind, LockedProviders& providers) {
    for (const std::string_view name : resolver_->names(kind)) {
      std::vector<std::string> ids;
      for (const ProviderLevel& level : resolver_->levels(kind, name)) {
        const std::string& id = level.plugins.front()->id();
        if (level.plugins.size() > 1 || (locked == nullptr && lock.find(id) == nullptr)) break;
        ids.push_back(id);
      }
      if (!ids.empty()) providers.emplace(name, join(ids, ", "));
    }
  };
  add(ItemKind::Op, lock.ops);
  add(ItemKind::Module, lock.modules);
  add(ItemKind::Type, lock.types);
  return lock;
}

void PluginManager::shutdown() {
  std::vector<Record*> active;
  {
    const Lock lock(mutex_);
    active.swap(active_);
  }
  for (auto record = active.rbegin(); record != active.rend(); ++record) {
    (*record)->loaded.shutdown();
  }
}

}  // namespace tenon::core
