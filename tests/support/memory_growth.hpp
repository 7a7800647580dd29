// How much memory code takes at most.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <new>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/wait.h>

namespace tenon_test {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

// Sanitizers keep memory beside that of the program, and what was freed: sizes mean nothing there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCanMeasureMemory = false;
#else
inline constexpr bool kCanMeasureMemory = true;
#endif

inline std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0)
      return static_cast<std::size_t>(std::atol(line.c_str() + 6)) * 1024;
  }
  return 0;
}

// By how much a child grows while it runs the body. Errors of the body are results like any other.
inline std::size_t growth_of(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak is that of now
    const std::size_t before = peak_bytes();
    try {
      body();
    } catch (const std::bad_alloc&) {
      ::_exit(2);
    } catch (const std::exception&) {
    }
    const std::size_t growth = peak_bytes() - before;
    ::_exit(::write(ends[1], &growth, sizeof growth) == sizeof growth ? 0 : 1);
  }
  ::close(ends[1]);
  std::size_t growth = 0;
  CHECK(::read(ends[0], &growth, sizeof growth) == sizeof growth);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  return growth;
}

}  // namespace tenon_test
