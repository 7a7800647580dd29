// Whether qemu runs the program, which is then of another processor; for cases that it cannot run.
#pragma once

#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace tenon_test {

inline bool is_emulated() {
  static const bool found = [] {
    // qemu shows only the program's own mappings in /proc/self/maps.
    std::ifstream maps("/proc/thread-self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/qemu-") != line.npos) return true;
    }
    return false;
  }();
  return found;
}

// True in a case that cannot run under emulation, with a message that says why.
inline bool cannot_emulate(const char* reason) {
  if (!is_emulated()) return false;
  MESSAGE("not run under emulation: ", reason);
  return true;
}

// Why no case maps more than the memory there.
inline constexpr const char* kPageRecords = "qemu keeps a record of each page of a mapping";

}  // namespace tenon_test
