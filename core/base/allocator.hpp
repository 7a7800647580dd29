// The one allocator: 64-byte aligned blocks, small ones from thread caches, large ones kept for
// reuse.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::core {

namespace allocation {

// With caches a use after free would read a live neighbour: under the address sanitizer they are
// off.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kCaching = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kCaching = false;
#else
inline constexpr bool kCaching = true;
#endif
#else
inline constexpr bool kCaching = true;
#endif

// Classes 0 to 16 are multiples of 64 bytes, and found without a call; coarser ones follow.
inline constexpr int64_t kFineBytes = 1024;
inline constexpr size_t kClassCount = 61;

struct [[gnu::may_alias]] FreeBlock {
  FreeBlock* next;
};

// All zero means: not yet in use by this thread, or its thread is ending. Both take the slow path.
struct ThreadCache {
  FreeBlock* heads[kClassCount];
  uint32_t room[kClassCount];  // how many more blocks the list may take
};
// A pointer, so that a thread's static block, of which a library opened at run time gets little,
// holds no more. Threads begin with one that is all zero.
extern constinit thread_local ThreadCache* thread_cache [[gnu::tls_model("initial-exec")]];

void* allocate_slow(int64_t bytes);
void release_slow(void* block, int64_t bytes) noexcept;

inline size_t fine_class(int64_t bytes) { return static_cast<size_t>(bytes + 63) >> 6; }

}  // namespace allocation

// Blocks of at least `bytes`, aligned to 64. Throws Error(MEMORY). [any-thread]
inline void* allocate(int64_t bytes) {
  using namespace allocation;
  if constexpr (kCaching) {
    if (static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(kFineBytes)) [[likely]] {
      ThreadCache& cache = *thread_cache;
      const size_t index = fine_class(bytes);
      if (FreeBlock* block = cache.heads[index]; block != nullptr) [[likely]] {
        cache.heads[index] = block->next;
        ++cache.room[index];
        return block;
      }
    }
  }
  return allocate_slow(bytes);
}

// `bytes` as given to allocate. Any thread may release what another allocated; null is ignored.
inline void release(void* block, int64_t bytes) noexcept {
  using namespace allocation;
  if constexpr (kCaching) {
    if (static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(kFineBytes)) [[likely]] {
      ThreadCache& cache = *thread_cache;
      const size_t index = fine_class(bytes);
      if (block != nullptr && cache.room[index] != 0) [[likely]] {
        --cache.room[index];
        auto* free_block = static_cast<FreeBlock*>(block);
        free_block->next = cache.heads[index];
        cache.heads[index] = free_block;
        return;
      }
    }
  }
  release_slow(block, bytes);
}

// Large blocks kept for reuse: hands them back to the system; sets the bound (< 0: leave it). The
// bound starts at TENON_CACHE_LIMIT bytes, or 1 GiB. Blocks up to 4 KiB stay with the process for
// good.
void release_cached(int64_t keep_limit) noexcept;
// Bytes of large blocks that are kept at present.
int64_t cached_bytes() noexcept;
// Bytes of blocks up to 4 KiB that are in use; free ones that other threads keep count as in use. 0
// under the address sanitizer, where each block is the system's. [any-thread]
int64_t small_bytes_in_use() noexcept;

// Takes or returns all locks around a fork.
void hold_allocator(bool hold) noexcept;

}  // namespace tenon::core
