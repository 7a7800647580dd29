// Which plugin's code is where, and counting what holds it.
#include "core/base/plugin_code.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/fork.hpp"

namespace tenon::core {

constinit thread_local uint32_t node_counter [[gnu::tls_model("initial-exec")]] = kNodeCounters - 1;

const char* holder_text(Holder holder) noexcept {
  static constexpr std::array<const char*, kHolders> texts{"node of a graph",
                                                           "hook",
                                                           "module",
                                                           "memory that a tensor uses",
                                                           "open scope",
                                                           "tensor type",
                                                           "use of its services",
                                                           "call that runs later"};
  return texts[static_cast<size_t>(holder)];
}

namespace {

// The code that is mapped. Few: looked through when a callback is registered.
struct MappedCode {
  std::mutex mutex;
  const HeldAcrossFork held{mutex};
  std::vector<PluginCode*> list;
};
MappedCode& mapped_code() {
  static auto& mapped = *new MappedCode;
  return mapped;
}

}  // namespace

PluginCode::PluginCode(std::string plugin, uint64_t generation)
    : plugin_(std::move(plugin)), generation_(generation) {}

PluginCode::~PluginCode() {
  MappedCode& mapped = mapped_code();
  const std::lock_guard lock(mapped.mutex);
  std::erase(mapped.list, this);
}

void PluginCode::set_range(const void* begin, const void* end) {
  MappedCode& mapped = mapped_code();
  const std::lock_guard lock(mapped.mutex);
  begin_ = begin;
  end_ = end;
  mapped.list.push_back(this);
}

std::array<int64_t, kHolders> PluginCode::holders() const noexcept {
  std::array<uint64_t, kHolders> released{}, acquired{};
  const auto add = [&](std::array<uint64_t, kHolders>& sums, auto part) {
    for (size_t i = 0; i < kHolders; ++i)
      sums[i] += (counters_[i].*part).load(std::memory_order_acquire);
    for (const Counter& counter : nodes_)
      sums[static_cast<size_t>(Holder::Node)] += (counter.*part).load(std::memory_order_acquire);
  };
  add(released, &Counter::released);
  add(acquired, &Counter::acquired);
  std::array<int64_t, kHolders> counts;
  for (size_t i = 0; i < kHolders; ++i) counts[i] = static_cast<int64_t>(acquired[i] - released[i]);
  return counts;
}

bool PluginCode::is_held() const noexcept {
  const auto counts = holders();
  return std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count != 0; });
}

CodeLease CodeLease::at(const void* function, const void* other, Holder holder) {
  MappedCode& mapped = mapped_code();
  const std::lock_guard lock(mapped.mutex);
  const std::less<> before;
  for (const void* address : {function, other}) {
    for (PluginCode* code : mapped.list) {
      if (address != nullptr && !before(address, code->begin_) && before(address, code->end_))
        return {code, holder};
    }
  }
  return {};
}

}  // namespace tenon::core
