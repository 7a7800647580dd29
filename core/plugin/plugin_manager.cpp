// States of plugins, the index of what they bring, and loads that happen once.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/plugin/sha256.hpp"
#include "core/plugin/version_range.hpp"

namespace tenon::core {

struct PluginManager::Record : std::enable_shared_from_this<Record> {
  FoundPlugin found;
  PluginState state = PluginState::Indexed;
  std::string reason;
  std::optional<PluginFailure> failure;
  bool tried = false;       // a load has failed: not tried again unless it is asked for by name
  bool opened = false;      // code of it may have run: not tried again at all
  bool named = false;       // asked for by load()
  bool configured = false;  // asked for by a policy
  std::thread::id loader;
  LoadedPlugin loaded;

  const std::string& id() const {
    static const std::string none;
    return found.facts ? found.facts->id : none;
  }
  // Neither a scan nor a policy may change it any more.
  bool settled() const { return opened || state == PluginState::Loading; }
  std::string text() const { return quote(id()) + " (" + found.path + ")"; }

  void fail(PluginFailure why) {
    state = PluginState::Failed;
    reason = why.text();
    failure = std::move(why);
  }
};

struct PluginManager::Policies {
  std::vector<PluginPolicy> list;    // the newest first
  std::vector<std::string> folders;  // of add_search_path, the newest first
  std::vector<std::string> files;    // of load(), the newest first

  struct Entry {
    const PluginPolicy::Plugin* plugin = nullptr;
    const PluginPolicy* policy = nullptr;
  };
  Entry entry(const Record& record) const;
  const PluginPolicy::Rule* disabling(const Record& record, std::string_view name,
                                      std::string* source) const;
  // The plugin among `candidates` that the first matching rule prefers.
  const Record* preferred(std::string_view name, const std::vector<Record*>& candidates) const;
};

bool is_plugin_path(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".so");
}

namespace {

bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = pattern.npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

const char* kind_text(ItemKind kind) {
  return kind == ItemKind::Op ? "op" : kind == ItemKind::Module ? "module" : "type";
}

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

std::optional<PluginFailure> check_hash(const std::string& id, const std::string& path,
                                        const std::string& wanted) {
  if (wanted.empty()) return std::nullopt;
  std::string lower = wanted;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  PluginFailure failure =
      make_failure(PluginStage::Read, id, path, "its bytes are not those that the config pins",
                   "get the file that was meant, or correct `sha256`");
  try {
    failure.found = "sha256 " + sha256_file(path);
  } catch (const Error& error) {
    failure.problem = error.message;
    failure.remedy = "check the file's rights";
    return failure;
  }
  failure.wanted = "sha256 " + lower;
  if (failure.found == failure.wanted) return std::nullopt;
  return failure;
}

std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range) {
  PluginFailure failure = make_failure(PluginStage::Version, facts.id, path,
                                       "it is another version than the config wants",
                                       "install a version that fits, or correct `version`");
  try {
    if (VersionRange(range).contains(parse_version(facts.version))) return std::nullopt;
    failure.wanted = "version " + range;
    failure.found = facts.version;
  } catch (const Error& error) {
    failure.problem = error.message;
    failure.remedy = "correct `version`";
  }
  return failure;
}

}  // namespace

PluginManager::Policies::Entry PluginManager::Policies::entry(const Record& record) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      if (plugin.name == (is_plugin_path(plugin.name) ? record.found.path : record.id())) {
        return {&plugin, &policy};
      }
    }
  }
  return {};
}

const PluginPolicy::Rule* PluginManager::Policies::disabling(const Record& record,
                                                             std::string_view name,
                                                             std::string* source) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Rule& rule : policy.disable) {
      if (!rule.plugin.empty() && rule.plugin != record.id()) continue;
      if (!matches(rule.pattern, name)) continue;
      if (source != nullptr) *source = policy.source;
      return &rule;
    }
  }
  return nullptr;
}

const PluginManager::Record* PluginManager::Policies::preferred(
    std::string_view name, const std::vector<Record*>& candidates) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Rule& rule : policy.prefer) {
      if (!matches(rule.pattern, name)) continue;
      for (const Record* candidate : candidates) {
        if (candidate->id() == rule.plugin) return candidate;
      }
    }
  }
  return nullptr;
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
    case PluginState::Disabled:
      return "disabled";
    case PluginState::Shadowed:
      return "shadowed";
  }
  return "unknown";
}

