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

// The peak is that of now. Without this an earlier peak hides all that stays below it.
inline bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good() && peak_bytes() != 0;
}

// Refused: it ends with an error that is not std::bad_alloc.
enum class Outcome { Taken, Refused };

// By how much a child grows while it runs the body, which has to end as expected.
inline std::size_t growth_of(const std::function<void()>& body, Outcome expected = Outcome::Taken) {
  constexpr int kNoPeak = 1, kNoMemory = 2, kTaken = 3, kRefused = 4;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::malloc_trim(0);
    if (!reset_peak()) ::_exit(kNoPeak);
    const std::size_t before = peak_bytes();
    int outcome = kTaken;
    try {
      body();
    } catch (const std::bad_alloc&) {
      ::_exit(kNoMemory);
    } catch (const std::exception&) {
      outcome = kRefused;
    }
    const std::size_t growth = peak_bytes() - before;
    ::_exit(::write(ends[1], &growth, sizeof growth) == sizeof growth ? outcome : 0);
  }
  ::close(ends[1]);
  std::size_t growth = 0;
  CHECK(::read(ends[0], &growth, sizeof growth) == sizeof growth);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) != kNoPeak);  // the kernel does not reset the peak
  CHECK(WEXITSTATUS(status) == (expected == Outcome::Taken ? kTaken : kRefused));
  return growth;
}

// Memory that a reader of a file takes beside its results: at most twice the file, and 16 MiB.
inline void check_bound(std::size_t file_bytes, Outcome expected, const std::function<void()>& read,
                        std::size_t result_bytes = 0) {
  CAPTURE(file_bytes);
  CHECK(growth_of(read, expected) / kMiB <= (2 * file_bytes + result_bytes) / kMiB + 16);
}

}  // namespace tenon_test
