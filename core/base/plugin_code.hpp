// The code of one load of a plugin, and what holds it: as long as anything does, it stays mapped.
//
// A call that is running holds nothing here (dispatch/running_calls.hpp); what outlives its call does,
// counted by kind. Nodes are counted without a shared cache line, because every recorded call makes
// one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tenon::core {

enum class Holder : uint8_t { Node, Hook, Module, Memory, Scope, Type, Service, Call };
inline constexpr size_t kHolders = 8;

// "node of a graph", "hook"...
const char* holder_text(Holder holder) noexcept;

// The counter of the thread's nodes: its own place, or the last one, which threads share.
inline constexpr uint32_t kNodeCounters = 16;
extern constinit thread_local uint32_t node_counter [[gnu::tls_model("initial-exec")]];

class PluginCode {
 public:
  // The first generation of a plugin is 1; each reload adds one.
  PluginCode(std::string plugin, uint64_t generation);
  ~PluginCode();
  PluginCode(const PluginCode&) = delete;
  PluginCode& operator=(const PluginCode&) = delete;

  const std::string& plugin() const { return plugin_; }
  uint64_t generation() const { return generation_; }
  // Sets the addresses of the code; until this is set, no address is in it.
  void set_range(const void* begin, const void* end);

  void acquire(Holder holder) noexcept { counters_[static_cast<size_t>(holder)].add(true); }
  void release(Holder holder) noexcept { counters_[static_cast<size_t>(holder)].add(false); }
  void acquire_node() noexcept { nodes_[node_counter].of_thread(true); }
  void release_node() noexcept { nodes_[node_counter].of_thread(false); }

  // How many of each kind hold it. All are 0 only if nothing did at one moment during the call, so
  // that zeros last where holders are made by holders alone. Any thread.
  std::array<int64_t, kHolders> holders() const noexcept;
  bool is_held() const noexcept;

 private:
  // Both only grow: who reads all that was released before all that was acquired cannot miss one that
  // took the place of another.
  struct alignas(64) Counter {
    std::atomic<uint64_t> acquired{0};
    std::atomic<uint64_t> released{0};

    void add(bool acquires) noexcept {
      if (acquires) {
        acquired.fetch_add(1, std::memory_order_relaxed);
      } else {
        released.fetch_add(1, std::memory_order_release);
      }
    }
    void of_thread(bool acquires) noexcept {
      if (node_counter == kNodeCounters - 1) return add(acquires);
      if (acquires) {
        acquired.store(acquired.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      } else {
        released.store(released.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      }
    }
  };

  const std::string plugin_;
  const uint64_t generation_;
  const void* begin_ = nullptr;
  const void* end_ = nullptr;
  std::array<Counter, kHolders> counters_;
  std::array<Counter, kNodeCounters> nodes_;

  friend class CodeLease;
};

// Holds the code of a plugin, or nothing.
class CodeLease {
 public:
  CodeLease() = default;
  CodeLease(PluginCode* code, Holder holder) noexcept : code_(code), holder_(holder) {
    if (code_ != nullptr) code_->acquire(holder_);
  }
  // A lease on the plugin whose code is at one of the addresses: a function, or what destroys its
  // state. Holds nothing where both are the program's, or null.
  static CodeLease at(const void* function, const void* other, Holder holder);
  CodeLease(CodeLease&& other) noexcept : code_(other.code_), holder_(other.holder_) {
    other.code_ = nullptr;
  }
  CodeLease& operator=(CodeLease&& other) noexcept {
    std::swap(code_, other.code_);
    std::swap(holder_, other.holder_);
    return *this;
  }
  // The caller releases the code in the end.
  PluginCode* keep() noexcept { return std::exchange(code_, nullptr); }
  ~CodeLease() {
    if (code_ != nullptr) code_->release(holder_);
  }

 private:
  PluginCode* code_ = nullptr;
  Holder holder_ = Holder::Node;
};

// A lease on the plugin of a callback's functions.
template <class Function, class Other = Function>
CodeLease lease_at(Holder holder, Function* function, Other* other = nullptr) {
  return CodeLease::at(reinterpret_cast<const void*>(function),
                       reinterpret_cast<const void*>(other), holder);
}

}  // namespace tenon::core
