// Storages: alignment, ownership, foreign memory.
#include "core/tensor/storage.hpp"

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

TEST_SUITE("storage") {
  TEST_CASE("data of every size is aligned and usable") {
    for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{4096}, (int64_t{1} << 20) - 1,
                                int64_t{1} << 20, int64_t{9} << 20}) {
      Storage* storage = Storage::create(bytes);
      CHECK(storage->bytes == bytes);
      CHECK(reinterpret_cast<uintptr_t>(storage->data) % 64 == 0);
      std::memset(storage->data, 7, static_cast<size_t>(bytes));
      CHECK(storage->version == 0);
      storage->retain();
      storage->release();
      storage->release();
    }
    CHECK_THROWS_AS(Storage::create(-1), Error);
    CHECK_THROWS_AS(Storage::create(INT64_MAX), Error);
  }

  TEST_CASE("foreign memory is released once, by its last reference") {
    int released = 0;
    char memory[4];
    Storage* storage =
        Storage::wrap(memory, 4, &released, [](void* owner) { ++*static_cast<int*>(owner); });
    storage->retain();
    storage->release();
    CHECK(released == 0);
    storage->release();
    CHECK(released == 1);
    Storage::wrap(memory, 4, nullptr, nullptr)->release();
  }

  TEST_CASE("a number is never another storage's, whichever threads ask; foreign memory has none") {
    std::set<uint32_t> numbers;
    for (int i = 0; i < 100; ++i) {
      Storage* storage = Storage::create(64);
      uint32_t found[4] = {};
      std::vector<std::thread> threads;
      for (uint32_t& number : found) threads.emplace_back([&] { number = storage->number(); });
      for (std::thread& thread : threads) thread.join();
      for (const uint32_t number : found) CHECK(number == storage->number());
      CHECK(storage->number() != 0);
      CHECK(numbers.insert(storage->number()).second);
      storage->release();  // the next one may be in the same place
    }
    char memory[4];
    Storage* foreign = Storage::wrap(memory, 4, nullptr, nullptr);
    CHECK(foreign->number() == 0);
    foreign->release();
  }
}
