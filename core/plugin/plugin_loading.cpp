// Loading plugins: each once, by one thread at a time, at the first need of what it provides.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema.hpp"
#include "core/plugin/approval.hpp"
#include "core/plugin/plugin_record.hpp"
#include "core/plugin/sha256.hpp"

namespace tenon::core {

void RegistrationRequest::sort_by_name() {
  const auto by_schema = [](const auto* item) { return schema_name(item->schema); };
  std::ranges::sort(ops, {}, by_schema);
  std::ranges::sort(modules, {}, by_schema);
  std::ranges::sort(types, {}, [](const auto* type) { return std::string_view(type->name); });
  std::ranges::sort(overrides, {},
                    [](const auto* entry) { return override_key(entry->schema, entry->types); });
}

// Loads a plugin unless that is done, and registers what of it is chosen and not there yet: all of it
// after a load, some of it when a policy has changed since. With `again` new code takes the place of
// the code that is active. The manager's lock is held at the beginning and at the end of `run`, and not
// while code of the plugin runs.
class PluginManager::Load {
 public:
  Load(PluginManager& manager, Lock& lock, Record& record, const std::string& asked_by,
       bool again = false)
      : manager_(manager),
        lock_(lock),
        record_(record),
        asked_by_(asked_by),
        again_(again),
        first_(again || record.loaded.table == nullptr),
        before_(record.loaded),
        facts_before_(record.found.facts),
        stamp_before_(record.found.stamp) {
    request_.provider = record.id();
  }

  void run() {
    if (!first_) {
      choose();
      if (request_.empty()) return;
    }
    const Policies::Entry entry = manager_.policies_->entry(record_);
    if (entry.plugin != nullptr) pinned_ = *entry.plugin;
    path_ = record_.found.path;
    for (const PluginPolicy& policy : manager_.policies_->list) {
      if (policy.lock != nullptr) locks_.push_back(policy.lock);
    }
    approval_ = Approval(manager_.policies_->list);
    trial_ = manager_.trial_config(record_);
    record_.state = PluginState::Loading;
    record_.loader = std::this_thread::get_id();
    try {
      if (first_) open();
      register_items();
      end(PluginState::Active);
    } catch (const PluginError& error) {
      PluginFailure failure = error.failure;
      // What init refuses is what it was given.
      failure.place =
          place_in(pinned_.written, failure.stage == PluginStage::Init ? "/options" : "");
      fail(std::move(failure), error.cause);
    } catch (const Error& error) {
      fail(make_failure(PluginStage::Register, request_.provider, path_, error.message,
                        "fix the plugin, or resolve the conflict above"),
           std::make_shared<const tenon_error>(tenon_error{error}));
    } catch (...) {
      end_failed(make_failure(PluginStage::Register, request_.provider, path_,
                              "memory ran out, or the runtime failed",
                              "try again in a new process"));
      throw;
    }
    if (again_) withdraw_before();
  }

