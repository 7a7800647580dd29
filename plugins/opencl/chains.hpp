// Elementwise ops in one pass: contiguous calls of one count are noted, not queued, until something else
// is begun or read. Calls that follow each other become one kernel, in which results that were freed
// meanwhile are never written.
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
  // Queues what is noted.
  void flush();
  // Memory that is freed: results in it need not be written.
  void forget(const void* data, int64_t bytes) noexcept;

 private:
  void flush_locked();
  void queue_together(size_t begin, size_t end);

  Instance& device_;
  std::mutex mutex_;
  std::atomic<bool> waiting_{false};
  std::vector<ChainCall> calls_;
  std::vector<bool> freed_;                        // whether the results of calls were freed
  std::unordered_map<std::string, int64_t> seen_;  // bytes that one pass would have saved
};

// Queues one call, apart from others.
void queue_call(Instance& device, const ChainCall& call);
// The text of a row's function, "static VT f_exp(...)", and its name.
std::string function_text(int op, tenon::DType type);
std::string function_name(int op);

}  // namespace tenon_opencl
