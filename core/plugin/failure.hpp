// Why a plugin could not be loaded: the stage that failed, what was expected, what was found, and
// the remedy.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace tenon::core {

// The steps from a name to a usable plugin, in order.
enum class PluginStage { Find, Read, Version, Open, Symbol, Init, Register };

const char* plugin_stage_text(PluginStage stage) noexcept;

struct PluginFailure {
  PluginStage stage = PluginStage::Find;
  std::string plugin;    // id; empty while it has not been read from the file
  std::string path;      // empty when no file was found
  std::string problem;   // one clause
  std::string expected;  // empty where there is nothing to compare
  std::string found;
  std::string remedy;
  std::string asked_by;  // who needed the plugin: "config x.json", "op 'mm'"; empty when unknown
  std::string place;     // in the config: "x.json:3:14: /plugins/0"; empty when none names it

  bool quarantined = false;  // it has ended processes: kept out until it changes

  // All of it in one line.
  std::string text() const;
};

PluginFailure make_failure(PluginStage stage, std::string plugin, std::string path,
                           std::string problem, std::string remedy, std::string expected = "",
                           std::string found = "");

class PluginError : public Error {
 public:
  explicit PluginError(PluginFailure failure);
  PluginFailure failure;
};

// Throws PluginError.
[[noreturn]] void refuse_plugin(PluginStage stage, std::string plugin, std::string path,
                                std::string problem, std::string remedy, std::string expected = "",
                                std::string found = "");

}  // namespace tenon::core