 private:
  // Opens the file, whose init runs, and chooses what to register of it.
  void open() {
    FileStamp stamp = record_.found.stamp;
    std::shared_ptr<const PluginFacts> facts = record_.found.facts;
    lock_.unlock();
    std::unique_ptr<const SealedFile> sealed;
    if (again_ || is_mapped(path_) || !pinned_.sha256.empty() || !locks_.empty() ||
        approval_.judges_bytes()) {
      sealed = std::make_unique<const SealedFile>(path_);
      if (auto failure = check_hash(request_.provider, *sealed, path_, pinned_.sha256))
        throw PluginError(std::move(*failure));
      for (const auto& lock : locks_) check_locked(*lock, *sealed);
      if (!(sealed->stamp() == stamp) || approval_.judges_bytes())
        use(read_facts(*sealed, path_), facts);
      stamp = sealed->stamp();
      verdict_ = judge_unmapping(*sealed, path_);
      approval_.require_signature(*facts, path_, *sealed);
    } else {
      const FileSource file(path_);
      if (!(file.stamp() == stamp)) use(read_facts(file, path_), facts);
      stamp = file.stamp();
      verdict_ = judge_unmapping(file, path_);
    }
    if (again_) refuse_abi(*facts);
    require_trusted(approval_.trust(), path_, stamp);
    if (trial_ && manager_.quarantine_.is_suspect(path_, stamp))
      manager_.quarantine_.settle(path_, stamp, *trial_);
    if (trial_) {
      if (auto kept = manager_.quarantine_.find(path_, stamp)) throw PluginError(std::move(*kept));
    }
    const LoadMarker marker =
        trial_ ? manager_.quarantine_.mark(facts->id, path_, stamp) : LoadMarker();
    load_plugin(*facts, record_.generation + 1, path_, std::move(sealed), manager_.host_,
                pinned_.options.get(), loaded_);
    if (again_) take_over(*facts, path_, manager_.host_, before_, loaded_);
    lock_.lock();
    record_.loaded = loaded_;
    record_.opened = true;
    if (facts != record_.found.facts) {
      record_.found.facts = std::move(facts);
      record_.found.stamp = stamp;
      manager_.renew_resolver();
    }
    choose();
  }

  void check_locked(const PluginLock& lock, const SealedFile& sealed) const {
    const LockedPlugin* locked = lock.find(request_.provider);
    if (locked != nullptr && locked->sha256 == sealed.sha256()) return;
    PluginFailure failure = make_failure(
        PluginStage::Read, request_.provider, path_,
        locked == nullptr
            ? format_text("it is not in the lock file {}", quote(lock.file))
            : format_text("its bytes are not those in the lock file {}", quote(lock.file)),
        "look at the plugin and lock again, or restore what was locked");
    if (locked != nullptr) {
      failure.expected = format_text("sha256 {}", locked->sha256);
      failure.found = format_text("sha256 {}", sealed.sha256());
    }
    throw PluginError(std::move(failure));
  }

  // What a scan would refuse.
  void refuse_abi(const PluginFacts& facts) const {
    auto failure = judge_abi(manager_.host_, facts.id, path_, facts.abi_major, facts.abi_minor);
    if (!failure && !pinned_.name.empty()) failure = check_version(facts, path_, pinned_.version);
    if (failure) throw PluginError(std::move(*failure));
  }

  // Of a file that was built again since it was indexed.
  void use(PluginFacts found, std::shared_ptr<const PluginFacts>& facts) const {
    const PluginFacts& known = *record_.found.facts;
    if (found.id != known.id || (record_.found.is_side() && found.version != known.version)) {
      PluginFailure failure =
          make_failure(PluginStage::Read, request_.provider, path_,
                       "the file holds another plugin by now", "load that one by its own id");
      failure.expected = quote(request_.provider);
      failure.found =
          quote(found.id == known.id ? format_text("{}@{}", found.id, found.version) : found.id);
      throw PluginError(std::move(failure));
    }
    facts = std::make_shared<const PluginFacts>(std::move(found));
  }

  // Whether it belongs in the tables, and is not there yet.
  bool is_due(ItemKind kind, std::string_view name) const {
    const auto& registered = manager_.registered_[static_cast<size_t>(kind)];
    const auto present = registered.find(std::string(name));
    const bool is_there = present != registered.end() &&
                          std::find(present->second.begin(), present->second.end(), &record_) !=
                              present->second.end();
    return is_there ? again_ : manager_.resolver_->belongs(record_, kind, name);
  }

  void choose_op(const tenon_op_descriptor& op) {
    const std::string_view name = schema_name(op.schema);
    if (!is_due(ItemKind::Op, name)) return;
    request_.ops.push_back(&op);
    const KnownPlugins ranked = manager_.resolver_->registered_with(record_, ItemKind::Op, name);
    if (ranked.size() == 1) return;
    std::vector<std::string>& ids = request_.ranked[std::string(name)];
    for (const KnownPlugin* plugin : ranked) ids.push_back(plugin->id());
  }

