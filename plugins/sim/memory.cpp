#include "sim/memory.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

namespace tenon_sim {

namespace {

size_t whole_pages(int64_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (static_cast<size_t>(bytes) + page - 1) / page * page;
}

}  // namespace

Memory& memory() {
  static Memory all;
  return all;
}

std::map<char*, Memory::Allocation>::iterator Memory::allocation_at(const void* address) {
  auto after = allocations_.upper_bound(const_cast<char*>(static_cast<const char*>(address)));
  return after == allocations_.begin() ? allocations_.end() : --after;
}

void* Memory::allocate(int64_t index, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (allocation_count_++ == failing_)
    throw tenon::MemoryError("sim:" + std::to_string(index) + " fails this allocation of " +
                             std::to_string(bytes) + " bytes, as a test has asked");
  const int64_t most = most_bytes_;
  if (most >= 0 && used_[index] + bytes > most)
    throw tenon::MemoryError("sim:" + std::to_string(index) + " has " + std::to_string(most) +
                             " bytes, of which tensors take " + std::to_string(used_[index]) +
                             ": " + std::to_string(bytes) + " more do not fit");
  void* const data =
      mmap(nullptr, whole_pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw tenon::MemoryError("sim:" + std::to_string(index) + ": cannot map " +
                             std::to_string(bytes) + " bytes: " + std::strerror(errno));
  allocations_[static_cast<char*>(data)] = {bytes, 0};
  used_[index] += bytes;
  return data;
}

void Memory::free(int64_t index, void* data, int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  allocations_.erase(static_cast<char*>(data));
  used_[index] -= bytes;
  munmap(data, whole_pages(bytes));
}

void Memory::map(int64_t, void* data, int64_t) {
  const std::lock_guard lock(mutex_);
  const auto found = allocation_at(data);
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
