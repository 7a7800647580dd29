// A plugin that provides a device: memory that the CPU does not reach, copies, and two kernels.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

#include <tenon/plugin.hpp>
#include <tenon/device/device.hpp>

namespace {

using tenon::Tensor;
namespace device = tenon::device;

// Each allocation is mapped twice: tensors have an address that is never read, and kernels find the
// memory behind it, as a graphics card does behind its addresses.
class Memory final : public device::Driver {
 public:
  int64_t count() const override { return 1; }
  void* allocate(int64_t, int64_t bytes) override {
    const auto size = static_cast<size_t>(bytes);
    const int file = memfd_create("mirror", MFD_CLOEXEC);
    void *address = MAP_FAILED, *memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, bytes) == 0) {
      address = mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
      memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) close(file);
    if (address == MAP_FAILED || memory == MAP_FAILED) {
      if (address != MAP_FAILED) munmap(address, size);
      if (memory != MAP_FAILED) munmap(memory, size);
      throw tenon::MemoryError("mirror has no memory for " + std::to_string(bytes) + " bytes");
    }
    const std::lock_guard lock(mutex_);
    memory_[static_cast<char*>(address)] = static_cast<char*>(memory);
    return address;
  }
  void free(int64_t, void* data, int64_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = memory_.find(static_cast<char*>(data));
    munmap(found->second, static_cast<size_t>(bytes));
    munmap(data, static_cast<size_t>(bytes));
    memory_.erase(found);
  }
  void upload(int64_t, void* to, const void* from, int64_t bytes) override {
    std::memcpy(behind(to), from, static_cast<size_t>(bytes));
  }
  void download(int64_t, void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, behind(from), static_cast<size_t>(bytes));
  }

  // The memory behind an address of a tensor.
  char* behind(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto* const at = static_cast<const char*>(address);
    const auto found = std::prev(memory_.upper_bound(const_cast<char*>(at)));
    return found->second + (at - found->first);
  }

 private:
  std::mutex mutex_;
  std::map<char*, char*> memory_;
};

Memory& memory() {
  static auto* const all = new Memory;  // for tensors that are destroyed at the end of the process
  return *all;
}

// The device: ops that it has no kernel for run on the CPU, on copies.
struct MirrorTensor : device::Type<MirrorTensor> {
  static constexpr auto name = "mirror";
  static constexpr auto doc = "A tensor in memory that the CPU does not reach.";
  static constexpr auto fallback = tenon::unwrap_rewrap;
  static device::Driver& driver() { return memory(); }
};

struct Devices : device::ServiceOf<MirrorTensor> {
  static constexpr const char* name = "device.mirror";
};

struct CopyToMirror : device::Copy<MirrorTensor> {};

// ---- kernels ----

bool is_simple(const Tensor& tensor) {
  return tenon::is<MirrorTensor>(tensor) && tensor.dtype() == tenon::f32 && tensor.is_contiguous();
}
float* numbers(const Tensor& tensor) {
  return tensor.numel() == 0 ? nullptr
                             : reinterpret_cast<float*>(memory().behind(device::elements(tensor)));
}

struct Relu {
  static constexpr auto schema = "relu(Tensor input) -> Tensor";
  static constexpr auto types = "mirror";
  static tenon::Results forward(const Tensor& input) {
    if (!is_simple(input)) return tenon::not_implemented;
    const Tensor result = device::empty<MirrorTensor>(input.shape(), tenon::f32, 0);
    const float* from = numbers(input);
    float* to = numbers(result);
    for (int64_t i = 0; i < input.numel(); ++i) to[i] = std::max(from[i], 0.0f);
    return result;
  }
};

struct MatrixProduct {
  static constexpr auto schema = "mm(Tensor input, Tensor mat2) -> Tensor";
  static constexpr auto types = "mirror";
  static tenon::Results forward(const Tensor& a, const Tensor& b) {
    if (!is_simple(a) || !is_simple(b) || a.size(1) != b.size(0)) return tenon::not_implemented;
    const int64_t rows = a.size(0), inner = a.size(1), columns = b.size(1),
                  shape[] = {rows, columns};
    const Tensor result = device::empty<MirrorTensor>({shape, 2}, tenon::f32, 0);
    const float *x = numbers(a), *y = numbers(b);
    float* z = numbers(result);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < inner; ++k) sum += x[i * inner + k] * y[k * columns + j];
        z[i * columns + j] = sum;
      }
    }
    return result;
  }
};

}  // namespace

TENON_TYPE(MirrorTensor)
TENON_SERVICE(Devices)
TENON_OVERRIDE(CopyToMirror)
TENON_OVERRIDE(Relu)
TENON_OVERRIDE(MatrixProduct)

TENON_PLUGIN(mirror, "1.0.0")