  void choose() {
    const tenon_plugin& table = *record_.loaded.table;
    for (int64_t i = 0; i < table.op_count; ++i) choose_op(*table.ops[i]);
    for (int64_t i = 0; i < table.module_count; ++i) {
      if (is_due(ItemKind::Module, schema_name(table.modules[i]->schema)))
        request_.modules.push_back(table.modules[i]);
    }
    for (int64_t i = 0; i < table.type_count; ++i) {
      if (is_due(ItemKind::Type, table.types[i]->name)) request_.types.push_back(table.types[i]);
    }
    for (int64_t i = 0; first_ && i < table.override_count; ++i) {
      const std::string_view schema = table.overrides[i]->schema;
      const std::string key = override_key(schema, table.overrides[i]->types);
      if (manager_.policies_->disabling(record_, {schema_name(schema), key}, nullptr) == nullptr)
        request_.overrides.push_back(table.overrides[i]);
    }
    request_.sort_by_name();
  }

  void register_items() {
    const LoadedPlugin loaded = record_.loaded;
    request_.code = loaded.code;
    if (again_) request_.replaced = before_.code;
    lock_.unlock();
    try {
      manager_.registrar_.commit(request_);
    } catch (...) {
      if (first_ && !again_) loaded.shutdown();
      throw;
    }
    lock_.lock();
    if (first_) {
      record_.verdict = std::exchange(verdict_, std::move(record_.verdict));
      ++record_.generation;
    }
    if (again_) names_before_ = manager_.withdraw_names(record_);
    const auto provide = [&](ItemKind kind, std::string_view name) {
      KnownPlugins ranked = manager_.resolver_->registered_with(record_, kind, name);
      manager_.registered_[static_cast<size_t>(kind)][std::string(name)] = std::move(ranked);
    };
    for (const auto* op : request_.ops) provide(ItemKind::Op, schema_name(op->schema));
    for (const auto* module : request_.modules)
      provide(ItemKind::Module, schema_name(module->schema));
    for (const auto* type : request_.types) provide(ItemKind::Type, type->name);
    if (first_ && !again_) manager_.active_.push_back(&record_);
  }

  // The code that was there, and what it provided and the new code does not.
  void withdraw_before() {
    lock_.unlock();
    auto retired = manager_.retire(record_, before_, record_.generation - 1, verdict_);
    retired->withdrawn = manager_.registrar_.withdraw(*before_.code);
    manager_.let_drain(std::move(retired));
    manager_.provide_again(names_before_);
    lock_.lock();
  }

  // New code that is refused goes as code does that was active; whatever of it became visible is stale.
  void discard() {
    if (loaded_.library == nullptr) return;
    lock_.unlock();
    auto retired = manager_.retire(record_, loaded_, record_.generation + 1, verdict_);
    if (loaded_.code != nullptr) retired->withdrawn = manager_.registrar_.withdraw(*loaded_.code);
    manager_.let_drain(std::move(retired));
    lock_.lock();
  }

  void end(PluginState state) {
    if (!lock_.owns_lock()) lock_.lock();
    record_.opened = record_.opened || loaded_.library != nullptr;
    record_.loader = {};
    record_.state = state;
    manager_.changed_.notify_all();
  }
  void end_failed(PluginFailure failure) {
    failure.asked_by = asked_by_;
    if (!lock_.owns_lock()) lock_.lock();
    const bool failed = first_ && !again_;
    if (failed) record_.fail(std::move(failure));
    record_.tried = failed;
    if (again_) {
      record_.loaded = before_;
      record_.found.facts = facts_before_;
      record_.found.stamp = stamp_before_;
      manager_.renew_resolver();
    }
    end(failed ? PluginState::Failed : PluginState::Active);
    if (again_) discard();
  }
  [[noreturn]] void fail(PluginFailure failure, std::shared_ptr<const tenon_error> cause) {
    failure.asked_by = asked_by_;
    PluginError complete(failure);
    complete.cause = std::move(cause);
    end_failed(std::move(failure));
    throw complete;
  }

