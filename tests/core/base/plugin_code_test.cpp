// Counting what holds a plugin's code.
#include "core/base/plugin_code.hpp"

#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {
int64_t count(const PluginCode& code, Holder holder) {
  return code.holders()[static_cast<size_t>(holder)];
}
}  // namespace

TEST_SUITE("plugin code") {
  TEST_CASE("leases count by kind, and go with their owners") {
    PluginCode code("p", 3);
    CHECK(code.plugin() == "p");
    CHECK(code.generation() == 3);
    CHECK(!code.is_held());
    {
      CodeLease hook(&code, Holder::Hook);
      const CodeLease moved = std::move(hook);
      CHECK(count(code, Holder::Hook) == 1);
      CHECK(count(code, Holder::Module) == 0);
      CHECK(code.is_held());
    }
    CHECK(!code.is_held());
  }

  TEST_CASE("nodes of many threads count together, wherever they are released") {
    PluginCode code("p", 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 1000; ++k) code.acquire_node();
        for (int k = 0; k < 400; ++k) code.release_node();
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(count(code, Holder::Node) == 2400);
    for (int k = 0; k < 2400; ++k) code.release_node();
    CHECK(!code.is_held());
  }

  TEST_CASE("an address finds the code that it is in") {
    static const char memory[64] = {};
    PluginCode code("p", 1);
    code.set_range(memory + 16, memory + 32);
    const auto held_at = [&](const char* address) {
      const CodeLease lease = CodeLease::at(address, nullptr, Holder::Hook);
      return code.is_held();
    };
    CHECK(!held_at(memory + 15));
    CHECK(held_at(memory + 16));
    CHECK(held_at(memory + 31));
    CHECK(!held_at(memory + 32));
    CHECK(!held_at(nullptr));
    const CodeLease other = CodeLease::at(nullptr, memory + 20, Holder::Memory);
    CHECK(count(code, Holder::Memory) == 1);
  }
}
