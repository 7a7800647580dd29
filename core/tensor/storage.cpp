// Creation and destruction of reference-counted buffers.
#include "core/tensor/storage.hpp"

#include <new>
#include <string>

#include "core/base/allocator.hpp"
#include "core/base/error.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kHeaderBytes = 64;
static_assert(sizeof(Storage) <= kHeaderBytes);

// From this size on the data has its own block, so that it starts on a page and sizes stay round.
constexpr int64_t kSeparateBytes = int64_t{1} << 20;

char* following_data(Storage* storage) { return reinterpret_cast<char*>(storage) + kHeaderBytes; }

}  // namespace

Storage* Storage::create(int64_t bytes) {
  if (bytes < 0) {
    throw Error(TENON_ERROR_MEMORY, "cannot allocate {} bytes: the size is negative", bytes);
  }
  if (bytes < kSeparateBytes) [[likely]] {
    auto* storage = new (allocate(kHeaderBytes + bytes)) Storage;
    storage->data = following_data(storage);
    storage->bytes = bytes;
    return storage;
  }
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
  } else {
    core::release(storage->data, bytes);
  }
  core::release(storage, kHeaderBytes);
}

}  // namespace tenon::core
