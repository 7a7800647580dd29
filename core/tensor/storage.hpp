// A reference-counted buffer with the version counter that all its views share.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/reference_count.hpp"

struct tenon_op;

namespace tenon::core {

// For new storage of this thread: whether large blocks are zeros in pages that take no memory until
// they are written.
extern constinit thread_local bool large_storage_is_lazy [[gnu::tls_model("initial-exec")]];

class PluginCode;

struct Storage {
  // From this size on the data has its own block, so that it starts on a page and sizes stay round.
  static constexpr int64_t kLargeBytes = int64_t{1} << 20;

  std::atomic<int32_t> references{1};
  std::atomic<uint32_t> version{0};  // grows by one with each in-place change
  char* data = nullptr;
  int64_t bytes = 0;      // size of the data; below 1 MiB it follows this header in the same block
  void* owner = nullptr;  // foreign memory: handed to release_owner
  void (*release_owner)(void* owner) = nullptr;
  std::atomic<const tenon_op*> last_writer{nullptr};  // named by in-place errors
  PluginCode* code = nullptr;  // code of release_owner, which it holds; null: the program's
  bool foreign = false;
  std::atomic<bool> saved{false};  // a node has kept a tensor on it for backward; never unset
  std::atomic<uint32_t> assigned_number{0};  // see number()

  void retain() noexcept { count_up(references); }
  // A sole owner needs no locked instruction: no other thread can reach the count to raise it.
  void release() noexcept {
    if (references.load(std::memory_order_acquire) == 1 || count_down(references)) destroy(this);
  }

  // A number that no other storage has or had, assigned when it is first asked for; 0 of foreign
  // memory, and when there are no more.
  uint32_t number() noexcept;

  // Uninitialized, 64-byte aligned. Throws Error(MEMORY).
  static Storage* create(int64_t bytes);
  // `release_owner` may be null.
  static Storage* wrap(void* data, int64_t bytes, void* owner, void (*release_owner)(void*));

 private:
  static void destroy(Storage* storage) noexcept;
};

}  // namespace tenon::core
