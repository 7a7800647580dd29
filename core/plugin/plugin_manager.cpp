// States of plugins, the index of what they provide, and loads that happen once.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema.hpp"
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
  PluginPolicy environment;                   // rules of TENON_PREFER
  std::vector<PluginPolicy::Rule> unchecked;  // of these, before the first scan
  std::vector<PluginPolicy> list;             // the newest first
  std::vector<std::string> folders;           // of add_search_path, the newest first
  std::vector<std::string> files;             // of load(), the newest first

  struct Entry {
    const PluginPolicy::Plugin* plugin = nullptr;
    const PluginPolicy* policy = nullptr;
  };
  Entry entry(const Record& record) const;
  const PluginPolicy::Rule* disabling(const Record& record, const RuleTarget& target,
                                      std::string* source) const;
  // The plugin among `candidates` that the first matching rule prefers. `reason` says which rule.
  const Record* preferred(const RuleTarget& target, const std::vector<Record*>& candidates,
                          std::string* reason = nullptr) const;
  // The one whose place in a policy's list decides, where a policy says so.
  const Record* by_place(const std::vector<const Record*>& candidates,
                         std::string* reason = nullptr) const;
};

namespace {

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
                                        const std::string& expected) {
  if (expected.empty()) return std::nullopt;
  std::string lower = expected;
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
  failure.expected = "sha256 " + lower;
  if (failure.found == failure.expected) return std::nullopt;
  return failure;
}

std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range) {
  PluginFailure failure = make_failure(PluginStage::Version, facts.id, path,
                                       "it is another version than the config wants",
                                       "install a version that fits, or correct `version`");
  try {
    if (VersionRange(range).contains(parse_version(facts.version))) return std::nullopt;
    failure.expected = "version " + range;
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
                                                             const RuleTarget& target,
                                                             std::string* source) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Rule& rule : policy.disable) {
      if (!rule.plugin.empty() && rule.plugin != record.id()) continue;
      if (!matches(rule, target)) continue;
      // Disabling an op of every provider does not disable its overrides.
      if (!target.key.empty() && rule.plugin.empty() && !rule.about_overrides()) continue;
      if (source != nullptr) *source = policy.source;
      return &rule;
    }
  }
  return nullptr;
}

const PluginManager::Record* PluginManager::Policies::preferred(
    const RuleTarget& target, const std::vector<Record*>& candidates, std::string* reason) const {
  const auto search = [&](const PluginPolicy& policy) -> const Record* {
    for (const PluginPolicy::Rule& rule : policy.prefer) {
      if (!matches(rule, target)) continue;
      for (const Record* candidate : candidates) {
        if (candidate->id() != rule.plugin) continue;
        if (reason != nullptr) *reason = "preferred by " + policy.source + ": " + rule.pattern;
        return candidate;
      }
    }
    return nullptr;
  };
  if (const Record* record = search(environment)) return record;
  for (const PluginPolicy& policy : list) {
    if (const Record* record = search(policy)) return record;
  }
  return nullptr;
}

