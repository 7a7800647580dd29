// Runs code in a thread with so small a stack that nothing can recurse far.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <pthread.h>
#include <system_error>

namespace tenon_test {

// The thread sanitizer keeps its own state, more than 200 KiB, on a thread's stack.
#ifdef __SANITIZE_THREAD__
inline constexpr std::size_t kSmallStack = std::size_t{1} << 20;
#else
inline constexpr std::size_t kSmallStack = std::size_t{256} << 10;
#endif

inline void on_small_stack(const std::function<void()>& body) {
  struct Run {
    const std::function<void()>& body;
    std::exception_ptr thrown;
  } run{body, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallStack);
  pthread_t thread{};
  const auto start = [](void* state) -> void* {
    auto& here = *static_cast<Run*>(state);
    try {
      here.body();
    } catch (...) {
      here.thrown = std::current_exception();
    }
    return nullptr;
  };
  const int failed = pthread_create(&thread, &attributes, start, &run);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::system_error(failed, std::generic_category());
  pthread_join(thread, nullptr);
  if (run.thrown) std::rethrow_exception(run.thrown);
}

}  // namespace tenon_test
