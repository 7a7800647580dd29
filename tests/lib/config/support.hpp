// Helpers of the tests of configs.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include <tenon/config/config.hpp>

// A folder where nothing exists, so that no path is there by chance.
inline constexpr const char* kFolder = "/no/such/folder";

inline tenon::Json parsed(const std::string& text, const tenon::Json& sections = {}) {
  return tenon::config::parse(text, "c.json", kFolder, sections);
}

template <class Action>
std::string refusal(tenon_status kind, Action&& action) {
  try {
    action();
  } catch (const tenon::Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "no error";
}
inline std::string fault(const std::string& text, const tenon::Json& sections = {}) {
  return refusal(TENON_ERROR_CONFIG, [&] { parsed(text, sections); });
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
inline bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The table of configs and what reading gives, and the sections that it is about.
inline const tenon::Json& messages() {
  static const tenon::Json table = [] {
    std::ifstream file(TENON_SOURCE_DIR "/tests/lib/config/messages.json");
    return tenon::Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  }();
  return table;
}