const char* provider_standing_text(ProviderStanding standing) noexcept {
  switch (standing) {
    case ProviderStanding::Chosen:
      return "chosen";
    case ProviderStanding::Outranked:
      return "outranked";
    case ProviderStanding::Contested:
      return "contested";
    case ProviderStanding::Disabled:
      return "disabled";
    case ProviderStanding::Failed:
      return "failed";
  }
  return "unknown";
}

PluginManager::PluginManager(const tenon_host& host, Registrar& registrar,
                             SearchEnvironment environment)
    : host_(host),
      registrar_(registrar),
      environment_(std::move(environment)),
      policies_(std::make_unique<Policies>()) {}

PluginManager::~PluginManager() = default;

// ---- what is known ----

void PluginManager::scan() {
  std::vector<std::string> files = policies_->files;
  std::vector<std::string> configured = policies_->folders;
  for (const PluginPolicy& policy : policies_->list) {
    configured.insert(configured.end(), policy.search_paths.begin(), policy.search_paths.end());
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      if (is_plugin_path(plugin.name)) files.push_back(plugin.name);
    }
  }
  std::vector<const FoundPlugin*> known;
  for (const auto& record : records_) known.push_back(&record->found);
  Discovery discovery = discover_plugins(files, search_folders(configured, environment_), known);
  folders_ = std::move(discovery.folders);

  // What has run stays, whatever the folders say now; it stands for its id.
  std::vector<std::shared_ptr<Record>> records;
  std::vector<std::shared_ptr<Record>> replaced;
  for (auto& record : records_) {
    (record->settled() ? records : replaced).push_back(std::move(record));
  }
  std::unordered_map<std::string_view, Record*> settled_ids;
  std::unordered_map<std::string_view, Record*> settled_paths;
  std::unordered_map<std::string_view, Record*> replaced_paths;
  for (const auto& record : records) {
    settled_ids.emplace(record->id(), record.get());
    settled_paths.emplace(record->found.path, record.get());
  }
  for (const auto& record : replaced) replaced_paths.emplace(record->found.path, record.get());
  for (FoundPlugin& found : discovery.plugins) {
    if (settled_paths.contains(found.path)) continue;
    auto record = std::make_shared<Record>();
    record->found = std::move(found);
    if (const auto active = settled_ids.find(record->id());
        record->found.facts && active != settled_ids.end()) {
      record->found.shadowed = quote(active->second->found.path) + " is loaded already";
    }
    if (const auto old = replaced_paths.find(record->found.path); old != replaced_paths.end()) {
      record->named = old->second->named;
      if (old->second->tried && old->second->found.stamp == record->found.stamp) {
        record->tried = true;
        record->fail(*old->second->failure);
      }
    }
    records.push_back(std::move(record));
  }
  records_ = std::move(records);
  for (const auto& record : records_) judge(*record);
  build_index();
  scanned_ = true;
}

void PluginManager::judge(Record& record) const {
  const Policies::Entry entry = policies_->entry(record);
  record.configured = entry.plugin != nullptr && entry.plugin->mode != LoadMode::Never;
  if (record.settled() || record.tried) return;
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
  if (entry.plugin != nullptr && entry.plugin->mode == LoadMode::Never) {
    record.state = PluginState::Disabled;
    record.reason = "disabled by " + entry.policy->source;
    return;
  }
  const PluginFacts& facts = *record.found.facts;
  auto failure = judge_abi(host_, facts.id, record.found.path, facts.abi_major, facts.abi_minor);
  if (!failure && entry.plugin != nullptr) {
    failure = check_version(facts, record.found.path, entry.plugin->version);
    if (failure) failure->asked_by = entry.policy->source;
  }
  if (failure) record.fail(std::move(*failure));
}

template <class Visit>
void PluginManager::each_item(const PluginFacts& facts, Visit&& visit) {
  for (const OpFacts& op : facts.ops) visit(ItemKind::Op, op.name());
  for (const ModuleFacts& module : facts.modules) visit(ItemKind::Module, module.name());
  for (const TypeFacts& type : facts.types) visit(ItemKind::Type, type.name());
}

