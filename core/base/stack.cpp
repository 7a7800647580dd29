// The limits of the calling thread's stack.
#include "core/base/stack.hpp"

#include <algorithm>
#include <pthread.h>

namespace tenon::core {

namespace {

struct Stack {
  uintptr_t lowest = 0;
  size_t bytes = 0;

  // Runs that continue on another stack look well before calls refuse, on small stacks too.
  uintptr_t limit(size_t reserve) const {
    return lowest + std::min(reserve, bytes / (reserve > kCallReserve ? 2 : 4));
  }
};

Stack own_stack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* lowest = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uintptr_t>(lowest), bytes};
}

const Stack& this_stack() noexcept {
  static thread_local const Stack stack = own_stack();
  return stack;
}

}  // namespace

uintptr_t stack_limit(size_t reserve) noexcept { return this_stack().limit(reserve); }

bool stack_is_low(size_t reserve) noexcept {
  const Stack& stack = this_stack();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= stack.lowest && here < stack.limit(reserve);
}

}  // namespace tenon::core
