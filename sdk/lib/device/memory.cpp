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

DeviceMemory::DeviceMemory(Driver& of, std::atomic<int64_t>& counted, int64_t instance,
                           int64_t size)
    : driver(of), used(counted), index(instance), bytes(size) {
  if (bytes > 0) data = driver.allocate(index, bytes);
  used += bytes;
}

DeviceMemory::~DeviceMemory() {
  if (data != nullptr && !in_child_process()) driver.free(index, data, bytes);
  if (counted_) used -= bytes;
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
