// Wording of plugin failures.
#include "core/plugin/failure.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/format.hpp"

namespace tenon::core {

const char* plugin_stage_text(PluginStage stage) noexcept {
  switch (stage) {
    case PluginStage::Find:
      return "find";
    case PluginStage::Read:
      return "read";
    case PluginStage::Version:
      return "version";
    case PluginStage::Open:
      return "open";
    case PluginStage::Symbol:
      return "symbol";
    case PluginStage::Init:
      return "init";
    case PluginStage::Register:
      return "register";
  }
  return "unknown";
}

std::string PluginFailure::text() const {
  std::string text = place.empty() ? "" : format_text("{}: ", place);
  if (!plugin.empty() ||
      !path.empty()) {  // a preference of a config is about no plugin in particular
    text += format_text("cannot load plugin '{}'", plugin.empty() ? path : plugin);
    text += format_text(" at stage {}: ", plugin_stage_text(stage));
  }
  // A problem of several lines shows the text that it is about: these come last.
  const std::string_view whole = problem;
  const size_t first_line = std::min(whole.find('\n'), whole.size());
  text += whole.substr(0, first_line);
  if (!expected.empty()) text += format_text("; expected {}", expected);
  if (!found.empty()) text += (expected.empty() ? "; found " : ", found ") + found;
  if (!path.empty() && !plugin.empty()) text += format_text("; file '{}'", path);
  if (!asked_by.empty()) text += format_text("; asked for by {}", asked_by);
  if (!remedy.empty()) text += format_text("; {}", remedy);
  text += whole.substr(first_line);
  return text;
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

PluginError::PluginError(PluginFailure reason)
    : Error(TENON_ERROR_PLUGIN, reason.text()), failure(std::move(reason)) {
  provider = failure.plugin;
}

}  // namespace tenon::core
