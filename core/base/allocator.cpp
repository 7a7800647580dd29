// Size classes, the lists that threads share, and the store of large blocks.
//
// By hand, because tensors come and go in few sizes, which their release knows: a pair of allocate
// and release costs 2.3 ns for 64 bytes to 1 KiB, 13 ns up to 256 KiB and 25 ns above. mimalloc 2.0.9
// takes 12 to 15 ns, 22 to 230 ns, and from 16 MiB on, where it returns each block to the system,
// 24000 ns (Release, GCC 12, x86-64, best of 60).
#include "core/base/allocator.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <malloc.h>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"

namespace tenon::core {

namespace allocation {

namespace {

// Cache of threads without caching: never written, since every list is empty and full.
constinit ThreadCache no_cache{};

}  // namespace

constinit thread_local ThreadCache* thread_cache [[gnu::tls_model("initial-exec")]] = &no_cache;

namespace {

constexpr int64_t kSmallBytes = 4096;
constexpr int64_t kLargeBytes = int64_t{1} << 20;
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kHugeFrom = int64_t{4} << 20;
// The bytes that the processor can address; the address sanitizer ends the process when asked for
// more than it has.
constexpr int64_t kMostBytes = int64_t{1} << (kCaching ? 47 : 38);
constexpr int64_t kRegionBytes = int64_t{1} << 20;
constexpr int64_t kSharedMidLimit = int64_t{64} << 20;
constexpr int64_t kDefaultKeepLimit = int64_t{1} << 30;

constexpr size_t kFirstCoarse = 17;  // steps of 256 bytes up to 4 KiB
constexpr size_t kFirstMid = 29;     // four classes to each doubling up to 1 MiB

size_t class_of(int64_t bytes) {
  if (bytes <= kFineBytes) return fine_class(bytes);
  if (bytes <= kSmallBytes)
    return kFirstCoarse + static_cast<size_t>((bytes - kFineBytes - 1) >> 8);
  const auto last = static_cast<uint64_t>(bytes - 1);
  const auto top = static_cast<int>(std::bit_width(last)) - 1;  // 12 to 19
  const uint64_t quarter = (last >> (top - 2)) & 3;
  return kFirstMid + static_cast<size_t>(top - 12) * 4 + static_cast<size_t>(quarter);
}

constexpr int64_t class_bytes(size_t index) {
  if (index == 0) return 64;
  if (index < kFirstCoarse) return static_cast<int64_t>(index) * 64;
  if (index < kFirstMid) return kFineBytes + static_cast<int64_t>(index - kFirstCoarse + 1) * 256;
  const size_t top = 12 + (index - kFirstMid) / 4;
  const auto quarter = static_cast<int64_t>((index - kFirstMid) % 4);
  return (int64_t{1} << top) + (quarter + 1) * (int64_t{1} << (top - 2));
}
static_assert(class_bytes(kFirstMid - 1) == kSmallBytes);
static_assert(class_bytes(kClassCount - 1) == kLargeBytes);

// How many blocks of a class one thread keeps.
constexpr uint32_t class_limit(size_t index) {
  const int64_t bytes = class_bytes(index);
  if (bytes <= kSmallBytes)
    return static_cast<uint32_t>(std::clamp<int64_t>(65536 / bytes, 16, 256));
  return static_cast<uint32_t>(std::max<int64_t>(262144 / bytes, 2));
}

[[noreturn]] void fail(int64_t bytes, const char* reason) {
  throw Error(TENON_ERROR_MEMORY, "cannot allocate {} bytes: {}", bytes, reason);
}

// ---- lists that all threads share ----

// Several lists have one lock: a fork holds all of them, and the thread sanitizer counts to 64.
constexpr size_t kSharedLocks = 16;
constinit std::mutex shared_locks[kSharedLocks];
std::mutex& shared_lock(size_t index) { return shared_locks[index % kSharedLocks]; }

// Never destroyed: tensors in static storage may be released after any destructor here would have
// run.
constinit FreeBlock* shared_lists[kClassCount] = {};
constinit std::atomic<int64_t> shared_mid_bytes{0}, shared_small_bytes{0};

struct Region {
  std::mutex mutex;
  char* next = nullptr;
  int64_t left = 0;
  int64_t carved = 0;  // bytes of all blocks so far
};
constinit Region region;

void* map_pages(int64_t bytes) noexcept {
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Cuts a chain of up to `most` small blocks from the common region; null when memory has run out.
FreeBlock* carve(int64_t bytes, uint32_t most, uint32_t* carved) noexcept {
  const std::lock_guard lock(region.mutex);
  if (region.left < bytes) {
    void* memory = map_pages(kRegionBytes);
    if (memory == nullptr) return nullptr;
    region.next = static_cast<char*>(memory);
    region.left = kRegionBytes;
  }
  const int64_t count = std::min<int64_t>(most, region.left / bytes);
  auto* head = reinterpret_cast<FreeBlock*>(region.next);
  FreeBlock* block = head;
  for (int64_t i = 1; i < count; ++i) {
    block->next = reinterpret_cast<FreeBlock*>(region.next + i * bytes);
    block = block->next;
  }
  block->next = nullptr;
  region.next += count * bytes;
  region.left -= count * bytes;
  region.carved += count * bytes;
  *carved = static_cast<uint32_t>(count);
  return head;
}

// Up to `most` blocks of a class from the shared list, linked.
FreeBlock* take_shared(size_t index, uint32_t most, uint32_t* taken) noexcept {
  FreeBlock*& list = shared_lists[index];
  const std::lock_guard lock(shared_lock(index));
  FreeBlock* head = list;
  if (head == nullptr) return nullptr;
  FreeBlock* last = head;
  uint32_t count = 1;
  for (; count < most && last->next != nullptr; ++count) last = last->next;
  list = last->next;
  last->next = nullptr;
  *taken = count;
  (index >= kFirstMid ? shared_mid_bytes : shared_small_bytes) -= class_bytes(index) * count;
  return head;
}

// Gives a linked chain to the shared list; mid blocks beyond the bound go back to the system.
void give_shared(size_t index, FreeBlock* head) noexcept {
  if (head == nullptr) return;
  if (index >= kFirstMid) {
    while (head != nullptr && shared_mid_bytes.load() + class_bytes(index) > kSharedMidLimit)
      std::free(std::exchange(head, head->next));
    if (head == nullptr) return;
  }
  FreeBlock* last = head;
  int64_t count = 1;
  for (; last->next != nullptr; ++count) last = last->next;
  FreeBlock*& list = shared_lists[index];
  const std::lock_guard lock(shared_lock(index));
  last->next = list;
  list = head;
  (index >= kFirstMid ? shared_mid_bytes : shared_small_bytes) += class_bytes(index) * count;
}

void free_chain(FreeBlock* head) noexcept {
  while (head != nullptr) std::free(std::exchange(head, head->next));
}

// ---- the thread's own lists ----

enum class CacheState : uint8_t { unused, open, closed };
constinit thread_local CacheState cache_state = CacheState::unused;

// Its destructor hands the lists over when the thread ends; what is released later goes to all at
// once.
struct ThreadEnd {
  ~ThreadEnd() {
    cache_state = CacheState::closed;
    ThreadCache* const own = std::exchange(thread_cache, &no_cache);
    if (own == &no_cache) return;
    for (size_t index = 0; index < kClassCount; ++index) give_shared(index, own->heads[index]);
    delete own;
  }
  void touch() const noexcept {}
};
thread_local const ThreadEnd thread_end;

// False when the thread is past its end and must not keep blocks, or has no memory for its lists.
bool open_thread() noexcept {
  if (cache_state == CacheState::unused) {
    auto* own = new (std::nothrow) ThreadCache{};
    if (own == nullptr) return false;
    for (size_t index = 0; index < kClassCount; ++index) own->room[index] = class_limit(index);
    thread_end.touch();
    thread_cache = own;
    cache_state = CacheState::open;
  }
  return cache_state == CacheState::open;
}

// ---- large blocks ----

struct KeptBlock {
  int64_t bytes;
  char* memory;
  uint64_t age;
};

class LargeStore {
 public:
  LargeStore() {
    if (const char* text = environment("TENON_CACHE_LIMIT"); text != nullptr && *text != '\0') {
      char* end = nullptr;
      errno = 0;
      const long long limit = std::strtoll(text, &end, 10);
      if (errno == 0 && *end == '\0' && limit >= 0) limit_ = limit;
    }
  }

  // Best fit, the most recently released first; null when nothing fits with at most half wasted. A
  // new block then replaces smaller ones: else one of each size that a program ever used would stay.
  void* take(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto fit = std::ranges::lower_bound(kept_, bytes, {}, &KeptBlock::bytes);
    if (fit == kept_.end() || fit->bytes > 2 * bytes) {
      for (int64_t left = bytes; left > 0 && fit != kept_.begin();) {
        left -= (--fit)->bytes;
        fit = drop(fit);
      }
      return nullptr;
    }
    while (fit + 1 != kept_.end() && (fit + 1)->bytes == fit->bytes) ++fit;
    if (fit->bytes != bytes) odd_sizes_.emplace(fit->memory, fit->bytes);
    void* memory = fit->memory;
    kept_bytes_ -= fit->bytes;
    kept_.erase(fit);
    return memory;
  }

  void give(char* memory, int64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto odd = odd_sizes_.find(memory); odd != odd_sizes_.end()) {
      bytes = odd->second;
      odd_sizes_.erase(odd);
    }
    if (bytes > limit_) {
      munmap(memory, static_cast<size_t>(bytes));
      return;
    }
    while (kept_bytes_ + bytes > limit_) drop(std::ranges::min_element(kept_, {}, &KeptBlock::age));
    try {
      const auto place =
          std::upper_bound(kept_.begin(), kept_.end(), bytes,
                           [](int64_t size, const KeptBlock& block) { return size < block.bytes; });
      kept_.insert(place, KeptBlock{bytes, memory, ++clock_});
      kept_bytes_ += bytes;
    } catch (...) {
      munmap(memory, static_cast<size_t>(bytes));
    }
  }

  void clear(int64_t limit) noexcept {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty()) drop(kept_.end() - 1);
    if (limit >= 0) limit_ = limit;
  }