const PluginManager::Record* PluginManager::Policies::by_place(
    const std::vector<const Record*>& candidates, std::string* reason) const {
  for (const PluginPolicy& policy : list) {
    if (policy.duplicates == DuplicateRule::Error) continue;
    const Record* chosen = nullptr;
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      for (const Record* candidate : candidates) {
        const std::string& name =
            is_plugin_path(plugin.name) ? candidate->found.path : candidate->id();
        if (plugin.name != name) continue;
        if (chosen == nullptr || policy.duplicates == DuplicateRule::Last) chosen = candidate;
      }
    }
    if (chosen == nullptr) continue;
    if (reason != nullptr) {
      *reason = std::string(policy.duplicates == DuplicateRule::First ? "first" : "last") +
                " in the list of " + policy.source;
    }
    return chosen;
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
      policies_(std::make_unique<Policies>()) {
  std::vector<std::string> faults;
  policies_->environment.source = "TENON_PREFER";
  policies_->environment.prefer = parse_preferences(environment_.prefer.value_or(""), faults);
  policies_->unchecked = policies_->environment.prefer;
  for (const std::string& fault : faults) log(LogLevel::warning, "", "TENON_PREFER: " + fault);
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
      discover_plugins(files, search_folders(configured, environment_, policies_->folders), known);
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
  // Said once: the same environment is there for programs with other plugins.
  for (const PluginPolicy::Rule& rule : std::exchange(policies_->unchecked, {})) {
    if (std::none_of(records_.begin(), records_.end(),
                     [&](const auto& record) { return record->id() == rule.plugin; }))
      log(LogLevel::warning, "", "TENON_PREFER: no plugin has the id " + quote(rule.plugin));
  }
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
  if (entry.plugin == nullptr && !record.named && record.found.origin != PluginOrigin::Path &&
      is_autoload_off()) {
    record.state = PluginState::Disabled;
    record.reason = "loading from folders is switched off, and no config names it";
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

namespace {

// How two schemas of one item differ, as part of a message; "" when they are the same.
std::string schema_difference_text(std::string_view a, const std::string& a_provider,
                                   std::string_view b, const std::string& b_provider) {
  try {
    return schema_difference(parse_schema(a), a_provider, parse_schema(b), b_provider);
  } catch (const Error&) {  // loading the plugin will say what is wrong with it
    return "";
  }
}

std::string schema_of(const PluginFacts& facts, ItemKind kind, std::string_view name) {
  const auto find = [&](const auto& items) {
    for (const auto& item : items) {
      if (item.name() == name) return item.schema;
    }
    return std::string();
  };
  return kind == ItemKind::Op       ? find(facts.ops)
         : kind == ItemKind::Module ? find(facts.modules)
                                    : std::string();
}

// Whether two plugins mean different things by one name, so that being asked for by name does not
// rank them: who names a plugin may not know that it takes another's name.
bool redefines(const PluginFacts& a, const PluginFacts& b, ItemKind kind, std::string_view name) {
  if (kind != ItemKind::Type) {
    const std::string schema = schema_of(a, kind, name);
    const std::string other = schema_of(b, kind, name);
    return schema != other && !schema_difference_text(schema, a.id, other, b.id).empty();
  }
  const auto find = [&](const PluginFacts& facts) {
    return std::find_if(facts.types.begin(), facts.types.end(),
                        [&](const TypeFacts& type) { return type.name() == name; });
  };
  const auto mine = find(a), theirs = find(b);
  return mine->parent != theirs->parent || mine->payload != theirs->payload;
}
bool redefines(const OverrideFacts& a, const OverrideFacts& b) {
  return a.accepts != b.accepts || !schema_difference_text(a.schema, "a", b.schema, "b").empty();
}

}  // namespace

std::vector<const PluginManager::Record*> PluginManager::best_providers(ItemKind kind,
                                                                        std::string_view name,
                                                                        std::string* reason) const {
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
  if (const Record* record = policies_->preferred(name, candidates, reason)) return {record};
  std::vector<const Record*> named;
  std::vector<const Record*> sound;
  for (const Record* record : candidates) {
    if (record->named || record->configured) named.push_back(record);
    if (record->state != PluginState::Failed || record->opened) sound.push_back(record);
  }
  if (named.size() > 1) {
    if (const Record* record = policies_->by_place(named, reason)) return {record};
  }
  if (!named.empty()) {
    // Above those that provide the same, not above those whose name it takes for something else.
    std::vector<const Record*> rivals = named;
    for (const Record* other : sound) {
      if (std::find(named.begin(), named.end(), other) == named.end() &&
          std::any_of(named.begin(), named.end(), [&](const Record* record) {
            return redefines(*record->found.facts, *other->found.facts, kind, name);
          }))
        rivals.push_back(other);
    }
    if (rivals.size() == 1 && candidates.size() > 1 && reason != nullptr)
      *reason = "asked for by name";
    return rivals;
  }
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
  if (present != provided.end() && present->second == &record) {
    if (reason != nullptr) best_providers(kind, name, reason);
    return ProviderStanding::Chosen;
  }
  if (record.state == PluginState::Disabled) {
    say(record.reason);
    return ProviderStanding::Disabled;
  }
  std::string source;
  if (const auto* rule = policies_->disabling(record, name, &source)) {
    say(quote(rule->pattern) + " is disabled by " + source);
    return ProviderStanding::Disabled;
  }
  std::string ranked_by;
  const std::vector<const Record*> best =
      best_providers(kind, name, reason == nullptr ? nullptr : &ranked_by);
  const bool among = std::find(best.begin(), best.end(), &record) != best.end();
  if (record.state == PluginState::Failed && (!among || best.size() == 1)) {
    say(record.reason);
    return ProviderStanding::Failed;
  }
  if (!among) {
    say(best.empty() ? ""
                     : best.front()->text() + " ranks above it" +
                           (ranked_by.empty() ? "" : ", " + ranked_by));
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
  say(ranked_by);
  return ProviderStanding::Chosen;
}

// For plugins that are asked for by name: all of it that cannot be used because of another plugin.
std::optional<PluginFailure> PluginManager::conflict(const Record& record) const {
  // By reason, which names the other provider.
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  const auto add = [&](std::string item, const std::string& reason) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& one) { return one.first == reason; });
    if (group == groups.end()) group = groups.insert(groups.end(), {reason, {}});
    group->second.push_back(std::move(item));
  };
  each_item(*record.found.facts, [&](ItemKind kind, std::string_view name) {
    std::string reason;
    if (standing(record, kind, name, &reason) != ProviderStanding::Contested) return;
    for (const Record* rival : index(kind).find(name)->second) {
      if (rival == &record) continue;
      const std::string difference =
          schema_difference_text(schema_of(*record.found.facts, kind, name), record.id(),
                                 schema_of(*rival->found.facts, kind, name), rival->id());
      if (!difference.empty()) reason += "; " + difference;
    }
    add(std::string(kind_text(kind)) + " " + quote(name), reason);
  });
  for (const OverrideFacts& entry : record.found.facts->overrides) {
    const RuleTarget target(schema_name(entry.schema), entry.key);
    if (policies_->disabling(record, target, nullptr) != nullptr) continue;
    for (const auto& rival : records_) {
      if (rival.get() == &record || !rival->found.facts || rival->state == PluginState::Failed ||
          rival->state == PluginState::Disabled || rival->state == PluginState::Shadowed ||
          policies_->disabling(*rival, target, nullptr) != nullptr)
        continue;
      const auto& theirs = rival->found.facts->overrides;
      const bool same = std::any_of(theirs.begin(), theirs.end(), [&](const OverrideFacts& other) {
        return other.key == entry.key;
      });
      if (same && ranked(target, {const_cast<Record*>(&record), rival.get()}) == nullptr)
        add("override " + entry.key, "nothing ranks it above or below " + rival->text());
    }
  }
  if (groups.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const auto& [reason, items] : groups)
    texts.push_back(join(items, ", ") + " would have two providers: " + reason);
  return make_failure(PluginStage::Register, record.id(), record.found.path, join(texts, "; "),
                      "rank them by `prefer` or `duplicates` in the config, or disable one");
}

Error PluginManager::contested(ItemKind kind, std::string_view name,
                               const std::vector<const Record*>& rivals) const {
  std::vector<const Record*> sorted = rivals;
  std::sort(sorted.begin(), sorted.end(),
            [](const Record* a, const Record* b) { return a->text() < b->text(); });
  std::vector<std::string> texts;
  std::string difference;
  for (const Record* rival : sorted) {
    texts.push_back(rival->text());
    if (difference.empty()) {
      difference = schema_difference_text(schema_of(*sorted.front()->found.facts, kind, name),
                                          sorted.front()->id(),
                                          schema_of(*rival->found.facts, kind, name), rival->id());
    }
  }
  return Error(TENON_ERROR_PLUGIN,
               std::string(kind_text(kind)) + " " + quote(name) + " has " +
                   std::to_string(texts.size()) + " providers and nothing ranks them: " +
                   join(texts, ", ") + (difference.empty() ? "" : "; " + difference) +
                   "; rank them by `prefer` in the config, or disable all but one");
}

// Of two providers of an override; null when nothing ranks them.
const PluginManager::Record* PluginManager::ranked(const RuleTarget& target,
                                                   const std::vector<Record*>& candidates) const {
  if (const Record* record = policies_->preferred(target, candidates)) return record;
  std::vector<const Record*> named;
  for (const Record* record : candidates) {
    if (record->named || record->configured) named.push_back(record);
  }
  if (named.size() == candidates.size()) return policies_->by_place(named);
  if (named.size() != 1) return nullptr;
  const auto entry_of = [&](const Record& record) {
    const auto& entries = record.found.facts->overrides;
    return std::find_if(entries.begin(), entries.end(),
                        [&](const OverrideFacts& entry) { return entry.key == target.key; });
  };
  const auto own = entry_of(*named.front());
  for (const Record* record : candidates) {
    const auto other = entry_of(*record);
    if (own != named.front()->found.facts->overrides.end() &&
        other != record->found.facts->overrides.end() && redefines(*own, *other))
      return nullptr;
  }
  return named.front();
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
  failure.expected = "version " + found.facts->version;
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
    failure =
        make_failure(PluginStage::Find, id, "",
                     "no plugin has this id" + suggestion(id, ids) + "; " + searched_text(folders_),
                     "install it in one of them, " + std::string(plugin_folder_advice()) +
                         ", or load it by its path");
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
  if (record.state == PluginState::Disabled) {
    PluginFailure failure = make_failure(PluginStage::Find, record.id(), record.found.path,
                                         "it is " + record.reason, "enable it in the config");
    failure.asked_by = asked_by;
    throw PluginError(std::move(failure));
  }
  load_now(lock, record, asked_by);
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
      ensure_loaded(lock, *other, "an override for a type of '" + record.id() + "'");
  }
}

