// The services that a plugin uses: judged by its facts, asked of the host before its file is mapped,
// and held until its code is gone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/plugin_code.hpp"
#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "tenon/abi/plugin.h"

// A use of a plugin's service, by another plugin or by the application.
struct tenon_lease {
  std::string service;
  const tenon_service* table;
  const tenon::core::PluginCode* provider;
  tenon::core::CodeLease code;
};

namespace tenon::core {

// Whether the host has its own services that the facts need: from the file, without asking a plugin.
std::optional<PluginFailure> judge_services(const tenon_host& host, const PluginFacts& facts,
                                            const std::string& path);

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

}  // namespace tenon::core
