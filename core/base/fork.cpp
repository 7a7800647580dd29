// What a fork needs: no lock may be held by a thread that the child does not have, and the child's
// pool starts its own threads.
#include <pthread.h>

#include "core/base/allocator.hpp"
#include "core/base/generator.hpp"
#include "core/base/log.hpp"
#include "core/base/parallel.hpp"

namespace tenon::core {

namespace {

void prepare() {
  hold_log(true);
  hold_generator(true);
  hold_allocator(true);
}
void resume() {
  hold_allocator(false);
  hold_generator(false);
  hold_log(false);
}
void resume_child() {
  resume();
  forget_threads();
}

[[maybe_unused]] const int registered = pthread_atfork(prepare, resume, resume_child);

}  // namespace

}  // namespace tenon::core
