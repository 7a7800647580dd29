#include "sim/memory.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

#include <sys/mman.h>

namespace tenon_sim {

namespace {

size_t whole_pages(int64_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (static_cast<size_t>(bytes) + page - 1) / page * page;
}

std::string name_of(int64_t index) { return "sim:" + std::to_string(index); }

}  // namespace

Memory& memory() {
  static auto* const all = new Memory;  // for tensors that are destroyed at the end of the process
  return *all;
}

// SplitMix64 over a counter.
double Chances::draw() {
  uint64_t z = state_.fetch_add(0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// ---- kernels ----

Memory::Instance::Instance(Memory& memory, int64_t index)
    : queue(name_of(index), [&memory, index](const tenon::device::CallRecord& call) {
        memory.before_kernel(index, call);
      }) {}

void Memory::set_instances(int64_t count) {
  instances_.clear();
  for (int64_t i = 0; i < count; ++i) instances_.emplace_back(*this, i);
}

void Memory::delay_kernels(int64_t microseconds, uint64_t seed) {
  delays_.seed(seed);
  most_delay_ = microseconds;
}

void Memory::fail_kernels(double probability, uint64_t seed) {
  failures_.seed(seed);
  failure_probability_ = probability;
}

void Memory::set_lost(int64_t index, bool lost) {
  std::atomic<int64_t>& losses = at(index).losses;
  if ((losses % 2 == 1) != lost) ++losses;
}

int64_t Memory::check_found(int64_t index) {
  const int64_t losses = at(index).losses;
  if (losses % 2 == 1) throw tenon::RuntimeError("device " + name_of(index) + " is lost");
  return losses;
}

// One kernel of eight waits.
void Memory::before_kernel(int64_t index, const tenon::device::CallRecord& call) {
  const double chance = delays_.draw();
  const int64_t most = most_delay_;
  if (most > 0 && chance < 0.125) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(static_cast<int64_t>(chance * 8 * static_cast<double>(most))));
  }
  check_found(index);
  const bool chosen = kernel_count_++ == failing_kernel_;
  const double probability = failure_probability_;
  if (chosen || (probability > 0 && failures_.draw() < probability)) {
    throw tenon::RuntimeError(name_of(index) + " fails this kernel of " + call.text() +
                              ", as a test has asked (failure " + std::to_string(failure_count_++) +
                              ")");
  }
}

// ---- memory ----

std::map<char*, Memory::Allocation>::iterator Memory::allocation_at(const void* address) {
  auto after = allocations_.upper_bound(const_cast<char*>(static_cast<const char*>(address)));
  return after == allocations_.begin() ? allocations_.end() : --after;
}

bool Memory::fits(int64_t index, int64_t bytes) {
  const int64_t most = most_bytes_;
  const std::lock_guard lock(mutex_);
  return most < 0 || at(index).used + bytes <= most;
}

void* Memory::allocate(int64_t index, int64_t bytes) {
  const int64_t losses = check_found(index);
  if (allocation_count_++ == failing_)
    throw tenon::MemoryError(name_of(index) + " fails this allocation of " + std::to_string(bytes) +
                             " bytes, as a test has asked");
  // Kernels that have not run yet may be the last to use some memory.
  if (!fits(index, bytes)) at(index).queue.wait();
  const std::lock_guard lock(mutex_);
  int64_t& used = at(index).used;
  const int64_t most = most_bytes_;
  if (most >= 0 && used + bytes > most)
    throw tenon::MemoryError(name_of(index) + " has " + std::to_string(most) +
                             " bytes, of which tensors take " + std::to_string(used) + ": " +
                             std::to_string(bytes) + " more do not fit");
  void* const data =
      mmap(nullptr, whole_pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw tenon::MemoryError(name_of(index) + ": cannot map " + std::to_string(bytes) +
                             " bytes: " + std::strerror(errno));
  allocations_[static_cast<char*>(data)] = {bytes, 0, losses};
  used += bytes;
  return data;
}

void Memory::free(int64_t index, void* data, int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  allocations_.erase(static_cast<char*>(data));
  at(index).used -= bytes;
  munmap(data, whole_pages(bytes));
}

void Memory::map(int64_t index, void* data, int64_t) {
  const int64_t losses = check_found(index);
  const std::lock_guard lock(mutex_);
  const auto found = allocation_at(data);
  if (found->second.losses != losses)
    throw tenon::RuntimeError("the elements are lost: device " + name_of(index) +
                              " was lost after they were made");
  if (found->second.maps++ > 0) return;
  if (mprotect(found->first, whole_pages(found->second.bytes), PROT_READ | PROT_WRITE) == 0) return;
  --found->second.maps;
  throw tenon::MemoryError(std::string("sim: cannot open an allocation: ") + std::strerror(errno));
}

void Memory::unmap(int64_t, void* data, int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = allocation_at(data);
  if (--found->second.maps == 0)
    mprotect(found->first, whole_pages(found->second.bytes), PROT_NONE);
}

void Memory::upload(int64_t index, void* to, const void* from, int64_t bytes) {
  map(index, to, bytes);
  std::memcpy(to, from, static_cast<size_t>(bytes));
  unmap(index, to, bytes);
}

void Memory::download(int64_t index, void* to, const void* from, int64_t bytes) {
  void* const source = const_cast<void*>(from);
  map(index, source, bytes);
  std::memcpy(to, from, static_cast<size_t>(bytes));
  unmap(index, source, bytes);
}

}  // namespace tenon_sim
