// A folder with one of the builds of the fixture `generation` in it.
#pragma once

#include <filesystem>
#include <stdlib.h>
#include <string>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>
#include <tenon/tenon.hpp>

#include "tests/reload/build.hpp"

namespace generation {

// The build takes the place of the one that is there.
inline void install(const std::string& build) {
  namespace fs = std::filesystem;
  static const std::string folder = [] {
    std::string pattern = (fs::temp_directory_path() / "tenon-generation-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    tenon::add_plugin_path(pattern);
    return pattern;
  }();
  static const struct Removal {
    ~Removal() { fs::remove_all(folder); }
  } removal;
  install_in(folder, build);
}

// The build is active, whatever was before.
inline void start(const std::string& build) {
  install(build);
  tenon::reload("generation");
}

inline int64_t number() { return tenon::Op("generation.number").call<int64_t>(); }

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const tenon::PluginError& error) {
    return error.what();
  }
  return "no PluginError";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// Generations whose code is still there.
inline int64_t retired() { return tenon::listing::plugin("generation")["retired"].size(); }

}  // namespace generation
