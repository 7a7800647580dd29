// A library that computes with OpenMP, kept within the calling thread.
#pragma once

#include "tenon/parallel.hpp"

// Functions of OpenMP's runtime, which the plugin links (gomp).
extern "C" int omp_get_max_threads(void);        // defined by the OpenMP runtime
extern "C" void omp_set_num_threads(int count);  // defined by the OpenMP runtime

TENON_NAMESPACE_BEGIN
namespace kernel {

// As long as it lives, OpenMP code that the calling thread runs has one thread: the library's own
// threads would spin while they wait, be missing after a fork, and not obey the runtime's count. The
// application's OpenMP keeps its own.
class OneOpenmpThread {
 public:
  OneOpenmpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenmpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenmpThread(const OneOpenmpThread&) = delete;
  OneOpenmpThread& operator=(const OneOpenmpThread&) = delete;

 private:
  int before_;
};

}  // namespace kernel
TENON_NAMESPACE_END
