// The allocator: alignment, reuse, bounds, and blocks that change threads.
#include "core/base/allocator.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

bool aligned(const void* block, uintptr_t to) {
  return reinterpret_cast<uintptr_t>(block) % to == 0;
}

}  // namespace

TEST_SUITE("allocator") {
  TEST_CASE("blocks of every size are aligned, apart from each other and wholly usable") {
    std::vector<std::pair<char*, int64_t>> blocks;
    std::vector<int64_t> sizes = {0,    1,    63,   64,   65,   1023, 1024, 1025,
                                  1280, 1281, 4095, 4096, 4097, 5120, 5121};
    for (int64_t size = 8192; size <= 16 * kMebibyte; size *= 2) {
      for (const int64_t near : {size - 1, size, size + 1}) sizes.push_back(near);
    }
    for (const int64_t size : sizes) {
      for (int copy = 0; copy < 2; ++copy) {
        auto* block = static_cast<char*>(allocate(size));
        REQUIRE(aligned(block, 64));
        std::memset(block, static_cast<int>(blocks.size()), static_cast<size_t>(size));
        blocks.emplace_back(block, size);
      }
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto [block, size] = blocks[i];
      CHECK(std::all_of(block, block + size,
                        [i](char byte) { return byte == static_cast<char>(i); }));
    }
    for (const auto& [block, size] : blocks) release(block, size);
  }

  TEST_CASE("sizes that cannot be are errors that name the bytes asked") {
    for (const int64_t size :
         {int64_t{-1}, INT64_MIN, INT64_MAX, (int64_t{1} << 47) + 1, int64_t{1} << 46}) {
      try {
        release(allocate(size), size);
        FAIL("allocated " << size);
      } catch (const Error& error) {
        CHECK(error.kind == TENON_ERROR_MEMORY);
        CHECK(error.message.find(std::to_string(size) + " bytes") != std::string::npos);
      }
    }
  }

  TEST_CASE("the first that a thread does may be the release of a block") {
    for (const int64_t size : {int64_t{100}, int64_t{3000}, int64_t{100000}, 5 * kMebibyte}) {
      CAPTURE(size);
      void* block = allocate(size);
      std::thread([&] { release(block, size); }).join();
    }
  }

  TEST_CASE("releasing null does nothing") {
    release(nullptr, 64);
    release(nullptr, 16 * kMebibyte);
  }

  TEST_CASE("a released block is the next one of its class") {
    if (!allocation::kCaching) return;
    for (const int64_t size : {int64_t{100}, int64_t{3000}, int64_t{100000}, 5 * kMebibyte}) {
      void* first = allocate(size);
      release(first, size);
      void* second = allocate(size - 1);
      CHECK(first == second);
      release(second, size - 1);
    }
  }

  TEST_CASE("more blocks than a thread keeps come back whole") {
    for (const int64_t size : {int64_t{64}, int64_t{2048}, int64_t{200000}}) {
      for (int round = 0; round < 3; ++round) {
        std::vector<void*> blocks;
        for (int i = 0; i < 2000; ++i) blocks.push_back(allocate(size));
        std::sort(blocks.begin(), blocks.end());
        CHECK(std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end());
        for (void* block : blocks) release(block, size);
      }
    }
    release_cached(-1);
  }

  TEST_CASE("large blocks start on a huge page and are kept within the bound") {
    if (!allocation::kCaching) return;
    release_cached(32 * kMebibyte);
    CHECK(cached_bytes() == 0);
    void* large = allocate(16 * kMebibyte);
    CHECK(aligned(large, 2 * kMebibyte));
    release(large, 16 * kMebibyte);
    CHECK(cached_bytes() == 16 * kMebibyte);

    // A fit that wastes more than half is none; one that wastes less is, and comes back whole.
    void* small = allocate(6 * kMebibyte);
    CHECK(small != large);
    void* near = allocate(8 * kMebibyte);
    CHECK(near == large);
    CHECK(cached_bytes() == 0);
    release(near, 8 * kMebibyte);
    CHECK(cached_bytes() == 16 * kMebibyte);

    // The oldest goes when the bound is reached; what exceeds it alone is not kept.
    release(small, 6 * kMebibyte);
    release(allocate(12 * kMebibyte), 12 * kMebibyte);
    CHECK(cached_bytes() <= 32 * kMebibyte);
    void* huge = allocate(64 * kMebibyte);
    release(huge, 64 * kMebibyte);
    CHECK(cached_bytes() <= 32 * kMebibyte);

    release_cached(0);
    CHECK(cached_bytes() == 0);
    release(allocate(4 * kMebibyte), 4 * kMebibyte);
    CHECK(cached_bytes() == 0);
    release_cached(int64_t{1} << 30);
  }

  TEST_CASE("a new large block takes the place of smaller ones that are kept") {
    if (!allocation::kCaching) return;
    release_cached(1024 * kMebibyte);
    const auto use = [](int64_t mebibytes) {
      release(allocate(mebibytes * kMebibyte), mebibytes * kMebibyte);
      return cached_bytes() / kMebibyte;
    };
    CHECK(use(4) == 4);
    CHECK(use(10) == 10);
    CHECK(use(4) == 14);  // a larger one stays
    CHECK(use(40) == 40);
    // Sizes that come again are all kept in the end.
    int64_t kept = 0;
    for (int i = 0; i < 3; ++i) {
      for (const int64_t mebibytes : {4, 10, 40}) kept = use(mebibytes);
    }
    CHECK(kept == 54);
    CHECK(use(4) == 54);
    release_cached(1024 * kMebibyte);
  }

  TEST_CASE("blocks may be released by other threads, and outlive theirs") {
    struct Block {
      unsigned char* memory;
      int64_t size;
      unsigned char mark;
    };
    std::mutex mutex;
    std::vector<Block> pool;
    bool intact = true;
    const auto work = [&](unsigned seed) {
      std::mt19937 random(seed);
      for (int i = 0; i < 5000; ++i) {
        const int64_t size = i % 50 == 0 ? int64_t{1} << (random() % 23) : random() % 6000 + 1;
        Block block{static_cast<unsigned char*>(allocate(size)), size,
                    static_cast<unsigned char>(random())};
        block.memory[0] = block.memory[size - 1] = block.mark;
        Block other{};
        {
          const std::lock_guard lock(mutex);
          pool.push_back(block);
          if (pool.size() > 64) {
            std::swap(pool[random() % pool.size()], pool.back());
            other = pool.back();
            pool.pop_back();
          }
        }
        if (other.memory == nullptr) continue;
        if (other.memory[0] != other.mark || other.memory[other.size - 1] != other.mark) {
          const std::lock_guard lock(mutex);
          intact = false;
        }
        release(other.memory, other.size);
      }
    };
    for (unsigned round = 0; round < 3; ++round) {
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, round * 4 + i);
      for (std::thread& thread : threads) thread.join();
    }
    for (const Block& block : pool) release(block.memory, block.size);
    CHECK(intact);
  }

  TEST_CASE("thread-local objects may release blocks after the thread's cache has ended") {
    struct Late {
      void* block = nullptr;
      ~Late() {
        release(block, 256);
        release(allocate(256), 256);
        release(allocate(100000), 100000);
      }
    };
    for (int i = 0; i < 4; ++i) {
      std::thread([] {
        thread_local Late late;
        late.block = allocate(256);
      }).join();
    }
  }
}
