// The load guard that an application has set, and what it is shown of one plugin. Whatever a guard
// answers or throws ends here as a refusal: a guard that fails opens nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "core/plugin/facts/byte_source.hpp"
#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "tenon/abi/guard.h"

namespace tenon::core {

// A guard while something uses it: calls in flight share it with the plugin manager.
class Guard {
 public:
  // Throws ArgumentError for a table without one of its functions.
  explicit Guard(const tenon_load_guard& table);
  ~Guard();  // calls its `release`, where it was set
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // It is set: from now on its application's object is in use.
  void set() { is_set_ = true; }

  // A policy's document as the guard wants it. Throws the guard's error.
  struct Adopted {
    Json document;  // null: it says nothing to guards
    bool reviews = false;
  };
  Adopted adopt(const Json& policy, bool applies) const;
  // Faults of a policy that is about to become active; `newest`: the first document is its own.
  std::vector<PluginFailure> review(std::span<const Json> documents, bool newest,
                                    const Json& loadable) const;

  const tenon_load_guard& table() const { return table_; }

 private:
  const tenon_load_guard table_;
  bool is_set_ = false;
};

// A library of a plugin that a policy pins.
struct PinnedLibrary {
  std::string name, path;
};

// Words of policies and the guard about one plugin. A copy: used where no lock protects them.
struct GuardTerms {
  std::shared_ptr<const Guard> guard;  // null: none is set
  std::string needed_by;               // a policy that cannot do without one; empty: none
  std::vector<Json> documents;         // of the active policies, the newest first
  Json entry;                          // of the plugin
  Json alone;                          // config that loads it alone
};

// One plugin before the guard, from the first question to the end of its load. One thread at a time.
class GuardedPlugin {
 public:
  GuardedPlugin(const GuardTerms& terms, std::string id, std::string path,
                std::string asked_by = "");

  // Whether the guard judges bytes, so that those which are mapped have to be a private copy. Throws
  // PluginError when the guard fails.
  bool wants_bytes();
  // Why the plugin is refused. `copy`: of a load, where the guard wants bytes.
  std::optional<PluginFailure> judge(uint32_t occasion, const PluginFacts& facts,
                                     const FileStamp& stamp, const SealedFile* copy = nullptr);
  // With which libraries alone it may be opened; null: any.
  const std::vector<PinnedLibrary>* pinned() const { return pinned_ ? &*pinned_ : nullptr; }
  // Throws PluginError when the guard refuses a library. `mapped`: from where the process has it.
  void require_library(const std::string& name, const PinnedLibrary* library,
                       const std::string& mapped, const SealedFile* bytes) const;

  // The guard is asked before code of the plugin runs, which it may refuse (PluginError), and learns
  // how far that came.
  class Phase {
   public:
    explicit Phase(GuardedPlugin& plugin);
    ~Phase();
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;
    void entered() noexcept;
    void loaded() noexcept { loaded_ = 1; }

   private:
    const GuardedPlugin& plugin_;
    void* token_ = nullptr;
    int32_t loaded_ = 0;
  };

 private:
  class Report;
  template <class Step, class... Arguments>
  std::optional<PluginFailure> ask(const char* function, Step tenon_load_guard::*step,
                                   Report& report, Arguments... arguments) const;
  std::optional<PluginFailure> without_guard() const;
  uint32_t wants();

  const GuardTerms& terms_;
  const std::string id_, path_, asked_by_;
  std::vector<const tenon_json*> documents_;
  tenon_guarded_file file_{};
  std::optional<uint32_t> wants_;
  std::optional<std::vector<PinnedLibrary>> pinned_;
};

}  // namespace tenon::core