  PluginManager& manager_;
  Lock& lock_;
  Record& record_;
  const std::string& asked_by_;
  const bool again_;  // in place of active code
  const bool first_;  // the file was not opened before, or is again
  const LoadedPlugin before_;
  const std::shared_ptr<const PluginFacts> facts_before_;
  const FileStamp stamp_before_;
  std::vector<std::pair<ItemKind, std::string>> names_before_;
  LoadedPlugin loaded_;
  UnmapVerdict verdict_;
  std::string path_;
  PluginPolicy::Plugin pinned_;  // what a policy says of it
  std::vector<std::shared_ptr<const PluginLock>> locks_;
  Approval approval_;
  Json trial_;  // config of a trial; null: no quarantine is kept
  RegistrationRequest request_;
};

void PluginManager::reload_active(Lock& lock, Record& record) {
  // No other thread reloads or unloads it meanwhile.
  record.state = PluginState::Loading;
  record.loader = std::this_thread::get_id();
  const auto give_up = [&] {
    record.loader = {};
    record.state = PluginState::Active;
    changed_.notify_all();
  };
  lock.unlock();
  std::vector<std::string> users;
  try {
    users = registrar_.users_of(*record.loaded.code);
  } catch (...) {
    lock.lock();
    give_up();
    throw;
  }
  lock.lock();
  if (!users.empty()) {
    give_up();
    throw PluginError(
        make_failure(PluginStage::Register, record.id(), record.found.path,
                     format_text("plugins build on its tensor types: {}", join(users, ", ")),
                     "unload these before it"));
  }
  const std::string asked_by = "reload";
  Load(*this, lock, record, asked_by, true).run();
}

PluginManager::Record* PluginManager::find_path(const std::string& path) const {
  for (const auto& record : records_) {
    if (record->found.path == path) return record.get();
  }
  return nullptr;
}

PluginManager::Record* PluginManager::find_id(const std::string& id) const {
  for (const auto& record : records_) {
    if (record->state != PluginState::Shadowed && record->is_named(id)) return record.get();
  }
  return nullptr;
}

// The plugin under another path, when that has the same bytes.
PluginManager::Record& PluginManager::same_plugin(Record& shadowed,
                                                  const std::string& asked_by) const {
  Record* other = find_id(shadowed.id());
  if (other == nullptr) return shadowed;
  const FoundPlugin& found = shadowed.found;
  if (other->found.stamp.same_file(found.stamp) ||
      (other->found.stamp.size == found.stamp.size &&
       sha256_file(other->found.path) == sha256_file(found.path))) {
    return *other;
  }
  PluginFailure failure =
      make_failure(PluginStage::Register, shadowed.id(), found.path,
                   format_text("another file stands for this id: {}", quote(other->found.path)),
                   "use that one, rename one of the plugins, or name both versions in a config");
  failure.expected = format_text("version {}", found.facts->version);
  failure.found = other->found.facts->version;
  failure.asked_by = asked_by;
  throw PluginError(std::move(failure));
}

// Asked for by name, a load that failed before any code ran may succeed by now.
void PluginManager::retry(Record& record) {
  if (!record.tried || record.is_final()) return;
  record.tried = false;
  judge(record);
}

PluginManager::Record& PluginManager::loadable_file(const std::string& name,
                                                    const std::string& asked_by) {
  const std::string path = absolute_path(name);
  if (!scanned_) scan();
  Record* record = find_path(path);
  if (record == nullptr || record->state == PluginState::Shadowed || !record->found.facts) {
    // Named files come first, so it stands for its id unless that is loaded already.
    auto& files = policies_->files;
    files.erase(std::remove(files.begin(), files.end(), path), files.end());
    files.insert(files.begin(), path);
    scan();
    record = find_path(path);
    if (record->failure && record->failure->stage == PluginStage::Find) {
      PluginFailure failure = *record->failure;
      failure.asked_by = asked_by;
      files.erase(files.begin());
      scan();
      throw PluginError(std::move(failure));
    }
  }
  retry(*record);
  return record->state == PluginState::Shadowed ? same_plugin(*record, asked_by) : *record;
}

// Of "cube@1.4.0", where other versions of the plugin are known; else empty.
PluginFailure PluginManager::missing_version(const std::string& name) const {
  const auto [id, version] = split_plugin_name(name);
  std::vector<std::string> known;
  const Record* loaded = nullptr;
  const Record* same = nullptr;
  for (const auto& record : records_) {
    if (version.empty() || !record->found.facts || record->found.facts->id != id) continue;
    known.push_back(format_text("{} ({})", record->found.facts->version, record->found.path));
    if (record->is_final()) loaded = record.get();
    if (record->found.facts->version == version) same = record.get();
  }
  if (known.empty()) return {};
  if (same != nullptr && loaded != nullptr)
    return make_failure(
        PluginStage::Find, name, same->found.path,
        format_text("version {} of the plugin is loaded already", loaded->found.facts->version),
        "name all versions in one config, before anything of the plugin is used");
  PluginFailure failure = make_failure(
      PluginStage::Find, name, "", format_text("no file of this version of plugin {}", quote(id)),
      "install it, or name a version that is there");
  failure.expected = format_text("version {}", version);
  failure.found = join(known, ", ");
  return failure;
}

PluginManager::Record& PluginManager::loadable_id(const std::string& id,
                                                  const std::string& asked_by) {
  Record* record = scanned_ ? find_id(id) : nullptr;
  // The folders may have changed since they were read.
  if (record == nullptr || (record->state == PluginState::Failed && !record->opened)) {
    auto& versions = policies_->versions;
    const bool names_version =
        id.find('@') != id.npos && std::ranges::find(versions, id) == versions.end();
    if (names_version) versions.push_back(id);
    scan();
    record = find_id(id);
    if (record == nullptr && names_version) versions.pop_back();
  }
  if (record != nullptr) {
    retry(*record);
    return *record;
  }

  PluginFailure failure;
  std::vector<std::string_view> ids;
  for (const auto& other : records_) {
    if (!other->id().empty()) ids.push_back(other->id());
    // Not found because it cannot be read: say that.
    if (other->failure && !other->found.facts &&
        std::filesystem::path(other->found.path).stem() == id) {
      failure = *other->failure;
      failure.plugin = id;
    }
  }
  if (failure.problem.empty()) {
    failure = missing_version(id);
  }
  if (failure.problem.empty()) {
    failure = make_failure(
        PluginStage::Find, id, "",
        format_text("no plugin has this id{}; {}", suggestion(id, ids), searched_text(folders_)),
        format_text("install it in one of them, {}, or load it by its path",
                    plugin_folder_advice()));
  }
  failure.asked_by = asked_by;
  throw PluginError(std::move(failure));
}

PluginManager::Record& PluginManager::loadable(const std::string& id_or_path,
                                               const std::string& asked_by) {
  return is_plugin_path(id_or_path) ? loadable_file(id_or_path, asked_by)
                                    : loadable_id(id_or_path, asked_by);
}

bool PluginManager::is_autoload_off() const {
  return !environment_.autoload ||
         std::any_of(policies_->list.begin(), policies_->list.end(),
                     [](const PluginPolicy& policy) { return !policy.autoload; });
}

bool PluginManager::is_left_out(const PluginPolicy::Plugin& plugin, const std::string& asked_by) {
  if (plugin.required) return false;
  if (is_plugin_path(plugin.name)) return find_path(plugin.name) == nullptr;
  try {
    loadable_id(plugin.name, asked_by);
    return false;
  } catch (const PluginError& error) {
    return error.failure.stage == PluginStage::Find;
  }
}

// Files that a policy names are known after a scan.
PluginManager::Record& PluginManager::policy_record(const PluginPolicy::Plugin& plugin,
                                                    const std::string& asked_by) {
  if (!is_plugin_path(plugin.name)) return loadable_id(plugin.name, asked_by);
  Record* record = find_path(plugin.name);
  retry(*record);
  return record->state == PluginState::Shadowed ? same_plugin(*record, asked_by) : *record;
}

void PluginManager::wait_for(Lock& lock, Record& record, const std::string& asked_by) {
  const std::thread::id self = std::this_thread::get_id();
  for (const Record* held = &record; held != nullptr;) {
    if (held->loader == self) {
      PluginFailure failure = make_failure(
          PluginStage::Init, record.id(), record.found.path,
          "it is needed while it is being loaded: its init, or that of a plugin that waits for it, "
          "uses what it provides",
          "do this at the first call of an op instead of in init");
      failure.asked_by = asked_by;
      throw PluginError(std::move(failure));
    }
    const auto next = waiting_.find(held->loader);
    held = next == waiting_.end() ? nullptr : next->second;
  }
  waiting_[self] = &record;
  changed_.wait(lock, [&] { return record.state != PluginState::Loading; });
  waiting_.erase(self);
}

void PluginManager::forget_loaders() {
  new (&changed_) std::condition_variable;  // it may count waiting threads of the parent
  const std::thread::id self = std::this_thread::get_id();
  if (sweeper_ != self) sweeper_ = {};
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first != self; });
  for (const auto& record : records_) {
    if (record->state != PluginState::Loading || record->loader == self) continue;
    record->loader = {};
    if (std::ranges::find(active_, record.get()) != active_.end()) {
      record->state = PluginState::Active;  // it was registering more: the next use does
      continue;
    }
    record->opened = true;  // its code may have run by half
    record->fail(make_failure(PluginStage::Register, record->id(), record->found.path,
                              "the process was forked while another thread loaded the plugin",
                              "load the plugin before the fork"));
  }
}

