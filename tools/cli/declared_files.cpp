#include "declared_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <tenon/error.hpp>
#include <tenon/overridable.hpp>
#include <tenon/runtime.hpp>

#include "format.hpp"

namespace cli {

using tenon::Json;

std::vector<DeclaredFile> declared_files(const std::string& kind) {
  std::vector<DeclaredFile> list;
  const Json plugins = tenon::document(tenon::Document::facts);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (!tenon::detail::is_usable(plugins[i])) continue;
    const Json facts = plugins[i]["facts"]["conversions"];
    for (int64_t j = 0; j < facts.size(); ++j) {
      if (facts[j]["format"].text() != kind) continue;
      const std::string text = facts[j]["rules"].text();
      for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\n', start), text.size());
        const std::string line = text.substr(start, end - start);
        start = end + 1;
        const size_t equals = line.find('=');
        if (equals == std::string::npos) continue;
        list.push_back({std::string(tenon::detail::trim(line.substr(0, equals))),
                        std::string(tenon::detail::trim(line.substr(equals + 1))),
                        plugins[i]["id"].text()});
      }
    }
  }
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