void Registration::sort_by_name() {
  const auto by_schema = [](const auto* item) { return schema_name(item->schema); };
  std::ranges::sort(ops, {}, by_schema);
  std::ranges::sort(modules, {}, by_schema);
  std::ranges::sort(types, {}, [](const auto* type) { return std::string_view(type->name); });
  std::ranges::sort(overrides, {},
                    [](const auto* entry) { return override_key(entry->schema, entry->types); });
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
      const std::string_view schema = table.overrides[i]->schema;
      const std::string key = override_key(schema, table.overrides[i]->types);
      if (policies_->disabling(record, {schema_name(schema), key}, nullptr) == nullptr)
        chosen_items.overrides.push_back(table.overrides[i]);
    }
    chosen_items.sort_by_name();
  };
  const bool first = record.loaded.table == nullptr;
  if (!first) {
    choose(false);
    if (chosen_items.empty()) return;
  }

  const Policies::Entry entry = policies_->entry(record);
  const std::string sha256 = entry.plugin == nullptr ? "" : entry.plugin->sha256;
  const Tree options = entry.plugin == nullptr ? Tree() : entry.plugin->options;
  const Tree written = entry.plugin == nullptr ? Tree() : entry.plugin->written;
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
          failure.expected = quote(id);
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
    // What init refuses is what it was given.
    failure.place = place_in(written, failure.stage == PluginStage::Init ? "/options" : "");
    PluginError complete(failure);
    complete.cause = error.cause;
    end_failed(std::move(failure));
    throw complete;
  } catch (const Error& error) {
    PluginFailure failure = make_failure(PluginStage::Register, id, path, error.message,
                                         "fix the plugin, or resolve the conflict above");
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
    throw Error(TENON_ERROR_PLUGIN, asked_by + " is provided by plugin " + record.text() +
                                        " but not available: " + reason +
                                        "; enable it in the config");
  }
  Record& record = *std::find_if(records_.begin(), records_.end(), [&](const auto& other) {
                      return other.get() == best.front();
                    })->get();
  ensure_loaded(lock, record, asked_by);
  // A file that was built again since it was indexed may provide less.
  return provided_[static_cast<size_t>(kind)].contains(std::string(name));
}

