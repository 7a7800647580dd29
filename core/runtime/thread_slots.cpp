// Service threads: the pool, random numbers, interrupts and the log.
#include <algorithm>
#include <optional>

#include "core/base/generator.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/log.hpp"
#include "core/base/parallel.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/nn/module_watch.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

// Signal handlers and C code store to it; an atomic of an integer is that integer.
static_assert(sizeof(interrupt_word) == sizeof(int32_t) &&
              std::atomic<int32_t>::is_always_lock_free);

constinit const tenon_threads_service threads_service{
    .head = {},
    .parallel_for =
        slot([](int64_t begin, int64_t end, int64_t grain,
                tenon_status (*body)(void*, int64_t, int64_t, tenon_error**), void* state) {
          const auto run = [&](int64_t from, int64_t to) { call_checked(body, state, from, to); };
          // A scope's trace is of one thread.
          std::optional<SerialLoops> alone;
          if (thread_state.trace != nullptr) alone.emplace();
          // Chunks see the caller's modes and watches, wherever they run.
          const ThreadState caller = thread_state;
          const ThreadState& here = thread_state;
          current_watch();  // drops those that were left elsewhere
          const ModuleWatches watches = here.own.watches;
          parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
            if (alone) return run(from, to);
            const ThreadStateGuard guard(caller);
            const LentWatches lent(watches, here);
            run(from, to);
          });
        }),
    .count = [] { return int32_t{thread_count()}; },
    .count_set = [](int32_t count) { set_thread_count(count); },
    .machine_isa = machine_isa,
    .generator_reserve = [](int64_t count, uint64_t* seed, uint64_t* offset) -> void {
      // Nothing is drawn when shapes alone are computed.
      const DrawRange range = reserve_draws(thread_state.multiply_adds == nullptr ? count : 0);
      *seed = range.seed;
      *offset = range.offset;
    },
    .generator_seed = [](uint64_t seed) { seed_generator(seed); },
    .generator_state_set = [](uint64_t seed, uint64_t offset) -> void {
      set_generator_state({seed, offset});
    },
    .interrupt_word = [] { return reinterpret_cast<int32_t*>(&interrupt_word); },
    .interrupt_check = slot([] { stop_if_interrupted(); }),
    .interrupts_set = [](int32_t enabled) -> int32_t {
      return std::exchange(runs_to_end, enabled == 0) ? 0 : 1;
    },
    .log = [](int32_t level, const char* source, const char* message, int64_t length) -> void {
      log(static_cast<LogLevel>(std::clamp(level, 0, 4)), source == nullptr ? "" : source,
          {message, static_cast<size_t>(length)});
    },
};

}  // namespace tenon::core
