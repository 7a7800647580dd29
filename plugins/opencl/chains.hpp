// Elementwise ops in one pass: contiguous calls of one count are noted, not queued, until something else
// is begun or read. Calls that follow each other may become one kernel, in which results that were freed
// meanwhile are never written.
//
// A kernel takes about half a second to compile, once for each computer. It is compiled when one pass would have
// saved as much by then; until then each call is queued as it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "opencl/runtime.hpp"

namespace tenon_opencl {

// An operand of a call: elements of memory, or a number.
struct ChainOperand {
  const void* data = nullptr;  // null: the number
  double number = 0;
};

// One elementwise call over `count` contiguous elements of `type`.
struct ChainCall {
  int op = 0;  // its row in the tables
  tenon::DType type = tenon::DType::f32;
  int64_t count = 0;
  int operands = 1;
  ChainOperand x, y;
  double numbers[3] = {};  // p, q and s, or alpha
  void* result = nullptr;
};

class Chains {
 public:
  explicit Chains(Instance& device) : device_(device) {}

  // Notes a call; any thread.
  void add(const ChainCall& call);
  // Queues the calls that are noted. Throws what queueing throws; then they are dropped.
  void flush() {
    if (waiting_.load(std::memory_order_acquire)) flush_calls();
  }
  // Memory that tensors no longer have: results in it need not be written.
  void forget(const void* data, int64_t bytes) noexcept;

 private:
  // A kernel for calls that follow each other.
  struct Pass {
    int64_t saved = 0;  // bytes, so far
    bool is_built = false;
    std::string text;
    QueuedKernel kernel;
  };
  struct Plan;

  void flush_calls();
  void flush_locked();
  bool joins(const ChainCall& call) const;
  void queue(const std::vector<ChainCall>& calls, const std::vector<bool>& freed);

  Instance& device_;
  std::mutex mutex_;
  std::atomic<bool> waiting_{false};
  std::vector<ChainCall> calls_;
  std::vector<bool> freed_;  // whether the memory of a call's result was freed
  std::unordered_map<std::string, Pass> passes_;
};

// ---- by the tables (elementwise.cpp) ----

// Queues one call, apart from others.
void queue_call(Instance& device, const ChainCall& call);
// The text of a row's function, and its name.
std::string function_text(int op);
std::string function_name(int op);
// Numbers that a row reads.
int numbers_of(int op);
// The text before functions.
std::string chain_helpers(tenon::DType type);

}  // namespace tenon_opencl