void PluginManager::build_index() {
  for (Index& index : indexes_) index.clear();
  for (const auto& record : records_) {
    if (!record->found.facts || record->state == PluginState::Shadowed) continue;
    each_item(*record->found.facts, [&](ItemKind kind, std::string_view name) {
      indexes_[static_cast<size_t>(kind)][name].push_back(record.get());
    });
  }
}

// ---- who provides what ----

std::vector<const PluginManager::Record*> PluginManager::best_providers(
    ItemKind kind, std::string_view name) const {
  const auto found = index(kind).find(name);
  if (found == index(kind).end()) return {};
  std::vector<Record*> candidates;
  for (Record* record : found->second) {
    if (record->state != PluginState::Disabled &&
        policies_->disabling(*record, name, nullptr) == nullptr) {
      candidates.push_back(record);
    }
  }
  // A preferred or named plugin that fails is not silently replaced by another.
  if (const Record* record = policies_->preferred(name, candidates)) return {record};
  std::vector<const Record*> named;
  std::vector<const Record*> sound;
  for (const Record* record : candidates) {
    if (record->named || record->configured) named.push_back(record);
    if (record->state != PluginState::Failed || record->opened) sound.push_back(record);
  }
  if (!named.empty()) return named;
  if (!sound.empty()) return sound;
  return {candidates.begin(), candidates.end()};
}

ProviderStanding PluginManager::standing(const Record& record, ItemKind kind, std::string_view name,
                                         std::string* reason) const {
  const auto say = [&](std::string text) {
    if (reason != nullptr) *reason = std::move(text);
  };
  const auto& provided = provided_[static_cast<size_t>(kind)];
  const auto present = provided.find(std::string(name));
  if (present != provided.end() && present->second == &record) return ProviderStanding::Chosen;
  if (record.state == PluginState::Disabled) {
    say(record.reason);
    return ProviderStanding::Disabled;
  }
  std::string source;
  if (const auto* rule = policies_->disabling(record, name, &source)) {
    say(quote(rule->pattern) + " is disabled by " + source);
    return ProviderStanding::Disabled;
  }
  const std::vector<const Record*> best = best_providers(kind, name);
  const bool among = std::find(best.begin(), best.end(), &record) != best.end();
  if (record.state == PluginState::Failed && (!among || best.size() == 1)) {
    say(record.reason);
    return ProviderStanding::Failed;
  }
  if (!among) {
    say(best.empty() ? "" : best.front()->text() + " ranks above it");
    return ProviderStanding::Outranked;
  }
  if (best.size() > 1) {
    std::string rivals;
    for (const Record* rival : best) {
      if (rival != &record) rivals += (rivals.empty() ? "" : ", ") + rival->text();
    }
    say("nothing ranks it above or below " + rivals);
    return ProviderStanding::Contested;
  }
  if (present != provided.end()) {
    say(present->second->text() + " has registered it already");
    return ProviderStanding::Contested;
  }
  return ProviderStanding::Chosen;
}

// For plugins that are asked for by name: something of it cannot be used because of another plugin.
std::optional<PluginFailure> PluginManager::conflict(const Record& record) const {
  std::vector<std::string> items;
  std::string first_reason;
  const auto look = [&](ItemKind kind, std::string_view name) {
    std::string reason;
    if (standing(record, kind, name, &reason) != ProviderStanding::Contested) return;
    if (items.empty()) first_reason = reason;
    items.push_back(std::string(kind_text(kind)) + " " + quote(name));
  };
  each_item(*record.found.facts, look);
  if (items.empty()) return std::nullopt;
  constexpr size_t kShown = 5;
  std::string text = join(std::span(items).first(std::min(items.size(), kShown)), ", ");
  if (items.size() > kShown) text += " and " + std::to_string(items.size() - kShown) + " more";
  return make_failure(PluginStage::Register, record.id(), record.found.path,
                      text + " would have two providers: " + first_reason,
                      "rank them by `prefer` in the config, or disable one");
}

