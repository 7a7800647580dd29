// Faults that kernels find, as an index that is out of range: errors of the call that queued the kernel, which
// arrive with the next wait.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "opencl/runtime.hpp"

namespace tenon_opencl {

class Faults {
 public:
  explicit Faults(Instance& device) : device_(device) {}

  // A call whose kernels may find a fault. It lives until these are queued.
  class Watch {
   public:
    // `message` has {} in the place of the index.
    Watch(Instance& device, const tenon::Call& call, std::string message);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // Arguments of the kernels, for note_fault of the preamble.
    cl_int code() const { return code_; }
    Memory memory() const;

   private:
    Faults& faults_;
    cl_int code_;
  };

  // Waits for the kernels that are queued, if any may find a fault, and throws the first one that was found and
  // not thrown yet, as an IndexError.
  void check();

 private:
  struct Watched {
    uint64_t number;  // in the order of the calls
    tenon::device::CallRecord call;
    std::string message;
    bool is_queued = false;
  };
  cl_int add(const tenon::Call& call, std::string message);
  void collect();

  Instance& device_;
  std::mutex mutex_;
  void* memory_ = nullptr;
  uint64_t calls_ = 0;
  std::vector<std::optional<Watched>> watched_;  // by their codes
  std::deque<std::shared_ptr<const tenon::device::Failure>> found_;
};

}  // namespace tenon_opencl
