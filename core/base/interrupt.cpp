// Interrupts: a request to stop what takes long, which loops look at between their pieces.
#include "core/base/interrupt.hpp"

#include "core/base/error.hpp"

namespace tenon::core {

constinit std::atomic<int32_t> interrupt_word{0};
constinit thread_local bool runs_to_end = false;

void throw_interrupted() { throw Error(TENON_ERROR_INTERRUPTED, "interrupted before it was done"); }

}  // namespace tenon::core