void PluginManager::ensure_loaded(Lock& lock, Record& record, const std::string& asked_by) {
  // While this thread waits, a scan may drop a record whose load has failed.
  const std::shared_ptr<Record> keep = record.shared_from_this();
  if (record.state == PluginState::Loading) wait_for(lock, record, asked_by);
  if (record.state == PluginState::Failed) {
    PluginFailure failure = *record.failure;
    if (failure.asked_by.empty()) failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  if (record.state == PluginState::Excluded) {
    PluginFailure failure = make_failure(PluginStage::Find, record.id(), record.found.path,
                                         format_text("it is excluded: {}", record.reason),
                                         R"(name it in the config with "load": "lazy")");
    failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  Load(*this, lock, record, asked_by).run();
  if (!record.found.facts->types.empty()) load_companions(lock, record);
}

// Whether this thread loads a plugin. It then waits for no companions: what it loads may be what
// their thread waits for.
bool PluginManager::is_loading() const {
  const std::thread::id self = std::this_thread::get_id();
  return std::any_of(records_.begin(), records_.end(),
                     [&](const auto& record) { return record->loader == self; });
}

// Overrides for a type, of any plugin, must be there before ops are called on its objects.
void PluginManager::load_companions(Lock& lock, const Record& record) {
  const std::shared_ptr<const PluginFacts> facts = record.found.facts;
  const auto concerns = [&](const OverrideFacts& entry) {
    const std::vector<std::string> names = type_names(entry.types);
    return std::any_of(facts->types.begin(), facts->types.end(), [&](const TypeFacts& type) {
      return std::find(names.begin(), names.end(), type.name()) != names.end();
    });
  };
  const std::vector<std::shared_ptr<Record>> records = records_;
  for (const auto& other : records) {
    if (other.get() == &record || !other->found.facts) continue;
    if (other->state != PluginState::Indexed &&
        (other->state != PluginState::Loading || is_loading()))
      continue;
    const auto& overrides = other->found.facts->overrides;
    if (std::any_of(overrides.begin(), overrides.end(), concerns))
      ensure_loaded(lock, *other, format_text("an override for a type of '{}'", record.id()));
  }
}

bool PluginManager::ensure(ItemKind kind, std::string_view name) {
  Lock lock(mutex_);
  if (!scanned_) scan();
  const KnownPlugins* declaring = resolver_->declaring(kind, name);
  if (declaring == nullptr) return false;
  const auto& registered = registered_[static_cast<size_t>(kind)];
  if (registered.contains(std::string(name))) return true;

  const ProviderLevels levels = resolver_->levels(kind, name);
  const std::string asked_by = format_text("{} {}", kind_text(kind), quote(name));
  if (levels.empty()) {
    const Record& record = record_of(*declaring->front());
    std::string reason;
    resolver_->standing(record, kind, name, &reason);
    throw Error(TENON_ERROR_PLUGIN, "{} is provided by plugin {} but not available: {}; {}",
                asked_by, record.text(), reason,
                record.unloaded ? "load it again by its name" : "enable it in the config");
  }
  const KnownPlugins& best = levels.front().plugins;
  if (best.size() > 1) throw resolver_->contested(kind, name, best);
  ensure_loaded(lock, record_of(*best.front()), asked_by);
  // A file that was built again since it was indexed may provide less.
  return registered.contains(std::string(name));
}

bool PluginManager::ensure_next_op(std::string_view name, const std::string& declined) {
  Lock lock(mutex_);
  const ProviderLevels levels = resolver_->levels(ItemKind::Op, name);
  auto next = std::ranges::find_if(
      levels, [&](const ProviderLevel& level) { return level.plugins.front()->id() == declined; });
  // One that a policy has taken out of the ranking since is asked before those that are in it.
  next = next == levels.end() ? levels.begin() : next + 1;
  if (next == levels.end()) return false;
  if (next->plugins.size() > 1) throw resolver_->contested(ItemKind::Op, name, next->plugins);
  const KnownPlugin* plugin = next->plugins.front();
  ensure_loaded(lock, record_of(*plugin),
                format_text("op {}, which plugin {} declined", quote(name), quote(declined)));
  const auto& registered = registered_[static_cast<size_t>(ItemKind::Op)];
  const auto found = registered.find(std::string(name));
  return found != registered.end() &&
         std::ranges::find(found->second, plugin) != found->second.end();
}

bool PluginManager::complete_type(std::string_view name) {
  {
    Lock lock(mutex_);
    if (is_loading()) return false;
    const auto& types = registered_[static_cast<size_t>(ItemKind::Type)];
    if (const auto found = types.find(std::string(name)); found != types.end()) {
      load_companions(lock, record_of(*found->second.front()));
      return true;
    }
  }
  ensure_type(name);  // in the table, but its plugin is not active yet
  return true;
}

void PluginManager::load(const std::string& id_or_path, const std::string& asked_by) {
  Lock lock(mutex_);
  Record& record = loadable(id_or_path, asked_by);
  if (record.unloaded) {
    record.unloaded = false;
    judge(record);
  }
  if (record.state == PluginState::Excluded && !record.named && is_autoload_off()) {
    record.named = true;
    judge(record);
    record.named = record.state != PluginState::Excluded;
  }
  if (record.state != PluginState::Failed && record.state != PluginState::Excluded) {
    const bool was_named = std::exchange(record.named, true);
    if (auto failure = resolver_->conflict(record)) {
      record.named = was_named;
      failure->asked_by = asked_by;
      throw PluginError(std::move(*failure));
    }
  }
  ensure_loaded(lock, record, asked_by);
}

}  // namespace tenon::core
