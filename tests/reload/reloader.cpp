// usage: tenon_reloader FOLDER COUNT
//
// Loads the plugin `generation` of the folder and reloads it, from one of two builds after the other.
// The exit code is the number that it answers with. What kills it is in kill_test.cpp.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <tenon/tenon.hpp>
#include <tenon/trust/guard.hpp>

#include "tests/reload/build.hpp"

int main(int count, char** arguments) {
  constexpr int kFailed = 100;
  if (count != 3) return kFailed;
  const std::string folder = arguments[1];
  try {
    tenon::trust::install();
    tenon::add_plugin_path(folder);
    tenon::load_plugin("generation");
    for (int i = 0; i < std::atoi(arguments[2]); ++i) {
      generation::install_in(folder, i % 2 == 0 ? "3" : "1");
      tenon::reload("generation");
    }
    return static_cast<int>(tenon::Op("generation.number").call<int64_t>());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kFailed;
  }
}