bool PluginManager::complete_type(std::string_view name) {
  {
    Lock lock(mutex_);
    if (is_loading()) return false;
    const auto& types = provided_[static_cast<size_t>(ItemKind::Type)];
    if (const auto found = types.find(std::string(name)); found != types.end()) {
      load_companions(lock, *found->second);
      return true;
    }
  }
  ensure_type(name);  // in the table, but its plugin is not active yet
  return true;
}

std::string PluginManager::preferred(std::string_view op, std::string_view key,
                                     const std::string& a, const std::string& b) {
  const Lock lock(mutex_);
  std::vector<Record*> candidates;
  for (const std::string* id : {&a, &b}) {
    if (Record* record = find_id(*id)) candidates.push_back(record);
  }
  const Record* record = candidates.size() < 2 ? nullptr : ranked({op, key}, candidates);
  return record == nullptr ? "" : record->id();
}

PluginManager::DeclaredOp PluginManager::declared_op(std::string_view op) {
  const Lock lock(mutex_);
  if (!scanned_) scan();
  if (!index(ItemKind::Op).contains(op)) return {};
  const std::vector<const Record*> best = best_providers(ItemKind::Op, op);
  if (best.empty()) return {};
  for (const OpFacts& declared : best.front()->found.facts->ops) {
    if (declared.name() == op) {
      return {declared.schema, best.front()->id(),
              (declared.flags & TENON_OP_NOT_OVERRIDABLE) == 0};
    }
  }
  return {};
}

