// Creation and destruction of reference-counted buffers.
#include "core/tensor/storage.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include <sys/mman.h>

#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/plugin_code.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kHeaderBytes = 64;
static_assert(sizeof(Storage) <= kHeaderBytes);

struct Mapping {
  void* data;
  size_t bytes;
};

void unmap(void* owner) {
  auto* mapping = static_cast<Mapping*>(owner);
  munmap(mapping->data, mapping->bytes);
  delete mapping;
}

Storage* wrap_mapping(void* data, int64_t bytes) {
  auto mapping = std::make_unique<Mapping>(Mapping{data, static_cast<size_t>(bytes)});
  Storage* storage = nullptr;
  try {
    storage = Storage::wrap(data, bytes, mapping.get(), unmap);
  } catch (...) {
    munmap(data, static_cast<size_t>(bytes));
    throw;
  }
  static_cast<void>(mapping.release());  // the storage's now
  return storage;
}

char* following_data(Storage* storage) { return reinterpret_cast<char*>(storage) + kHeaderBytes; }

[[noreturn, gnu::cold, gnu::noinline]] void fail_negative(int64_t bytes) {
  throw Error(TENON_ERROR_MEMORY, "cannot allocate {} bytes: the size is negative", bytes);
}

[[gnu::cold, gnu::noinline]] Storage* create_lazy(int64_t bytes) {
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    throw Error(TENON_ERROR_MEMORY, "cannot map {} bytes: {}", bytes, std::strerror(errno));
  return wrap_mapping(data, bytes);
}

}  // namespace

constinit thread_local bool large_storage_is_lazy = false;

uint32_t Storage::number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  uint32_t found = assigned_number.load(std::memory_order_acquire);
  if (found != 0 || foreign) return found;
  const uint64_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
  if (next > UINT32_MAX) return 0;
  return assigned_number.compare_exchange_strong(found, static_cast<uint32_t>(next))
             ? static_cast<uint32_t>(next)
             : found;  // another thread was faster
}

Storage* Storage::create(int64_t bytes) {
  if (bytes < 0) [[unlikely]]
    fail_negative(bytes);
  if (bytes < kLargeBytes) [[likely]] {
    auto* storage = new (allocate(kHeaderBytes + bytes)) Storage;
    storage->data = following_data(storage);
    storage->bytes = bytes;
    return storage;
  }
  if (large_storage_is_lazy) [[unlikely]]
    return create_lazy(bytes);
  void* data = allocate(bytes);
  void* header = nullptr;
  try {
    header = allocate(kHeaderBytes);
  } catch (...) {
    core::release(data, bytes);
    throw;
  }
  auto* storage = new (header) Storage;
  storage->data = static_cast<char*>(data);
  storage->bytes = bytes;
  return storage;
}

Storage* Storage::wrap(void* data, int64_t bytes, void* owner, void (*release_owner)(void*)) {
  auto* storage = new (allocate(kHeaderBytes)) Storage;
  storage->data = static_cast<char*>(data);
  storage->bytes = bytes;
  storage->owner = owner;
  storage->release_owner = release_owner;
  storage->foreign = true;
  if (release_owner != nullptr) storage->code = lease_at(Holder::Memory, release_owner).keep();
  return storage;
}

void Storage::destroy(Storage* storage) noexcept {
  const int64_t bytes = storage->bytes;
  if (storage->data == following_data(storage) && !storage->foreign) [[likely]] {
    core::release(storage, kHeaderBytes + bytes);
    return;
  }
  if (storage->foreign) {
    if (storage->release_owner != nullptr) storage->release_owner(storage->owner);
    if (storage->code != nullptr) storage->code->release(Holder::Memory);
  } else {
    core::release(storage->data, bytes);
  }
  core::release(storage, kHeaderBytes);
}

}  // namespace tenon::core
