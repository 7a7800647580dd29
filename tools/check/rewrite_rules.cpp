// Rewrites that a plugin's file declares.
#include "rewrite_rules.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <tenon/conversion_rules.hpp>
#include <tenon/prepare/rewrite.hpp>
#include <tenon/runtime.hpp>

namespace cli {

namespace {

using std::string_view;

bool continues_json(string_view, string_view line) {
  return std::string_view("[]{}\",").find(line.front()) != string_view::npos;
}

// Lines of one format, those that continue another one joined to it; by the name before the colon.
std::vector<std::pair<std::string, std::string>> lines_of(
    const tenon::Json& plugin, string_view format, bool (*continues)(string_view, string_view)) {
  std::vector<std::string> lines;
  const tenon::Json plugins = tenon::JsonArray().add(plugin).json();
  tenon::for_each_conversion_rule(
      plugins, [&](const std::string& found, const std::string&, string_view line) {
        if (found != format || line.front() == '#') return;
        if (!lines.empty() && continues(lines.back(), line))
          lines.back() += " " + std::string(line);
        else
          lines.emplace_back(line);
      });
  std::vector<std::pair<std::string, std::string>> named;
  for (std::string& line : lines) {
    std::string name(tenon::detail::trim(string_view(line).substr(0, line.find(':'))));
    named.emplace_back(std::move(name), std::move(line));
  }
  return named;
}

}  // namespace

std::vector<DeclaredRewrite> declared_rewrites(const std::string& plugin) {
  const tenon::Json facts = tenon::plugin_facts(plugin);
  const tenon::Json document =
      tenon::JsonObject().set("id", facts["id"]).set("facts", facts).json();
  std::map<std::string, std::string> samples;
  for (const auto& [name, line] : lines_of(document, "rewrite.samples", continues_json))
    samples[name] = line.substr(std::min(line.find(':') + 1, line.size()));
  std::vector<DeclaredRewrite> rewrites;
  for (const auto& [name, line] : lines_of(document, "rewrite", tenon::rewrites::continues_rule))
    rewrites.push_back({name, line, samples[name]});
  std::stable_sort(rewrites.begin(), rewrites.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return rewrites;
}

}  // namespace cli
