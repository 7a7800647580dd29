// Threads and random numbers as plugins reach them.
#include <atomic>

#include "core/base/generator.hpp"
#include "core/base/interrupt.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

struct Loop {
  std::atomic<int64_t> covered{0};
  std::atomic<int> without_grad{0};
  int64_t fails_at = -1;
};
tenon_status run_chunk(void* state, int64_t begin, int64_t end, tenon_error** error) {
  auto& loop = *static_cast<Loop*>(state);
  loop.covered += end - begin;
  loop.without_grad += thread_state.grad_enabled ? 0 : 1;
  return guarded(error, [&] {
    if (loop.fails_at >= begin && loop.fails_at < end)
      throw Error(TENON_ERROR_VALUE, "chunk {} fails", begin);
  });
}

}  // namespace

TEST_SUITE("runtime/thread_slots") {
  TEST_CASE("a loop covers its range once, with the state of the thread that called") {
    Loop loop;
    const GradModeGuard off(false);
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().threads.parallel_for(3, 1003, 10, run_chunk, &loop, error);
          }) == "");
    CHECK(loop.covered == 1000);
    CHECK(loop.without_grad > 0);
    Loop empty;
    CHECK(slots().threads.parallel_for(5, 5, 1, run_chunk, &empty, nullptr) == TENON_OK);
    CHECK(empty.covered == 0);
  }

  TEST_CASE("a chunk that fails fails the loop with its error") {
    Loop loop;
    loop.fails_at = 500;
    CHECK(has(message_of_slot(TENON_ERROR_VALUE,
                              [&](tenon_error** error) {
                                return slots().threads.parallel_for(0, 1000, 100, run_chunk, &loop,
                                                                    error);
                              }),
              "fails"));
  }

  TEST_CASE("draws are reserved one after the other, and none where shapes alone are computed") {
    uint64_t seed = 0, first = 0, second = 0;
    slots().threads.generator_seed(42);
    slots().threads.generator_reserve(10, &seed, &first);
    CHECK(seed == 42);
    slots().threads.generator_reserve(1, &seed, &second);
    CHECK(second > first);
    slots().threads.generator_state_set(7, 100);
    slots().threads.generator_reserve(0, &seed, &first);
    CHECK(seed == 7);
    CHECK(first == 100);
    int64_t multiply_adds = 0;
    thread_state.multiply_adds = &multiply_adds;
    slots().threads.generator_reserve(1000, &seed, &first);
    thread_state.multiply_adds = nullptr;
    slots().threads.generator_reserve(0, &seed, &second);
    CHECK(second == first);
    seed_generator(0);
  }

  TEST_CASE(
      "an interrupt is asked for through one word, and stops no thread that switched it off") {
    *slots().threads.interrupt_word() = 1;
    CHECK(message_of_slot(TENON_ERROR_INTERRUPTED, [&](tenon_error** error) {
            return slots().threads.interrupt_check(error);
          }) != "");
    CHECK(slots().threads.interrupts_set(0) == 1);
    CHECK(slots().threads.interrupt_check(nullptr) == TENON_OK);
    CHECK(slots().threads.interrupts_set(1) == 0);
    *slots().threads.interrupt_word() = 0;
    CHECK(slots().threads.interrupt_check(nullptr) == TENON_OK);
  }

  TEST_CASE("the number of threads is that of the process, and can be changed") {
    const int32_t before = slots().threads.count();
    slots().threads.count_set(1);
    CHECK(slots().threads.count() == 1);
    slots().threads.count_set(before);
    CHECK(slots().threads.count() == before);
  }
}