bool PluginManager::declares_override(std::string_view key) {
  const Lock lock(mutex_);
  return std::any_of(records_.begin(), records_.end(), [&](const auto& record) {
    if (record->found.facts == nullptr || record->state == PluginState::Shadowed ||
        record->state == PluginState::Failed || record->state == PluginState::Disabled)
      return false;
    const auto& entries = record->found.facts->overrides;
    return std::any_of(entries.begin(), entries.end(),
                       [&](const OverrideFacts& entry) { return entry.key == key; });
  });
}

bool PluginManager::strict() {
  const Lock lock(mutex_);
  return std::any_of(policies_->list.begin(), policies_->list.end(),
                     [](const PluginPolicy& policy) { return policy.strict; });
}

bool PluginManager::is_glue(const std::string& id) {
  const Lock lock(mutex_);
  const Record* record = find_id(id);
  const auto entry = record == nullptr ? Policies::Entry() : policies_->entry(*record);
  return entry.plugin != nullptr && entry.plugin->glue;
}

void PluginManager::load(const std::string& id_or_path, const std::string& asked_by) {
  Lock lock(mutex_);
  Record& record = loadable(id_or_path, asked_by);
  if (record.state == PluginState::Disabled && !record.named && is_autoload_off()) {
    record.named = true;
    judge(record);
    record.named = record.state != PluginState::Disabled;
  }
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
  for (auto* rules : {&adopted.prefer, &adopted.disable}) {
    for (PluginPolicy::Rule& rule : *rules) rule.pattern = canonical_pattern(rule.pattern);
  }
  policies_->list.insert(policies_->list.begin(), adopted);
  scan();
  std::vector<PluginFailure> failures;
  const auto refuse = [&](PluginFailure failure, const Tree& written,
                          std::string_view pointer = {}) {
    failure.place = place_in(written, pointer);
    if (failure.place.empty()) failure.asked_by = policy.source;
    failures.push_back(std::move(failure));
  };
  std::vector<std::string> left_out;
  std::vector<std::pair<std::string, std::string>> listed;  // path, name
  const auto is_missing = [&](const std::string& id) {
    return std::find(left_out.begin(), left_out.end(), id) != left_out.end();
  };
  for (const PluginPolicy::Plugin& plugin : adopted.plugins) {
    if (plugin.mode == LoadMode::Never) {
      const Record* record =
          is_plugin_path(plugin.name) ? find_path(plugin.name) : find_id(plugin.name);
      if (record != nullptr) listed.emplace_back(record->found.path, plugin.name);
      if (record != nullptr && record->settled()) {
        refuse(make_failure(PluginStage::Register, record->id(), record->found.path,
                            "it is loaded already, so it cannot be disabled",
                            "apply the config before anything of the plugin is used"),
               plugin.written, "/load");
      }
      continue;
    }
    if (is_left_out(plugin, policy.source)) {
      left_out.push_back(plugin.name);
      continue;
    }
    Record* record = nullptr;
    try {
      record = &policy_record(plugin, policy.source);
    } catch (const PluginError& error) {
      refuse(error.failure, plugin.written);
      continue;
    }
    if (const std::string& id = record->id();
        !plugin.id.empty() && !id.empty() && id != plugin.id) {
      refuse(make_failure(PluginStage::Find, plugin.id, record->found.path,
                          "the file at this path is plugin " + quote(id),
                          "correct `name` or `path`, or leave one of them out"),
             plugin.written);
      continue;
    }
    if (std::any_of(listed.begin(), listed.end(), [&](const auto& one) {
          return one.first == record->found.path && one.second != plugin.name;
        })) {
      refuse(make_failure(PluginStage::Find, record->id(), record->found.path,
                          "the config lists it twice, by its id and by its path",
                          "remove one of the entries"),
             plugin.written);
      continue;
    }
    listed.emplace_back(record->found.path, plugin.name);
    if (record->state == PluginState::Failed) {
      const bool version = record->failure->stage == PluginStage::Version;
      refuse(*record->failure, plugin.written, version ? "/version" : "");
      continue;
    }
    if (auto failure = check_hash(record->id(), record->found.path, plugin.sha256)) {
      refuse(std::move(*failure), plugin.written, "/sha256");
    }
    if (record->settled()) {
      if (auto failure = check_version(*record->found.facts, record->found.path, plugin.version)) {
        refuse(std::move(*failure), plugin.written, "/version");
      }
      if (plugin.options) {
        refuse(make_failure(PluginStage::Init, record->id(), record->found.path,
                            "it is loaded already, so its options come too late",
                            "apply the config before anything of the plugin is used"),
               plugin.written, "/options");
      }
    }
    if (auto failure = conflict(*record)) refuse(std::move(*failure), plugin.written);
  }
  // A rule that names nothing is a mistyped rule. What failed or is disabled still counts.
  const auto matched = [&](const PluginPolicy::Rule& rule, std::vector<std::string_view>& names) {
    for (const auto& record : records_) {
      if (record->found.facts == nullptr) continue;
      if (!rule.plugin.empty() && rule.plugin != record->id()) continue;
      const PluginFacts& facts = *record->found.facts;
      for (const OverrideFacts& entry : facts.overrides)
        names.push_back(rule.about_overrides() ? entry.name() : schema_name(entry.schema));
      if (rule.about_overrides()) continue;
      for (const OpFacts& op : facts.ops) names.push_back(op.name());
      for (const ModuleFacts& module : facts.modules) names.push_back(module.name());
    }
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return matches_pattern(rule.pattern, name); });
  };
  const auto check_matches = [&](const PluginPolicy::Rule& rule, const char* list) {
    std::vector<std::string_view> names;
    if (is_missing(rule.plugin) || matched(rule, names)) return;
    refuse(make_failure(
               PluginStage::Find, "", "",
               std::string(list) + ": " + quote(rule.pattern) + " matches no " +
                   (rule.about_overrides() ? "override" : "op or module") +
                   (rule.plugin.empty() ? " of any plugin" : " of plugin " + quote(rule.plugin)) +
                   suggestion(rule.pattern, names),
               "correct the name, or remove the rule"),
           rule.written);
  };
  for (const PluginPolicy::Rule& rule : adopted.disable) {
    check_matches(rule, "ops.disable");
    for (const auto& provided : provided_) {
      for (const auto& [name, record] : provided) {
        if (!matches_pattern(rule.pattern, name)) continue;
        if (!rule.plugin.empty() && rule.plugin != record->id()) continue;
        refuse(make_failure(PluginStage::Register, record->id(), record->found.path,
                            quote(name) + " is registered already, so it cannot be disabled",
                            "apply the config before anything of the plugin is used"),
               rule.written);
      }
    }
  }
  for (const PluginPolicy::Rule& rule : adopted.prefer) {
    const bool known = std::any_of(records_.begin(), records_.end(),
                                   [&](const auto& record) { return record->id() == rule.plugin; });
    if (is_missing(rule.plugin)) {
      continue;
    } else if (!known) {
      refuse(make_failure(PluginStage::Find, rule.plugin, "",
                          "it is preferred for " + quote(rule.pattern) +
                              " but no plugin has this id; " + searched_text(folders_),
                          "correct the id, or remove the rule"),
             rule.written);
    } else {
      check_matches(rule, "ops.prefer");
    }
  }
  std::vector<std::string_view> ops;
  for (const auto& [name, records] : index(ItemKind::Op)) ops.push_back(name);
  for (const PluginPolicy::Type& type : policy.types) {
    if (!index(ItemKind::Type).contains(type.name)) {
      std::vector<std::string_view> names;
      for (const auto& [name, records] : index(ItemKind::Type)) names.push_back(name);
      refuse(make_failure(PluginStage::Find, "", "",
                          "types: no plugin provides a tensor type " + quote(type.name) +
                              suggestion(type.name, names),
                          "correct the name, or remove the entry"),
             type.written);
    }
    for (const auto& [patterns, list] :
         {std::pair{&type.settings.fallback_allow, "/fallback_ops/allow/"},
          std::pair{&type.settings.fallback_deny, "/fallback_ops/deny/"},
          std::pair{&type.settings.covers, "/covers/"}}) {
      for (const std::string& pattern : *patterns) {
        if (std::any_of(ops.begin(), ops.end(),
                        [&](std::string_view op) { return matches_pattern(pattern, op); }))
          continue;
        refuse(make_failure(PluginStage::Find, "", "",
                            "types: " + type.name + ": " + quote(pattern) +
                                " matches no op of any plugin" + suggestion(pattern, ops),
                            "correct the name, or remove it"),
               type.written, list + std::to_string(&pattern - patterns->data()));
      }
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
    if (failures.size() > 1 && !failures.front().place.empty())
      error.message.insert(
          0, policy.source + " has " + std::to_string(failures.size()) + " faults:\n");
    throw error;
  }
  const std::vector<PluginPolicy::Plugin> plugins = policies_->list.front().plugins;
  lock.unlock();
  for (const PluginPolicy::Type& type : policy.types)
    registrar_.configure(type.name, type.settings);
  lock.lock();
  for (const PluginPolicy::Plugin& plugin : plugins) {
    if (plugin.mode != LoadMode::Eager || is_left_out(plugin, policy.source)) continue;
    ensure_loaded(lock, policy_record(plugin, policy.source), plugin.written ? "" : policy.source);
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
