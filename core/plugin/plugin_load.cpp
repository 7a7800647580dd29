// Opened, registered, active; or as it was before.
#include "core/plugin/plugin_load.hpp"

#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

PluginManager::Load::Load(PluginManager& manager, Lock& lock, LivePlugin& plugin,
                          const std::string& asked_by, bool replaces)
    : manager_(manager),
      lock_(lock),
      plugin_(plugin),
      asked_by_(asked_by),
      replaces_(replaces),
      opens_(replaces || plugin.loaded.table == nullptr) {}

void PluginManager::Load::run() {
  if (!opens_) {
    request_ = manager_.registrations_.due(plugin_, *plugin_.loaded.table, manager_.resolver_,
                                           Registrations::Due::More);
    if (request_.empty()) return;
  }
  opening_ = {plugin_.id(),
              plugin_.found,
              plugin_.generation + 1,
              terms_of(plugin_, manager_.policies_, manager_.catalogue_.folders()),
              replaces_ ? plugin_.loaded : LoadedPlugin(),
              asked_by_};
  Change change(manager_.lifecycle_, lock_, plugin_);
  if (replaces_) refuse_users();
  try {
    if (opens_) open();
    register_items(change);
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

void PluginManager::Load::refuse_users() {
  lock_.unlock();
  const std::vector<std::string> users = manager_.registrar_.users_of(*opening_.before.code);
  lock_.lock();
  if (!users.empty())
    throw PluginError(
        make_failure(PluginStage::Register, opening_.plugin, opening_.found.path,
                     format_text("plugins build on its tensor types: {}", join(users, ", ")),
                     "unload these before it"));
}

// Opens the file, whose init runs, and chooses what to register of it.
void PluginManager::Load::open() {
  lock_.unlock();
  open_plugin(opening_, manager_.host_, opened_);
  lock_.lock();
  if (opened_.facts != plugin_.found.facts) {
    plugin_.found.facts = opened_.facts;
    plugin_.found.stamp = opened_.stamp;
    manager_.renew_resolver();
  }
  request_ = manager_.registrations_.due(
      plugin_, *opened_.loaded.table, manager_.resolver_,
      replaces_ ? Registrations::Due::Again : Registrations::Due::First);
}

void PluginManager::Load::register_items(Change& change) {
  const LoadedPlugin loaded = opens_ ? opened_.loaded : plugin_.loaded;
  request_.code = loaded.code;
  if (replaces_) request_.replaced = opening_.before.code;
  lock_.unlock();
  try {
    manager_.registrar_.commit(request_);
  } catch (...) {
    if (opens_ && !replaces_) loaded.shutdown();
    throw;
  }
  lock_.lock();
  if (replaces_) names_before_ = manager_.registrations_.withdraw(plugin_);
  manager_.registrations_.add(plugin_, request_, manager_.resolver_);
  if (opens_) change.activate(loaded, opened_.verdict);
}

// The code that was there, and what it provided and the new code does not.
void PluginManager::Load::retire_before() {
  lock_.unlock();
  retire(opening_.before, opening_.generation - 1);
  manager_.provide_again(names_before_);
  lock_.lock();
}

// New code that is refused goes as code does that was active; whatever of it became visible is stale.
void PluginManager::Load::discard() {
  if (opened_.loaded.library == nullptr) return;
  lock_.unlock();
  retire(opened_.loaded, opening_.generation);
  lock_.lock();
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

void PluginManager::Load::end_failed(Change& change, PluginFailure failure) {
  failure.asked_by = asked_by_;
  if (!lock_.owns_lock()) lock_.lock();
  if (opens_ && !replaces_) {
    change.fail(std::move(failure), opened_.loaded.library != nullptr);
    return;
  }
  if (replaces_) {
    plugin_.found.facts = opening_.found.facts;
    plugin_.found.stamp = opening_.found.stamp;
    manager_.renew_resolver();
  }
  change.end();
  if (replaces_) discard();
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
