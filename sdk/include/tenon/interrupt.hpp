// Interrupts: stopping what takes long, for a Ctrl-C or a deadline.
//
//   void on_signal(int) { tenon::request_interrupt(); }  // after an earlier call of any function here
//
// From the request until clear_interrupt, loops of parallel_for, modules and backward stop with an
// InterruptedError, on all threads. An op that changes an operand runs to its end, as all that it
// calls does; gradients are added to .grad all or none, but for leaves with hooks after it. What a
// backward without retain_graph has used of its graph is gone.
#pragma once

#include "tenon/error.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {
inline int32_t* interrupt_word() {
  static int32_t* const word = service::threads().interrupt_word();
  return word;
}
}  // namespace detail

// Any thread.
inline void request_interrupt() { __atomic_store_n(detail::interrupt_word(), 1, __ATOMIC_RELAXED); }
// Calls run again.
inline void clear_interrupt() { __atomic_store_n(detail::interrupt_word(), 0, __ATOMIC_RELAXED); }
inline bool interrupt_requested() {  // and not cleared
  return __atomic_load_n(detail::interrupt_word(), __ATOMIC_RELAXED) != 0;
}

// For kernels that loop longer than some 10 milliseconds without parallel_for: throws
// InterruptedError where this thread is to stop. Costs a load.
inline void stop_if_interrupted() {
  if (__builtin_expect(interrupt_requested(), 0)) detail::check(service::threads().interrupt_check);
}

// Lets what this thread starts run to its end, for a scope. Calling thread only.
class Uninterrupted {
 public:
  Uninterrupted() : previous_(service::threads().interrupts_set(0)) {}
  ~Uninterrupted() { service::threads().interrupts_set(previous_); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  int32_t previous_;
};

TENON_NAMESPACE_END
