// OpenBLAS within the calling thread.
#pragma once

// Of OpenMP, which OpenBLAS computes with.
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int count);

namespace blas {

// OpenBLAS computes in the calling thread alone: its own threads would spin while they wait, be
// missing after a fork, and not obey the runtime's count. The application's OpenMP keeps its own.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace blas
