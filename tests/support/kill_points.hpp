// When tests kill a process: at moments spread over the time that it takes when it is left alone.
#pragma once

#include <chrono>
#include <random>
#include <vector>

namespace tenon_test {

using Seconds = std::chrono::duration<double>;

// Sanitized programs take some ten times as long to start and to end.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kKills = 10;
#else
inline constexpr int kKills = 50;
#endif

template <class Body>
Seconds time_of(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::steady_clock::now() - begin;
}

// One delay in each of kKills equal parts of that time and a tenth more, since some processes take
// longer than the one that was measured.
inline std::vector<Seconds> kill_points(Seconds unbroken) {
  std::mt19937 random(14);
  std::uniform_real_distribution<double> within(0, 1);
  std::vector<Seconds> delays;
  for (int part = 0; part < kKills; ++part)
    delays.push_back(unbroken * 1.1 * ((part + within(random)) / kKills));
  return delays;
}

}  // namespace tenon_test
