#include "declared_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <tenon/conversion_rules.hpp>
#include <tenon/error.hpp>

#include "format.hpp"

namespace cli {

std::vector<DeclaredFile> declared_files(const std::string& kind) {
  std::vector<DeclaredFile> list;
  tenon::for_each_conversion_rule(
      kind.c_str(), [&](const std::string& plugin, std::string_view rule) {
        const size_t equals = rule.find('=');
        if (equals == std::string_view::npos) return;
        list.push_back({std::string(tenon::detail::trim(rule.substr(0, equals))),
                        std::string(tenon::detail::trim(rule.substr(equals + 1))), plugin});
      });
  return list;
}

const DeclaredFile* find_declared(const std::vector<DeclaredFile>& list,
                                  const std::string& ending) {
  const DeclaredFile* found = nullptr;
  for (const DeclaredFile& one : list) {
    if (one.ending != ending) continue;
    if (found != nullptr)
      throw tenon::ConfigError(
          format_text("the plugins '{}' and '{}' both declare files that end in .{}; name one of "
                      "them in --plugin-path, or remove the other",
                      found->plugin, one.plugin, ending));
    found = &one;
  }
  return found;
}

std::string file_ending(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  if (!ending.empty()) ending.erase(0, 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

}  // namespace cli
