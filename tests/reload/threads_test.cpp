// Reloads while threads call: each result is stamped by the code that made it.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/reload/generation.hpp"
#include "tests/support/emulation.hpp"

using namespace generation;
using tenon::Op, tenon::Tensor;

namespace {

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  }
  return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kReloads = 100;  // each takes some ten times as long
#else
constexpr int kReloads = 1000;
#endif

// How to run the whole number, 10,000, is in tests/README.md.
int reloads() {
  const char* text = std::getenv("TENON_RELOADS");
  return text == nullptr ? kReloads : std::atoi(text);
}

}  // namespace

TEST_SUITE("reload under threads") {
  TEST_CASE("no call that begins after a reload has returned runs the code before") {
    start("1");
    const Op number("generation.number"), scale("generation.scale");
    // Generations of the last reload, and of the current one.
    std::atomic<int64_t> returned{1}, starting{1};
    std::atomic<bool> done{false};
    std::atomic<int64_t> calls{0}, stale{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        Tensor x = tenon::tensor({1.0}).requires_grad_();
        for (int64_t mine = 0; !done; ++mine) {
          // The reload after that changes the number back: look whether it was under way.
          const int64_t before = returned;
          const int64_t found = number.call<int64_t>();
          if (starting == before) stale += found != (before % 2 == 1 ? 1 : 3);
          if (found != 1 && found != 3) ++wrong;
          if (mine % 64 == i) {
            const Tensor y = scale.call<Tensor>(x);
            const double factor = y.item<double>();
            y.backward();
            if (x.grad().item<double>() != factor) ++wrong;
            x.set_grad({});
          }
          ++calls;
        }
      });
    }
    [[maybe_unused]] int64_t small = 0;
    for (int64_t i = 2; i < 2 + reloads(); ++i) {
      install(i % 2 == 1 ? "1" : "3");
      starting = i;
      tenon::reload("generation");
      returned = i;
      if (number.call<int64_t>() != (i % 2 == 1 ? 1 : 3)) ++stale;
      if (i == 2 + reloads() / 4) small = resident_kib();
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(stale == 0);
    CHECK(wrong == 0);
    CHECK(calls > 0);
// Sanitizers keep what was freed, and remember every library that was mapped.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    // So does qemu with code that it has translated.
    if (!tenon_test::is_emulated()) CHECK(resident_kib() < small + 16 * 1024);
#endif
    CHECK(retired() == 0);
  }
}
