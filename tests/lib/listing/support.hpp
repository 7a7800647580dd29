// Plugins that the cases of this program list: those of the build, and fixtures.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

// A folder with copies of fixtures, which is searched from now on; deleted at the end.
class FixtureFolder {
 public:
  explicit FixtureFolder(const std::vector<std::string>& fixtures) {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_listing_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    for (const std::string& fixture : fixtures) {
      const std::filesystem::path from = std::filesystem::path(TENON_FIXTURES) / (fixture + ".so");
      std::filesystem::copy_file(from, folder_ / from.filename());
    }
    tenon::add_plugin_path(folder_.string());
  }
  FixtureFolder(const FixtureFolder&) = delete;
  FixtureFolder& operator=(const FixtureFolder&) = delete;
  ~FixtureFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  std::filesystem::path folder_;
};

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "";
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
inline std::vector<std::string> texts(const tenon::Json& list, const char* key) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < list.size(); ++i) all.push_back(list[i][key].text());
  return all;
}
inline tenon::Json named(const tenon::Json& list, const std::string& name) {
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i]["name"].text() == name || list[i]["id"].text() == name) return list[i];
  }
  FAIL("nothing is named " << name);
  return {};
}
