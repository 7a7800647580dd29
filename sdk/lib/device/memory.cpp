#include <algorithm>
#include <set>

#include <sys/mman.h>

#include <tenon/device/memory.hpp>

TENON_NAMESPACE_BEGIN
namespace device {

namespace {

// A page that the kernel clears in the child of a fork. It stays mapped: static objects that end later
// look at it.
class ProcessMark {
 public:
  ProcessMark() {
    void* const page =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (::madvise(page, kBytes, MADV_WIPEONFORK) != 0) {
      ::munmap(page, kBytes);
      return;
    }
    page_ = static_cast<int*>(page);
    *page_ = 1;
  }
  bool is_cleared() const {
    return page_ != nullptr && __atomic_load_n(page_, __ATOMIC_RELAXED) == 0;
  }

 private:
  static constexpr size_t kBytes = 4096;
  int* page_ = nullptr;
};

}  // namespace

bool in_child_process() {
  static const ProcessMark mark;
  return mark.is_cleared();
}

void check_process(const char* device) {
  if (!in_child_process()) return;
  throw tenon::RuntimeError(std::string(device) +
                            " is used in the child of a fork, which has none of its threads and "
                            "memory: copy tensors to the "
                            "CPU before the fork, or start a new process");
}

namespace {

// All allocations of the plugin's devices. It stays: tensors may end after static objects.
struct Allocations {
  std::mutex mutex;
  std::set<const DeviceMemory*> all;

  void add(const DeviceMemory& memory) {
    const std::lock_guard<std::mutex> lock(mutex);
    all.insert(&memory);
  }
  void remove(const DeviceMemory& memory) {
    const std::lock_guard<std::mutex> lock(mutex);
    all.erase(&memory);
  }
};
Allocations& allocations() {
  static auto* const kept = new Allocations;
  return *kept;
}

int64_t bytes_of(DType dtype, IntList shape) {
  int64_t bytes = element_size(dtype);
  for (const int64_t size : shape) bytes *= size;
  return bytes;
}

}  // namespace

DeviceMemory::DeviceMemory(Driver& of, std::atomic<int64_t>& counted, int64_t instance, DType dtype,
                           IntList shape)
    : driver(of),
      used(counted),
      index(instance),
      bytes(bytes_of(dtype, shape)),
      dtype_(dtype),
      shape_(shape.begin(), shape.end()) {
  if (bytes > 0) {
    Allocations& kept = allocations();
    kept.add(*this);
    try {
      data = driver.allocate(index, bytes);
    } catch (const MemoryError& error) {
      kept.remove(*this);
      throw MemoryError(error.what() + largest_text(driver, index));
    } catch (...) {
      kept.remove(*this);
      throw;
    }
  }
  used += bytes;
}

DeviceMemory::~DeviceMemory() {
  if (counted_) used -= bytes;
  if (data == nullptr || in_child_process()) return;
  allocations().remove(*this);
  driver.free(index, data, bytes);
}

// "; its largest tensors: f32[100, 100] (40000 bytes), f32[10] (40 bytes)"
std::string DeviceMemory::largest_text(const Driver& driver, int64_t index) {
  constexpr size_t kMost = 3;
  Allocations& kept = allocations();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  std::vector<const DeviceMemory*> largest;
  for (const DeviceMemory* one : kept.all) {
    if (&one->driver == &driver && one->index == index && one->counted_) largest.push_back(one);
  }
  const size_t count = std::min(kMost, largest.size());
  std::partial_sort(
      largest.begin(), largest.begin() + static_cast<int64_t>(count), largest.end(),
      [](const DeviceMemory* a, const DeviceMemory* b) { return a->bytes > b->bytes; });
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const DeviceMemory& one = *largest[i];
    text += (i == 0 ? "; its largest tensors: " : ", ") +
            shape_text(one.dtype_, {one.shape_.data(), static_cast<int64_t>(one.shape_.size())}) +
            " (" + std::to_string(one.bytes) + " bytes)";
  }
  return text;
}

void DeviceMemory::release_tensors(void* owner) {
  auto* const memory = static_cast<DeviceMemory*>(owner);
  memory->used -= memory->bytes;
  memory->counted_ = false;
  memory->release();
}

std::shared_ptr<const Failure> DeviceMemory::failure() const {
  if (!has_failure_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void DeviceMemory::set_failure(std::shared_ptr<const Failure> failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = std::move(failure);
  has_failure_.store(failure_ != nullptr, std::memory_order_release);
}

}  // namespace device
TENON_NAMESPACE_END
