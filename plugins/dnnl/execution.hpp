// oneDNN on the processor: its engine, a stream for each thread, memory, reorders.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include <oneapi/dnnl/dnnl.hpp>

#include <tenon/plugin.hpp>

namespace onednn {

// The processor. Valid for the life of the process. Any thread.
const dnnl::engine& engine();

// Primitives that get their scratch memory from the caller, so that several threads may run one at
// once.
const dnnl::primitive_attr& caller_scratchpad();

// Memory for one run, from the host's allocator, cut into blocks of whole cache lines.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : Scratch(tenon::empty_tensor({bytes}, tenon::u8)) {}
  // For runs one after the other.
  explicit Scratch(tenon::Tensor memory)
      : memory_(std::move(memory)), next_(static_cast<char*>(memory_.view_record().data)) {}
  char* take(int64_t bytes) { return std::exchange(next_, next_ + rounded(bytes)); }
  static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  tenon::Tensor memory_;
  char* next_;
};

inline int64_t bytes_of(const dnnl::memory::desc& description) {
  return static_cast<int64_t>(description.get_size());
}
inline dnnl::memory memory_at(const dnnl::memory::desc& description, const void* data) {
  return {description, engine(), const_cast<void*>(data)};
}

// Runs a primitive in the calling thread; `arguments` as oneDNN numbers them, without the scratchpad.
void execute(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad, char* scratch,
             std::unordered_map<int, dnnl::memory> arguments);

// One array of a primitive: as tensors have it, row-major, and as the primitive reads or writes it.
// Where the two differ, a reorder fills one from the other.
class Side {
 public:
  enum class Direction { in, out };
  Side(const dnnl::memory::desc& plain, const dnnl::memory::desc& packed, Direction direction);

  bool is_plain() const { return !reorder_; }
  const dnnl::memory::desc& packed() const { return packed_; }
  // Bytes of the packed array; 0 where it is the plain one.
  int64_t packed_bytes() const { return is_plain() ? 0 : bytes_of(packed_); }
  int64_t scratch_bytes() const { return is_plain() ? 0 : bytes_of(scratchpad_); }
  // `scratch` has scratch_bytes() bytes.
  void run(const void* from, void* to, char* scratch) const;

 private:
  dnnl::memory::desc plain_, packed_, scratchpad_;
  dnnl::reorder reorder_;
  Direction direction_;
};

}  // namespace onednn
