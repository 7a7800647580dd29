// The allocator's memory in use: counted by class, whatever list keeps the free blocks.
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/allocator.hpp"

using namespace tenon::core;

TEST_SUITE("memory use") {
  TEST_CASE("a small block counts with the size of its class until it is released") {
    if (!allocation::kCaching) return;
    release(allocate(1), 1);  // the thread has its lists now
    const int64_t before = small_bytes_in_use();
    for (const auto& size :
         {std::pair<int64_t, int64_t>{1, 64}, {100, 128}, {1025, 1280}, {4096, 4096}, {4097, 0}}) {
      const auto& bytes = size.first;
      const auto& counted = size.second;
      CAPTURE(bytes);
      void* block = allocate(bytes);
      CHECK(small_bytes_in_use() - before == counted);
      release(block, bytes);
      CHECK(small_bytes_in_use() == before);
    }
  }

  TEST_CASE(
      "more blocks than a thread keeps, and those that another thread releases, are free again") {
    if (!allocation::kCaching) return;
    release(allocate(1), 1);
    const int64_t before = small_bytes_in_use();
    constexpr size_t count = 3000;
    const auto filled = [] {
      std::vector<void*> blocks(count);
      for (void*& block : blocks) block = allocate(200);
      return blocks;
    };
    const auto emptied = [](const std::vector<void*>& blocks) {
      for (void* block : blocks) release(block, 200);
    };
    std::vector<void*> blocks = filled();
    CHECK(small_bytes_in_use() - before == count * 256);
    emptied(blocks);
    CHECK(small_bytes_in_use() == before);
    blocks = filled();
    std::thread([&] { emptied(blocks); }).join();  // its end gives to all what it kept
    CHECK(small_bytes_in_use() == before);
  }
}
