// Wording of plugin failures.
#include "core/plugin/failure.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/format.hpp"

namespace tenon::core {

const char* plugin_stage_text(PluginStage stage) noexcept {
  static constexpr std::array texts{"find",   "read", "version", "open",
                                    "symbol", "init", "register"};
  return texts[static_cast<size_t>(stage)];
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

PluginFailure make_failure(PluginStage stage, std::string plugin, std::string path,
                           std::string problem, std::string remedy, std::string expected,
                           std::string found) {
  PluginFailure failure;
  failure.stage = stage;
  failure.plugin = std::move(plugin);
  failure.path = std::move(path);
  failure.problem = std::move(problem);
  failure.remedy = std::move(remedy);
  failure.expected = std::move(expected);
  failure.found = std::move(found);
  return failure;
}

void refuse_plugin(PluginStage stage, std::string plugin, std::string path, std::string problem,
                   std::string remedy, std::string expected, std::string found) {
  throw PluginError(make_failure(stage, std::move(plugin), std::move(path), std::move(problem),
                                 std::move(remedy), std::move(expected), std::move(found)));
}

PluginError::PluginError(PluginFailure reason)
    : Error(TENON_ERROR_PLUGIN, reason.text()), failure(std::move(reason)) {
  provider = failure.plugin;
}

}  // namespace tenon::core
