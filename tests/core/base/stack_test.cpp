// How much is left of a thread's stack.
#include "core/base/stack.hpp"

#include <algorithm>
#include <functional>
#include <pthread.h>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

void run_with_stack(size_t bytes, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread{};
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* state) -> void* {
                (*static_cast<std::function<void()>*>(state))();
                return nullptr;
              },
              &body) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

// Stack that is left when it is low, and each call takes about a page.
[[gnu::noinline]] size_t left_when_low(size_t reserve) {
  volatile char page[4096];
  page[0] = 1;
  if (stack_is_low(reserve)) return here() - stack_limit(0);
  const size_t left = left_when_low(reserve);
  page[1] = page[0];
  return left;
}
// Stack sizes on a thread with a stack of that size. The system may give more, and thread-local
// variables, of sanitizers above all, take a part of it.
struct Measured {
  size_t whole = 0, usable = 0, left = 0;
};
Measured measure(size_t stack, size_t reserve) {
  Measured measured;
  run_with_stack(stack, [&] {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    pthread_attr_getstacksize(&attributes, &measured.whole);
    pthread_attr_destroy(&attributes);
    measured.usable = here() - stack_limit(0);
    measured.left = left_when_low(reserve);
  });
  return measured;
}
constexpr size_t kSlack = size_t{32} << 10;

}  // namespace

TEST_SUITE("stack") {
  TEST_CASE("a stack is low when less than the reserve is left") {
    for (const size_t reserve : {kCallReserve, size_t{1} << 20}) {
      const Measured measured = measure(size_t{4} << 20, reserve);
      CHECK(measured.left < reserve + kSlack);
      CHECK(measured.left > reserve - kSlack);
    }
  }

  TEST_CASE("of a small stack a quarter is reserved, or half for larger reserves") {
    for (const size_t reserve : {kCallReserve, size_t{8} << 20}) {
      const Measured measured = measure(size_t{256} << 10, reserve);
      const size_t share = measured.whole / (reserve == kCallReserve ? 4 : 2);
      const size_t expected = std::min({reserve, share, measured.usable});
      CHECK(measured.left <= expected + kSlack);
      CHECK(measured.left + kSlack > expected);
    }
  }

  TEST_CASE("each thread has its own limit, below where it runs") {
    const uintptr_t own = stack_limit(kCallReserve);
    CHECK(own < here());
    CHECK_FALSE(stack_is_low(kCallReserve));
    uintptr_t other = 0;
    run_with_stack(size_t{1} << 20, [&] { other = stack_limit(kCallReserve); });
    CHECK(other != 0);
    CHECK(other != own);
  }
}
