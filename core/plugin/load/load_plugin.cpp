// The load page: each step of a load by its name, in order. Its parts: on which terms a file is opened; from
// the file to its code (`open_plugin`); from its table to what is registered of it; a whole load
// (`Load::run`) and its ends.
#include "core/plugin/load/load_plugin.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/load/table_check.hpp"

namespace tenon::core {

// ---- on which terms ----

namespace {

// The plugin by its file, with its options, and what it may need in its init: the folders in which
// others are found.
Json trial_config(const KnownPlugin& plugin, const PluginPolicy::Plugin& pinned,
                  const PolicyStack& policies, std::span<const SearchFolder> folders) {
  JsonBuilder config;
  config.begin_object().key("search_paths").begin_array();
  for (const SearchFolder& folder : folders) config.value(folder.path);
  config.end_array().key("trust").begin_array();
  for (const PluginPolicy& policy : policies.list) {
    for (const std::string& path : policy.trust) config.value(absolute_path(path));
  }
  config.end_array().key("plugins").begin_array().begin_object();
  config.member("path", plugin.found.path).member("load", "eager");
  if (pinned.options) config.key("options").copy(*pinned.options, false);
  return config.end_object().end_array().end_object().finish();
}

}  // namespace

LoadTerms terms_of(const KnownPlugin& plugin, const PolicyStack& policies,
                   std::span<const SearchFolder> folders) {
  LoadTerms terms;
  const PolicyStack::Entry entry = policies.entry(plugin);
  if (entry.plugin != nullptr) terms.pinned = *entry.plugin;
  terms.trust = policies.trust();
  terms.guard = guard_terms(plugin, policies);
  if (policies.guard != nullptr)
    terms.guard.alone = trial_config(plugin, terms.pinned, policies, folders);
  return terms;
}

// ---- from a file to its code ----

namespace {

// Reads the declarations of a file that was built again since it was indexed. It has to be of the same
// plugin.
void read_again(const Opening& opening, const DescriptorSource& file, bool judged,
                OpenedPlugin& opened) {
  const FoundPlugin& found = opening.found;
  if (judged || !(file.stamp() == found.stamp)) {
    PluginFacts facts = read_facts(file, found.path);
    if (facts.id != found.facts->id || (found.is_side() && facts.version != found.facts->version)) {
      refuse_plugin(
          PluginStage::Read, opening.plugin, found.path, "the file holds another plugin by now",
          "load that one by its own id", quote(opening.plugin),
          quote(facts.id == found.facts->id ? format_text("{}@{}", facts.id, facts.version)
                                            : facts.id));
    }
    opened.facts = std::make_shared<const PluginFacts>(std::move(facts));
  }
  opened.stamp = file.stamp();
  opened.verdict = judge_unmapping(file, found.path);
}

// The bytes that are mapped: a private copy where the guard judges them, or where the system's loader
// would lead the path to the code that is there; else null, for the file itself.
std::unique_ptr<const SealedFile> read_file(const Opening& opening, bool judged,
                                            OpenedPlugin& opened) {
  const std::string& path = opening.found.path;
  if (judged || opening.before.code != nullptr || is_mapped(path)) {
    auto copy = std::make_unique<const SealedFile>(path);
    read_again(opening, *copy, judged, opened);
    return copy;
  }
  read_again(opening, FileSource(path), judged, opened);
  return nullptr;
}

// A file that was built again may be one that a scan would refuse.
void require_fit(const Opening& opening, const PluginFacts& facts, const tenon_host& host) {
  const std::string& path = opening.found.path;
  auto failure = judge_facts(host, facts, path);
  if (!failure && opening.before.code != nullptr)
    failure = check_version(facts, path, opening.terms.pinned.version);
  if (failure) throw PluginError(std::move(*failure));
}

}  // namespace

void open_plugin(const Opening& opening, const tenon_host& host, OpenedPlugin& opened) {
  const std::string& path = opening.found.path;
  LoadedPlugin& loaded = opened.loaded;
  opened.facts = opening.found.facts;
  opened.stamp = opening.found.stamp;
  GuardedPlugin guarded(opening.terms.guard, opening.plugin, path, opening.asked_by);

  // 1. Its bytes and their facts, as they are now.
  auto copy = read_file(opening, guarded.wants_bytes(), opened);
  const PluginFacts& facts = *opened.facts;
  // 2. Built for this host, in a version that the config accepts.
  require_fit(opening, facts, host);
  // 3. Only trusted users can change the file.
  opening.terms.trust.require_file(path, opened.stamp);
  // 4. The application's load guard accepts it.
  if (auto refusal = guarded.judge(TENON_GUARD_LOAD, facts, opened.stamp, copy.get()))
    throw PluginError(std::move(*refusal));
  GuardedPlugin::Phase phase(guarded);
  // 5. The services that it uses, which loads their plugins.
  const auto services = std::make_shared<const HeldServices>(host, facts, path);
  loaded.services = services;
  // 6. Mapped: its constructors run.
  const PluginCalls plugin(facts, path, host);
  plugin.open(std::move(copy), guarded, opening.generation, loaded);
  phase.entered();
  // 7. Its entry returns the table of what it registers, which is what its file declares.
  const tenon_plugin& table = checked_table(plugin.enter(loaded), facts, path, host);
  services->fill(table);
  // 8. Initialized, with its options.
  plugin.initialize(table, opening.terms.pinned.options.get());
  loaded.table = &table;
  if (opening.before.code != nullptr) plugin.take_over(*opening.before.table, table);
  phase.loaded();
}

// ---- from a table to what is registered of it ----

ResolvedLoad due_registrations(const KnownPlugin& plugin, const tenon_plugin& table,
                               const Registrations& registered, const Resolver& resolver,
                               Due what) {
  const auto is_due = [&](ItemKind kind, std::string_view name) {
    const KnownPlugins* const present = registered.of(kind, name);
    const bool is_there =
        present != nullptr && std::ranges::find(*present, &plugin) != present->end();
    return is_there ? what == Due::Again : resolver.belongs(plugin, kind, name);
  };
  // By name: the order in a plugin's table is that of its link, which decides nothing.
  const auto choose = [&](ItemKind kind, auto* const* items, int64_t count, auto&& name_of,
                          auto& chosen) {
    std::copy_if(items, items + count, std::back_inserter(chosen),
                 [&](const auto* item) { return is_due(kind, name_of(item)); });
    std::ranges::sort(chosen, {}, name_of);
  };
  const auto by_schema = [](const auto* item) { return schema_name(item->schema); };
  const auto by_name = [](const auto* item) { return std::string_view(item->name); };
  const auto by_key = [](const auto* entry) { return override_key(entry->schema, entry->types); };

  ResolvedLoad load;
  load.provider = plugin.id();
  choose(ItemKind::Op, table.ops, table.op_count, by_schema, load.ops);
  choose(ItemKind::Module, table.modules, table.module_count, by_schema, load.modules);
  choose(ItemKind::Type, table.types, table.type_count, by_name, load.types);
  choose(ItemKind::Service, table.services, table.service_count, by_name, load.services);
  for (const tenon_op_descriptor* op : load.ops) {
    const std::string_view name = schema_name(op->schema);
    const KnownPlugins ranked = resolver.registered_with(plugin, ItemKind::Op, name);
    if (ranked.size() == 1) continue;
    std::vector<std::string>& ids = load.ranked[std::string(name)];
    for (const KnownPlugin* one : ranked) ids.push_back(one->id());
  }
  if (what == Due::More) return load;
  std::copy_if(table.overrides, table.overrides + table.override_count,
               std::back_inserter(load.overrides), [&](const tenon_override_descriptor* entry) {
                 return !resolver.is_disabled(plugin, {schema_name(entry->schema), by_key(entry)});
               });
  std::ranges::sort(load.overrides, {}, by_key);
  return load;
}

namespace {

// Types that it builds on and does not define.
std::set<std::string> foreign_types(const ResolvedLoad& load) {
  std::set<std::string> names;
  for (const auto* type : load.types) {
    if (type->parent != nullptr) names.emplace(type->parent);
  }
  for (const auto* entry : load.overrides) {
    for (const char* list : {entry->types, entry->accepts}) {
      for (std::string& name : type_names(list == nullptr ? "" : list))
        names.insert(std::move(name));
    }
  }
  names.erase("*");
  for (const auto* type : load.types) names.erase(type->name);
  return names;
}

ItemNames names_of(const ResolvedLoad& load) {
  ItemNames names;
  for (const auto* op : load.ops) names.emplace_back(ItemKind::Op, schema_name(op->schema));
  for (const auto* module : load.modules)
    names.emplace_back(ItemKind::Module, schema_name(module->schema));
  for (const auto* type : load.types) names.emplace_back(ItemKind::Type, type->name);
  for (const auto* service : load.services) names.emplace_back(ItemKind::Service, service->name);
  return names;
}

using Unlocked = Lifecycle::Unlocked;

}  // namespace

// ---- a load ----

PluginManager::Load::Load(PluginManager& manager, Lock& lock, LivePlugin& plugin,
                          const std::string& asked_by, bool replaces)
    : manager_(manager),
      lock_(lock),
      plugin_(plugin),
      asked_by_(asked_by),
      replaces_(replaces),
      opens_(replaces || plugin.loaded.table == nullptr) {
  if (!opens_) opened_.loaded = plugin.loaded;
}

void PluginManager::Load::run() {
  if (!opens_ && is_complete()) return;
  ask();
  Change change(manager_.lifecycle_, plugin_);
  if (replaces_) {  // code with types of which others derive is not replaced
    const Unlocked free(lock_);
    manager_.refuse_users(plugin_);
  }
  try {
    if (opens_) open();
    resolve();
    commit();
    activate(change);
  } catch (const PluginError& error) {
    PluginFailure failure = error.failure;
    // A refusal of init is about its options.
    if (failure.place.empty()) {
      failure.place = place_in(opening_.terms.pinned.written,
                               failure.stage == PluginStage::Init ? "/options" : "");
    }
    fail(change, std::move(failure), error.cause);
  } catch (const Error& error) {
    fail(change,
         make_failure(PluginStage::Register, opening_.plugin, opening_.found.path, error.message,
                      "correct what it defines"),
         std::make_shared<const tenon_error>(tenon_error{error}));
  } catch (...) {
    end_failed(change,
               make_failure(PluginStage::Register, opening_.plugin, opening_.found.path,
                            "memory ran out, or the runtime failed", "try again in a new process"));
    throw;
  }
  change.end();
  if (replaces_) retire_before();
}

// Copies what policies say of it.
void PluginManager::Load::ask() {
  opening_ = {plugin_.id(),
              plugin_.found,
              plugin_.generation + 1,
              terms_of(plugin_, manager_.policies_, manager_.catalogue_.folders()),
              replaces_ ? plugin_.loaded : LoadedPlugin(),
              asked_by_};
}

// Its code is there, and initialized. What it declares may have changed since it was indexed.
void PluginManager::Load::open() {
  {
    const Unlocked free(lock_);
    open_plugin(opening_, manager_.host_, opened_);
  }
  if (opened_.facts == plugin_.found.facts) return;
  plugin_.found.facts = opened_.facts;
  plugin_.found.stamp = opened_.stamp;
  manager_.renew_resolver();
}

// Chooses what of it belongs in the tables, with all that they have to know to take it.
void PluginManager::Load::resolve() {
  load_ = due_registrations(plugin_, *opened_.loaded.table, manager_.registrations_,
                            manager_.resolver_, due());
  load_.code = opened_.loaded.code;
  if (replaces_) load_.replaced = opening_.before.code;
  const PolicyStack::Entry entry = manager_.policies_.entry(plugin_);
  load_.glue = entry.plugin != nullptr && entry.plugin->glue;
  load_.strict = manager_.policies_.is_strict();
  if (load_.types.empty() && load_.overrides.empty()) return;
  load_.declared_overrides = manager_.resolver_.declared_overrides();
  for (const tenon_override_descriptor* one : load_.overrides) {
    const std::string_view op = schema_name(one->schema);
    if (!load_.declared_ops.contains(op))
      load_.declared_ops.emplace(op, manager_.resolver_.declared_op(op));
  }
}

// All of it is in the tables, after the types of other plugins that it builds on.
void PluginManager::Load::commit() {
  const Unlocked free(lock_);
  try {
    for (const std::string& type : foreign_types(load_)) manager_.ensure_type(type);
    manager_.registrar_.commit(load_);
  } catch (...) {
    if (opens_ && !replaces_) opened_.loaded.shutdown();
    throw;
  }
}

void PluginManager::Load::activate(Change& change) {
  if (replaces_) names_before_ = manager_.registrations_.withdraw(plugin_);
  manager_.registrations_.add(plugin_, names_of(load_), manager_.resolver_);
  if (opens_) change.activate(opened_.loaded, opened_.verdict);
}

bool PluginManager::Load::is_complete() const {
  return due_registrations(plugin_, *plugin_.loaded.table, manager_.registrations_,
                           manager_.resolver_, due())
      .empty();
}

Due PluginManager::Load::due() const {
  if (!opens_) return Due::More;
  return replaces_ ? Due::Again : Due::First;
}

// ---- its ends ----

// The code that was there drains, and what it provided and the new code does not is provided by others.
void PluginManager::Load::retire_before() {
  const Unlocked free(lock_);
  retire(opening_.before, opening_.generation - 1);
  manager_.provide_again(names_before_);
}

// `opened_` has the verdict of the code that goes: activating the new code has exchanged the two.
void PluginManager::Load::retire(const LoadedPlugin& loaded, uint64_t generation) {
  auto code = std::make_shared<RetiredCode>(opening_.plugin, opening_.found.path, generation,
                                            opened_.verdict, loaded);
  if (loaded.code != nullptr) code->withdrawn = manager_.registrar_.withdraw(*loaded.code);
  manager_.retirement_.add(std::move(code));
}

// It is failed, or what was active before is active as it was. New code that is refused then goes as code
// does that was active; whatever of it became visible is stale.
void PluginManager::Load::end_failed(Change& change, PluginFailure failure) {
  failure.asked_by = asked_by_;
  if (opens_ && !replaces_)
    return change.fail(std::move(failure), opened_.loaded.library != nullptr);
  if (replaces_) {
    plugin_.found.facts = opening_.found.facts;
    plugin_.found.stamp = opening_.found.stamp;
    manager_.renew_resolver();
  }
  change.end();
  if (!replaces_ || opened_.loaded.library == nullptr) return;
  const Unlocked free(lock_);
  retire(opened_.loaded, opening_.generation);
}

void PluginManager::Load::fail(Change& change, PluginFailure failure,
                               std::shared_ptr<const tenon_error> cause) {
  failure.asked_by = asked_by_;
  PluginError complete(failure);
  complete.cause = std::move(cause);
  end_failed(change, std::move(failure));
  throw complete;
}

}  // namespace tenon::core
