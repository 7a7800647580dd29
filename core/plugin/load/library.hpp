// A plugin's file as a library of the process: mapped, entered, initialized, shut down and unmapped, with
// the services that it uses. The only home of Boost.DLL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/plugin_code.hpp"
#include "core/plugin/facts/byte_source.hpp"
#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/load/guard.hpp"
#include "tenon/abi/plugin.h"

// A use of a plugin's service, by another plugin or by the application.
struct tenon_lease {
  std::string service;
  const tenon_service* table;
  const tenon::core::PluginCode* provider;
  tenon::core::CodeLease code;
};

namespace tenon::core {

struct OpenLibrary;

// The services that a plugin uses, asked of the host before its file is mapped, and held until its code is
// gone.
class HeldServices {
 public:
  // Asks for all of them, which loads their providers. Throws PluginError.
  HeldServices(const tenon_host& host, const PluginFacts& facts, const std::string& path);
  ~HeldServices();
  HeldServices(const HeldServices&) = delete;
  HeldServices& operator=(const HeldServices&) = delete;

  // Fills the plugin's table of uses, which has been checked against its facts.
  void fill(const tenon_plugin& plugin) const;
  // The names of those that the code provides.
  std::vector<std::string> provided_by(const PluginCode& code) const;

 private:
  struct Held {
    std::string service;
    const void* table = nullptr;
    tenon_lease* lease = nullptr;
  };

  void release() const noexcept;

  const tenon_host& host_;
  std::vector<Held> held_;
};

// A plugin whose file is open. Closing is explicit: the process may end while its code is in use.
struct LoadedPlugin {
  const tenon_plugin* table = nullptr;
  OpenLibrary* library = nullptr;
  PluginCode* code = nullptr;
  std::shared_ptr<const HeldServices> services;  // held for its calls
  // Runs the plugin's shutdown; does not unmap it. What it threw, which is logged, too; "": nothing.
  std::string shutdown() const;
  // Closes the file and forgets the code, which nothing may use any more. Whether the system's loader
  // has unmapped it: something else may have the same file open.
  bool unmap() noexcept;
};

// Whether the system's loader would lead the path to code that is mapped: that of an earlier load, or
// of another libtenon in the process. Variables of that code are another load's.
bool is_mapped(const std::string& path);

// The calls into one plugin while it is loaded. Failures are PluginErrors that name it.
class PluginCalls {
 public:
  PluginCalls(const PluginFacts& facts, const std::string& path, const tenon_host& host)
      : facts_(facts), path_(path), host_(host) {}

  // Maps the file, or `copy` in place of it, after the libraries that are pinned, if any: its
  // constructors run. Fills the library and its code.
  void open(std::unique_ptr<const SealedFile> copy, const GuardedPlugin& guarded,
            uint64_t generation, LoadedPlugin& loaded) const;
  // Calls the one entry, which returns the plugin's table.
  const tenon_plugin& enter(const LoadedPlugin& loaded) const;
  void initialize(const tenon_plugin& table, const tenon_json* options) const;
  // The steps that a reload adds: the state of the plugin as it was, if both have functions for it, and
  // the plugin's test of itself.
  void take_over(const tenon_plugin& before, const tenon_plugin& table) const;

 private:
  [[noreturn]] void fail(PluginStage stage, std::string problem, std::string remedy,
                         std::string found = "") const {
    refuse_plugin(stage, facts_.id, path_, std::move(problem), std::move(remedy), "",
                  std::move(found));
  }
  // Runs plugin code. Whatever it throws, of whichever runtime, ends here.
  template <class Call>
  void call(const char* what, Call&& body) const;

  const PluginFacts& facts_;
  const std::string& path_;
  const tenon_host& host_;
};

}  // namespace tenon::core
