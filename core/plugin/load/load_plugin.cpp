// The load page: each step of a load by its name, in order.
#include "core/plugin/load/load_plugin.hpp"

#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/load/table_check.hpp"

namespace tenon::core {

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
  auto failure = judge_abi(host, facts.id, path, facts.abi_major, facts.abi_minor);
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
  // 2. Versions that host and config accept.
  require_fit(opening, facts, host);
  // 3. Only trusted users can change the file.
  require_trusted(opening.terms.trust, path, opened.stamp);
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

// ---- a load ----

namespace {

// Code of plugins, the tables and the log run while the manager's lock is free.
class Unlocked {
 public:
  explicit Unlocked(Lifecycle::Lock& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Lifecycle::Lock& lock_;
};

}  // namespace

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
  Change change(manager_.lifecycle_, lock_, plugin_);
  if (replaces_) refuse_users();
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

// Code with types of which others derive is not replaced.
void PluginManager::Load::refuse_users() {
  const Unlocked free(lock_);
  const std::vector<std::string> users = manager_.registrar_.users_of(*opening_.before.code);
  if (!users.empty())
    refuse_plugin(PluginStage::Register, opening_.plugin, opening_.found.path,
                  format_text("plugins build on its tensor types: {}", join(users, ", ")),
                  "unload these before it");
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
  load_ = manager_.registrations_.due(plugin_, *opened_.loaded.table, manager_.resolver_, due());
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
    for (const std::string& type : load_.foreign_types()) manager_.ensure_type(type);
    manager_.registrar_.commit(load_);
  } catch (...) {
    if (opens_ && !replaces_) opened_.loaded.shutdown();
    throw;
  }
}

void PluginManager::Load::activate(Change& change) {
  if (replaces_) names_before_ = manager_.registrations_.withdraw(plugin_);
  manager_.registrations_.add(plugin_, load_, manager_.resolver_);
  if (opens_) change.activate(opened_.loaded, opened_.verdict);
}

bool PluginManager::Load::is_complete() const {
  return manager_.registrations_.due(plugin_, *plugin_.loaded.table, manager_.resolver_, due())
      .empty();
}

Registrations::Due PluginManager::Load::due() const {
  if (!opens_) return Registrations::Due::More;
  return replaces_ ? Registrations::Due::Again : Registrations::Due::First;
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
  auto code = std::make_shared<RetiredCode>();
  code->id = opening_.plugin;
  code->path = opening_.found.path;
  code->generation = generation;
  code->verdict = opened_.verdict;
  code->loaded = loaded;
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