Error PluginManager::contested(ItemKind kind, std::string_view name,
                               const std::vector<const Record*>& rivals) const {
  std::vector<std::string> texts;
  for (const Record* rival : rivals) texts.push_back(rival->text());
  std::sort(texts.begin(), texts.end());
  return Error(TENON_ERROR_PLUGIN,
               std::string(kind_text(kind)) + " " + quote(name) + " has " +
                   std::to_string(texts.size()) +
                   " providers and nothing ranks them: " + join(texts, ", ") +
                   "; rank them by `prefer` in the config, or disable all but one");
}

// ---- loading ----

PluginManager::Record* PluginManager::find_path(const std::string& path) const {
  for (const auto& record : records_) {
    if (record->found.path == path) return record.get();
  }
  return nullptr;
}

PluginManager::Record* PluginManager::find_id(const std::string& id) const {
  for (const auto& record : records_) {
    if (record->state != PluginState::Shadowed && record->id() == id) return record.get();
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
                   "another file stands for this id: " + quote(other->found.path),
                   "use that one, or rename one of the plugins");
  failure.wanted = "version " + found.facts->version;
  failure.found = other->found.facts->version;
  failure.asked_by = asked_by;
  throw PluginError(std::move(failure));
}

// Asked for by name, a load that failed before any code ran may succeed by now.
void PluginManager::retry(Record& record) const {
  if (!record.tried || record.settled()) return;
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

PluginManager::Record& PluginManager::loadable_id(const std::string& id,
                                                  const std::string& asked_by) {
  Record* record = scanned_ ? find_id(id) : nullptr;
  // The folders may have changed since they were read.
  if (record == nullptr || (record->state == PluginState::Failed && !record->opened)) {
    scan();
    record = find_id(id);
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
    failure = make_failure(
        PluginStage::Find, id, "",
        "no plugin has this id" + suggestion(id, ids) + "; " + searched_text(folders_),
        "install it in one of them, name its folder in TENON_PLUGIN_PATH, or load it by its path");
  }
  failure.asked_by = asked_by;
  throw PluginError(std::move(failure));
}

PluginManager::Record& PluginManager::loadable(const std::string& id_or_path,
                                               const std::string& asked_by) {
  return is_plugin_path(id_or_path) ? loadable_file(id_or_path, asked_by)
                                    : loadable_id(id_or_path, asked_by);
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
          "uses what it brings",
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

void PluginManager::ensure_loaded(Lock& lock, Record& record, const std::string& asked_by) {
  // While this thread waits, a scan may drop a record whose load has failed.
  const std::shared_ptr<Record> keep = record.shared_from_this();
  if (record.state == PluginState::Loading) wait_for(lock, record, asked_by);
  if (record.state == PluginState::Failed) {
    PluginFailure failure = *record.failure;
    if (failure.asked_by.empty()) failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  if (record.state == PluginState::Disabled) {
    PluginFailure failure = make_failure(PluginStage::Find, record.id(), record.found.path,
                                         "it is " + record.reason, "enable it in the config");
    failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  load_now(lock, record, asked_by);
  if (!record.found.facts->types.empty()) load_companions(lock, record);
}

// Overrides for a type must be there when its objects meet ops, whoever brings them.
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
    if (other.get() == &record || !other->found.facts || other->state != PluginState::Indexed)
      continue;
    const auto& overrides = other->found.facts->overrides;
    if (std::any_of(overrides.begin(), overrides.end(), concerns))
      ensure_loaded(lock, *other, "an override for a type of '" + record.id() + "'");
  }
}

// Loads the record unless that is done, and registers what of it is chosen and not there yet: all
// of it after a load, some of it when a policy has changed since.
void PluginManager::load_now(Lock& lock, Record& record, const std::string& asked_by) {
  Registration chosen_items;
  chosen_items.provider = record.id();
  const auto choose = [&](bool first_time) {
    const auto chosen = [&](ItemKind kind, std::string_view name) {
      return standing(record, kind, name, nullptr) == ProviderStanding::Chosen &&
             !provided_[static_cast<size_t>(kind)].contains(std::string(name));
    };
    const tenon_plugin& table = *record.loaded.table;
    for (int64_t i = 0; i < table.op_count; ++i) {
      if (chosen(ItemKind::Op, schema_name(table.ops[i]->schema)))
        chosen_items.ops.push_back(table.ops[i]);
    }
    for (int64_t i = 0; i < table.module_count; ++i) {
      if (chosen(ItemKind::Module, schema_name(table.modules[i]->schema)))
        chosen_items.modules.push_back(table.modules[i]);
    }
    for (int64_t i = 0; i < table.type_count; ++i) {
      if (chosen(ItemKind::Type, table.types[i]->name))
        chosen_items.types.push_back(table.types[i]);
    }
    for (int64_t i = 0; first_time && i < table.override_count; ++i) {
      // Rules that name no plugin are about the op itself.
      const PluginPolicy::Rule* rule =
          policies_->disabling(record, schema_name(table.overrides[i]->schema), nullptr);
      if (rule == nullptr || rule->plugin.empty())
        chosen_items.overrides.push_back(table.overrides[i]);
    }
  };
  const bool first = record.loaded.table == nullptr;
  if (!first) {
    choose(false);
    if (chosen_items.empty()) return;
  }

  const Policies::Entry entry = policies_->entry(record);
  const std::string sha256 = entry.plugin == nullptr ? "" : entry.plugin->sha256;
  const Tree options = entry.plugin == nullptr ? Tree() : entry.plugin->options;
  const std::string id = record.id();
  const std::string path = record.found.path;
  FileStamp stamp = record.found.stamp;
  std::shared_ptr<const PluginFacts> facts = record.found.facts;
  record.state = PluginState::Loading;
  record.loader = std::this_thread::get_id();
  bool opened = record.opened;

  const auto end = [&](PluginState state) {
    if (!lock.owns_lock()) lock.lock();
    record.opened = opened;
    record.loader = {};
    record.state = state;
    changed_.notify_all();
  };
  const auto end_failed = [&](PluginFailure failure) {
    failure.asked_by = asked_by;
    if (!lock.owns_lock()) lock.lock();
    if (first) record.fail(std::move(failure));
    record.tried = first;
    end(first ? PluginState::Failed : PluginState::Active);
  };
  try {
    lock.unlock();
    LoadedPlugin loaded = record.loaded;
    if (first) {
      if (!(FileSource(path).stamp() == stamp)) {
        // Built again since it was indexed.
        FactsFile file = read_facts_file(path);
        if (file.facts->id != id) {
          PluginFailure failure =
              make_failure(PluginStage::Read, id, path, "the file holds another plugin by now",
                           "load that one by its own id");
          failure.wanted = quote(id);
          failure.found = quote(file.facts->id);
          throw PluginError(std::move(failure));
        }
        facts = std::move(file.facts);
        stamp = file.stamp;
      }
      if (auto failure = check_hash(id, path, sha256)) throw PluginError(std::move(*failure));
      loaded = load_plugin(*facts, path, host_, options.get(), opened);
    }
    lock.lock();
    if (first) {
      record.loaded = loaded;
      record.opened = opened;
      if (facts != record.found.facts) {
        record.found.facts = facts;
        record.found.stamp = stamp;
        build_index();
      }
      choose(true);
    }
    lock.unlock();
    try {
      registrar_.commit(chosen_items);
    } catch (...) {
      if (first) loaded.shutdown();
      throw;
    }
    lock.lock();
    const auto provide = [&](ItemKind kind, std::string_view name) {
      provided_[static_cast<size_t>(kind)].emplace(name, &record);
    };
    for (const auto* op : chosen_items.ops) provide(ItemKind::Op, schema_name(op->schema));
    for (const auto* module : chosen_items.modules)
      provide(ItemKind::Module, schema_name(module->schema));
    for (const auto* type : chosen_items.types) provide(ItemKind::Type, type->name);
    if (first) active_.push_back(&record);
    end(PluginState::Active);
  } catch (const PluginError& error) {
    PluginFailure failure = error.failure;
    failure.asked_by = asked_by;
    PluginError complete(failure);
    complete.cause = error.cause;
    end_failed(std::move(failure));
    throw complete;
  } catch (const Error& error) {
    PluginFailure failure = make_failure(PluginStage::Register, id, path, error.message,
                                         "mend the plugin, or what stands in its way");
    failure.asked_by = asked_by;
    PluginError complete(failure);
    complete.cause = std::make_shared<const tenon_error>(tenon_error{error});
    end_failed(std::move(failure));
    throw complete;
  } catch (...) {
    end_failed(make_failure(PluginStage::Register, id, path,
                            "memory ran out, or the runtime failed", "try again in a new process"));
    throw;
  }
}

bool PluginManager::ensure(ItemKind kind, std::string_view name) {
  Lock lock(mutex_);
  if (!scanned_) scan();
  const auto declared = index(kind).find(name);
  if (declared == index(kind).end()) return false;
  if (provided_[static_cast<size_t>(kind)].contains(std::string(name))) return true;

  const std::vector<const Record*> best = best_providers(kind, name);
  if (best.size() > 1) throw contested(kind, name, best);
  const std::string asked_by = std::string(kind_text(kind)) + " " + quote(name);
  if (best.empty()) {
    const Record& record = *declared->second.front();
    std::string reason;
    standing(record, kind, name, &reason);
    throw Error(TENON_ERROR_PLUGIN, asked_by + " is brought by plugin " + record.text() +
                                        " but not available: " + reason +
                                        "; enable it in the config");
  }
  Record& record = *std::find_if(records_.begin(), records_.end(), [&](const auto& other) {
                      return other.get() == best.front();
                    })->get();
  ensure_loaded(lock, record, asked_by);
  // A file that was built again since it was indexed may bring less.
  return provided_[static_cast<size_t>(kind)].contains(std::string(name));
}

std::string PluginManager::preferred(std::string_view name, const std::string& a,
                                     const std::string& b) {
  const Lock lock(mutex_);
  std::vector<Record*> candidates;
  for (const std::string* id : {&a, &b}) {
    if (Record* record = find_id(*id)) candidates.push_back(record);
  }
  const Record* record = policies_->preferred(name, candidates);
  return record == nullptr ? "" : record->id();
}

std::string PluginManager::declared_schema(std::string_view op) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  if (!index(ItemKind::Op).contains(op)) return "";
  const std::vector<const Record*> best = best_providers(ItemKind::Op, op);
  if (best.empty()) return "";
  for (const OpFacts& declared : best.front()->found.facts->ops) {
    if (declared.name() == op) return declared.schema;
  }
  return "";
}

void PluginManager::load(const std::string& id_or_path, const std::string& asked_by) {
  Lock lock(mutex_);
  Record& record = loadable(id_or_path, asked_by);
  if (record.state != PluginState::Failed && record.state != PluginState::Disabled) {
    const bool was_named = std::exchange(record.named, true);
    if (auto failure = conflict(record)) {
      record.named = was_named;
      failure->asked_by = asked_by;
      throw PluginError(std::move(*failure));
    }
  }
  ensure_loaded(lock, record, asked_by);
}

void PluginManager::add_search_path(const std::string& folder) {
  const Lock lock(mutex_);
  policies_->folders.insert(policies_->folders.begin(), folder);
  scanned_ = false;
}

// ---- policies ----

std::vector<PluginFailure> PluginManager::adopt(const PluginPolicy& policy, bool keep) {
  PluginPolicy adopted = policy;
  for (PluginPolicy::Plugin& plugin : adopted.plugins) {
    if (is_plugin_path(plugin.name)) plugin.name = absolute_path(plugin.name);
  }
  policies_->list.insert(policies_->list.begin(), adopted);
  scan();
  std::vector<PluginFailure> failures;
  const auto refuse = [&](PluginFailure failure) {
    failure.asked_by = policy.source;
    failures.push_back(std::move(failure));
  };
  for (const PluginPolicy::Plugin& plugin : adopted.plugins) {
    if (plugin.mode == LoadMode::Never) {
      const Record* record =
          is_plugin_path(plugin.name) ? find_path(plugin.name) : find_id(plugin.name);
      if (record != nullptr && record->settled()) {
        refuse(make_failure(PluginStage::Register, record->id(), record->found.path,
                            "it is loaded already, so it cannot be disabled",
                            "apply the config before anything of the plugin is used"));
      }
      continue;
    }
    Record* record = nullptr;
    try {
      record = &policy_record(plugin, policy.source);
    } catch (const PluginError& error) {
      refuse(error.failure);
      continue;
    }
    if (record->state == PluginState::Failed) {
      refuse(*record->failure);
      continue;
    }
    if (auto failure = check_hash(record->id(), record->found.path, plugin.sha256)) {
      refuse(std::move(*failure));
    }
    if (record->settled()) {
      if (auto failure = check_version(*record->found.facts, record->found.path, plugin.version)) {
        refuse(std::move(*failure));
      }
      if (plugin.options) {
        refuse(make_failure(PluginStage::Init, record->id(), record->found.path,
                            "it is loaded already, so its options come too late",
                            "apply the config before anything of the plugin is used"));
      }
    }
    if (auto failure = conflict(*record)) refuse(std::move(*failure));
  }
  // A rule that names nothing is a mistyped rule. What failed or is disabled still counts.
  const auto matched = [&](const PluginPolicy::Rule& rule, std::vector<std::string_view>& names) {
    for (const auto& record : records_) {
      if (record->found.facts == nullptr) continue;
      if (!rule.plugin.empty() && rule.plugin != record->id()) continue;
      for (const OpFacts& op : record->found.facts->ops) names.push_back(op.name());
      for (const ModuleFacts& module : record->found.facts->modules) names.push_back(module.name());
    }
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return matches(rule.pattern, name); });
  };
  const auto check_matches = [&](const PluginPolicy::Rule& rule, const char* list) {
    std::vector<std::string_view> names;
    if (matched(rule, names)) return;
    refuse(make_failure(
        PluginStage::Find, "", "",
        std::string(list) + ": " + quote(rule.pattern) + " matches no op or module" +
            (rule.plugin.empty() ? " of any plugin" : " of plugin " + quote(rule.plugin)) +
            suggestion(rule.pattern, names),
        "correct the name, or remove the rule"));
  };
  for (const PluginPolicy::Rule& rule : policy.disable) {
    check_matches(rule, "ops.disable");
    for (const auto& provided : provided_) {
      for (const auto& [name, record] : provided) {
        if (!matches(rule.pattern, name)) continue;
        if (!rule.plugin.empty() && rule.plugin != record->id()) continue;
        refuse(make_failure(PluginStage::Register, record->id(), record->found.path,
                            quote(name) + " is registered already, so it cannot be disabled",
                            "apply the config before anything of the plugin is used"));
      }
    }
  }
  for (const PluginPolicy::Rule& rule : policy.prefer) {
    const bool known = std::any_of(records_.begin(), records_.end(),
                                   [&](const auto& record) { return record->id() == rule.plugin; });
    if (!known) {
      refuse(make_failure(PluginStage::Find, rule.plugin, "",
                          "it is preferred for " + quote(rule.pattern) +
                              " but no plugin has this id; " + searched_text(folders_),
                          "correct the id, or remove the rule"));
    } else {
      check_matches(rule, "ops.prefer");
    }
  }
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
    throw error;
  }
  const std::vector<PluginPolicy::Plugin> plugins = policies_->list.front().plugins;
  for (const PluginPolicy::Plugin& plugin : plugins) {
    if (plugin.mode != LoadMode::Eager) continue;
    ensure_loaded(lock, policy_record(plugin, policy.source), policy.source);
  }
}

// ---- listings ----

std::vector<PluginListing> PluginManager::list() {
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
  const auto declared = index(kind).find(name);
  if (declared == index(kind).end()) return listings;
  for (const Record* record : declared->second) {
    ProviderListing listing;
    listing.plugin = record->id();
    listing.standing = standing(*record, kind, name, &listing.reason);
    listings.push_back(std::move(listing));
  }
  std::sort(listings.begin(), listings.end(),
            [](const ProviderListing& a, const ProviderListing& b) { return a.plugin < b.plugin; });
  return listings;
}

std::vector<std::string> PluginManager::declared_names(ItemKind kind) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  std::vector<std::string> names;
  for (const auto& [name, records] : index(kind)) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<SearchFolder> PluginManager::folders() {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  return folders_;
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