  int64_t kept_bytes() noexcept {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
  }

  void hold(bool hold) noexcept { hold ? mutex_.lock() : mutex_.unlock(); }

 private:
  // Returns the place behind it.
  std::vector<KeptBlock>::iterator drop(std::vector<KeptBlock>::iterator block) noexcept {
    munmap(block->memory, static_cast<size_t>(block->bytes));
    kept_bytes_ -= block->bytes;
    return kept_.erase(block);
  }

  std::mutex mutex_;
  std::vector<KeptBlock> kept_;                   // by size, then by age
  std::unordered_map<void*, int64_t> odd_sizes_;  // of larger blocks in use than was asked for
  int64_t kept_bytes_ = 0;
  int64_t limit_ = kDefaultKeepLimit;
  uint64_t clock_ = 0;
};

LargeStore& large_store() {
  static auto* const store = new LargeStore;  // never destroyed, see shared_lists
  return *store;
}

constexpr int64_t round_large(int64_t bytes) {
  const int64_t unit = bytes >= kHugeFrom ? kHugePage : 65536;
  return (bytes + unit - 1) / unit * unit;
}

// Blocks of 4 MiB and more start on a huge page: fewer faults, and fewer misses of the address
// cache.
void* map_large(int64_t bytes) noexcept {
  if (bytes < kHugeFrom) return map_pages(bytes);
  char* memory = static_cast<char*>(map_pages(bytes + kHugePage));
  if (memory == nullptr) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto huge = static_cast<uintptr_t>(kHugePage);
  const size_t before = (huge - address % huge) % huge;
  const size_t after = static_cast<size_t>(kHugePage) - before;
  if (before != 0) munmap(memory, before);
  if (after != 0) munmap(memory + before + bytes, after);
  madvise(memory + before, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return memory + before;
}

void* allocate_large(int64_t bytes) {
  const int64_t rounded = round_large(bytes);
  LargeStore& store = large_store();
  if (void* memory = store.take(rounded); memory != nullptr) return memory;
  if (void* memory = map_large(rounded); memory != nullptr) return memory;
  release_cached(-1);
  if (void* memory = map_large(rounded); memory != nullptr) return memory;
  fail(bytes, "the system has no memory left");
}

// Up to `most` linked blocks of a class: shared ones, or new ones; null when memory has run out.
FreeBlock* fetch(size_t index, uint32_t most, uint32_t* count) noexcept {
  if (FreeBlock* shared = take_shared(index, most, count); shared != nullptr) return shared;
  if (index < kFirstMid) return carve(class_bytes(index), most, count);
  auto* block =
      static_cast<FreeBlock*>(std::aligned_alloc(64, static_cast<size_t>(class_bytes(index))));
  if (block != nullptr) block->next = nullptr;
  *count = 1;
  return block;
}

void* allocate_listed(int64_t bytes) {
  const size_t index = class_of(bytes);
  const bool keeps = open_thread();
  ThreadCache& cache = *thread_cache;
  if (FreeBlock* block = cache.heads[index]; block != nullptr) {
    cache.heads[index] = block->next;
    ++cache.room[index];
    return block;
  }
  uint32_t count = 0;
  FreeBlock* head = fetch(index, keeps ? std::max(class_limit(index) / 2, 1U) : 1, &count);
  if (head == nullptr) {
    release_cached(-1);
    head = fetch(index, 1, &count);
    if (head == nullptr) fail(bytes, "the system has no memory left");
  }
  if (count > 1) {
    cache.heads[index] = head->next;
    cache.room[index] -= count - 1;
  }
  return head;
}

void release_listed(FreeBlock* block, int64_t bytes) noexcept {
  const size_t index = class_of(bytes);
  if (!open_thread()) {
    block->next = nullptr;
    give_shared(index, block);
    return;
  }
  ThreadCache& cache = *thread_cache;  // only now: a thread may begin with this
  if (cache.room[index] == 0) {
    // Keep the half that was released last, it is still in the processor's cache.
    const uint32_t kept = class_limit(index) / 2;
    FreeBlock* last = cache.heads[index];
    for (uint32_t i = 1; i < kept; ++i) last = last->next;
    give_shared(index, std::exchange(last->next, nullptr));
    cache.room[index] = class_limit(index) - kept;
  }
  --cache.room[index];
  block->next = cache.heads[index];
  cache.heads[index] = block;
}

}  // namespace

void* allocate_slow(int64_t bytes) {
  if (bytes < 0) fail(bytes, "the size is negative");
  if (bytes > kMostBytes) fail(bytes, "more than can be addressed");
  if constexpr (!kCaching) {
    const int64_t rounded = std::max<int64_t>((bytes + 63) / 64 * 64, 64);
    void* memory = std::aligned_alloc(64, static_cast<size_t>(rounded));
    if (memory == nullptr) fail(bytes, "the system has no memory left");
    return memory;
  }
  return bytes >= kLargeBytes ? allocate_large(bytes) : allocate_listed(bytes);
}

void release_slow(void* block, int64_t bytes) noexcept {
  if (block == nullptr) return;
  if constexpr (!kCaching) {
    std::free(block);
    return;
  }
  if (bytes >= kLargeBytes) {
    large_store().give(static_cast<char*>(block), round_large(bytes));
  } else {
    release_listed(static_cast<FreeBlock*>(block), bytes);
  }
}

}  // namespace allocation

void release_cached(int64_t keep_limit) noexcept {
  using namespace allocation;
  if constexpr (!kCaching) return;
  large_store().clear(keep_limit);
  for (size_t index = kFirstMid; index < kClassCount; ++index) {
    uint32_t count = 0;
    free_chain(take_shared(index, UINT32_MAX, &count));
    if (cache_state != CacheState::open) continue;
    free_chain(std::exchange(thread_cache->heads[index], nullptr));
    thread_cache->room[index] = class_limit(index);
  }
#ifdef __GLIBC__
  malloc_trim(0);  // which keeps what is between blocks in use otherwise
#endif
}

void hold_allocator(bool hold) noexcept {
  using namespace allocation;
  const auto change = [hold](std::mutex& mutex) { hold ? mutex.lock() : mutex.unlock(); };
  large_store().hold(hold);
  change(region.mutex);
  for (std::mutex& lock : shared_locks) change(lock);
}

int64_t cached_bytes() noexcept {
  if constexpr (!allocation::kCaching) return 0;
  return allocation::large_store().kept_bytes();
}

int64_t small_bytes_in_use() noexcept {
  using namespace allocation;
  int64_t bytes = -shared_small_bytes.load();
  {
    const std::lock_guard lock(region.mutex);
    bytes += region.carved;
  }
  if (cache_state != CacheState::open) return bytes;
  for (size_t index = 0; index < kFirstMid; ++index)
    bytes -= class_bytes(index) * (class_limit(index) - thread_cache->room[index]);
  return bytes;
}

}  // namespace tenon::core
