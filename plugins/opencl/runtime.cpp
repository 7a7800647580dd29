#include "opencl/runtime.hpp"

#include <chrono>
#include <condition_variable>
#include <unistd.h>

#include <tenon/interrupt.hpp>
#include <tenon/text.hpp>

#include "opencl/chains.hpp"
#include "opencl/faults.hpp"
#include "opencl/kept_files.hpp"
#include "opencl/process_kept.hpp"

namespace tenon_opencl {

namespace {

using tenon::DType;

const char* name_in_opencl(DType type) {
  switch (type) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i64:
      return "long";
    case DType::i32:
      return "int";
    case DType::i16:
      return "short";
    case DType::i8:
      return "char";
    default:
      return "uchar";
  }
}

// One element x of T as U, as the CPU converts: of floating numbers the fraction is cut off, those beyond the ends of
// an integer are its ends, NaN is 0.
std::string conversion_text(DType type, DType other) {
  const bool from_floating = type == DType::f32 || type == DType::f64;
  const char* ends[3] = {};  // the first number, the last one, and the first one behind it
  const auto set = [&](const char* first, const char* last, const char* behind) {
    ends[0] = first, ends[1] = last, ends[2] = behind;
  };
  if (other == DType::i64) set("LONG_MIN", "LONG_MAX", "0x1p63f");
  if (other == DType::i32) set("INT_MIN", "INT_MAX", "0x1p31f");
  if (other == DType::u8) set("0", "UCHAR_MAX", "0x1p8f");
  if (!from_floating || ends[0] == nullptr) return "((U)(x))";
  return std::string("(isnan(x) ? (U)0 : (x) <= (T)") + ends[0] + " ? (U)" + ends[0] +
         " : (x) >= (T)" + ends[2] + " ? (U)" + ends[1] + " : (U)(x))";
}

std::string text_of(cl_device_id device, cl_device_info info) {
  size_t size = 0;
  check(clGetDeviceInfo(device, info, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(clGetDeviceInfo(device, info, size, text.data(), nullptr), "clGetDeviceInfo");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace

// ---- a device ----

Instance::Instance(cl_device_id device, int64_t index)
    : device_(device),
      name_("opencl:" + std::to_string(index)),
      chains_(std::make_unique<Chains>(*this)),
      faults_(std::make_unique<Faults>(*this)) {
  cl_ulong bytes = 0;
  cl_device_type type = 0;
  cl_uint lanes = 0;
  cl_device_fp_config doubles = 0;
  const auto get = [&](cl_device_info info, auto& value) {
    check(clGetDeviceInfo(device, info, sizeof value, &value, nullptr), "clGetDeviceInfo");
  };
  get(CL_DEVICE_GLOBAL_MEM_SIZE, bytes);
  get(CL_DEVICE_TYPE, type);
  get(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, lanes);
  get(CL_DEVICE_DOUBLE_FP_CONFIG, doubles);
  bytes_ = static_cast<int64_t>(bytes);
  shares_memory_ = (type & CL_DEVICE_TYPE_CPU) != 0;
  has_doubles_ = doubles != 0;
  float_lanes_ = lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
  for (const cl_device_info info : {CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION})
    identity_ += text_of(device, static_cast<cl_device_info>(info));
  cl_int status = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = clCreateCommandQueueWithProperties(context_, device, nullptr, &status);
  if (status != CL_SUCCESS) clReleaseContext(context_);
  check(status, "clCreateCommandQueueWithProperties");
}

Instance::~Instance() = default;

void Instance::flush() { chains_->flush(); }

int64_t Instance::lanes(DType type) const {
  const int64_t bytes = tenon::element_size(type);
  return bytes >= 8 ? float_lanes_ / 2 : float_lanes_;
}

// The names that kernels are written in: T and U, VT, VU and VI of as many lanes, RUN elements of one work item.
std::string Instance::preamble_of(DType type, DType other) const {
  const std::string count = std::to_string(lanes(type));
  std::string text;
  const auto define = [&](const std::string& name, const std::string& value) {
    text += "#define " + name + " " + value + "\n";
  };
  if (has_doubles_) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  text += "#pragma OPENCL FP_CONTRACT OFF\n";
  const std::string t = name_in_opencl(type),
                    u = name_in_opencl(other == DType::none ? type : other);
  const int64_t bytes = tenon::element_size(type);
  define("T", t);
  define("U", u);
  define("V", count);
  define("VT", t + count);
  define("VU", u + count);
  define("VI", (bytes == 8 ? "long" : bytes == 4 ? "int" : bytes == 2 ? "short" : "char") + count);
  // Totals of sums: as wide as the device has it.
  define("WIDE", type == DType::f32 && has_doubles_ ? "double" : t);
  define("LOAD", "vload" + count);
  define("STORE", "vstore" + count);
  define("TO_VT", "convert_" + t + count);
  define("TO_VU", "convert_" + u + count);
  define("TO_BYTES", "convert_uchar" + count);
  define("BYTES", "uchar" + count);
  define("TO_CONDITION", "convert_" +
                             std::string(bytes == 8   ? "long"
                                         : bytes == 4 ? "int"
                                                      : "char") +
                             count);
  define("VECTORS", std::to_string(vectors()));
  define("TO_U(x)", conversion_text(type, other));
  define("K(number)", std::string("((VT)(") + (type == DType::f32 ? "number##f" : "number") + "))");
  text += R"(
typedef struct {
  ulong inner, outer;
  long by[4];
  ulong size[6];
  long step[4][6];
  uint rank, runs;
} Dims;

typedef struct {
  int is_found, unused;
  long index;
} Found;
static void note_fault(__global Found* faults, int code, long index) {
  if (atomic_cmpxchg((volatile __global int*)&faults[code].is_found, 0, 1) == 0) faults[code].index = index;
}
)";
  return text;
}

std::string Instance::file_of(const std::string& text) const { return kept_file(text + identity_); }

// Null where the driver refuses it.
cl_program Instance::built_from(const std::string& binary) const {
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int status = CL_SUCCESS, of_binary = CL_SUCCESS;
  cl_program program =
      clCreateProgramWithBinary(context_, 1, &device_, &size, &data, &of_binary, &status);
  if (status == CL_SUCCESS && of_binary == CL_SUCCESS &&
      clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr) == CL_SUCCESS)
    return program;
  if (program != nullptr) clReleaseProgram(program);
  return nullptr;
}

namespace {

// "" where the driver has none.
std::string binary_of(cl_program program) {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS)
    return {};
  std::string bytes(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(bytes.data());
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS)
    return {};
  return bytes;
}

}  // namespace

// A compiled program is kept in a file whose name has all that it depends on.
cl_program Instance::program_of(const std::string& text) const {
  const std::string path = file_of(text);
  if (const std::string kept = path.empty() ? path : read_kept(path); !kept.empty()) {
    if (cl_program found = built_from(kept)) return found;
  }
  const ProcessKept process;
  cl_int status = CL_SUCCESS;
  const char* source = text.c_str();
  cl_program program = clCreateProgramWithSource(context_, 1, &source, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr);
  if (status != CL_SUCCESS) {
    size_t size = 0;
    clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    clReleaseProgram(program);
    throw tenon::RuntimeError("OpenCL: the kernels do not compile: " + log);
  }
  const std::string binary = path.empty() ? path : binary_of(program);
  if (!binary.empty()) keep(path, binary);
  return program;
}

QueuedKernel& Instance::made(const Kernel& key) {
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  cl_program& program =
      programs_[{key.source, static_cast<int>(key.type) * 256 + static_cast<int>(key.other)}];
  if (program == nullptr)
    program = program_of(preamble_of(key.type, key.other) + key.source->text(key.type));
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, key.name, &status);
  check(status, "clCreateKernel");
  return kernels_[key] = QueuedKernel(kernel);
}

cl_kernel Instance::made_from(DType type, const std::string& text) const {
  cl_program program = program_of(preamble_of(type, DType::none) + text);
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, "chain", &status);
  clReleaseProgram(program);
  check(status, "clCreateKernel");
  return kernel;
}

bool Instance::has_text(DType type, const std::string& text) {
  const std::string path = file_of(preamble_of(type, DType::none) + text);
  return !path.empty() && access(path.c_str(), R_OK) == 0;
}

void Instance::queue_kernel(cl_kernel kernel, size_t items, size_t group) {
  check(clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  ++begun_;
}

void Instance::free(void* data) noexcept {
  ++freed_;
  clEnqueueSVMFree(queue_, 1, &data, nullptr, nullptr, 0, nullptr, nullptr);
}

namespace {

// The end of what was queued before a marker, as a thread of the driver reports it.
struct End {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_there = false;
};
void CL_CALLBACK note_end(cl_event, cl_int, void* data) {
  const std::unique_ptr<std::shared_ptr<End>> end(static_cast<std::shared_ptr<End>*>(data));
  const std::lock_guard lock((*end)->mutex);
  (*end)->is_there = true;
  (*end)->changed.notify_all();
}

}  // namespace

void Instance::wait() {
  const int64_t begun = begun_;
  if (begun - waited_ > 1) {
    tenon::stop_if_interrupted();
    cl_event marker = nullptr;
    check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &marker), "clEnqueueMarkerWithWaitList");
    const auto end = std::make_shared<End>();
    auto given = std::make_unique<std::shared_ptr<End>>(end);
    const cl_int status = clSetEventCallback(marker, CL_COMPLETE, note_end, given.get());
    clReleaseEvent(marker);
    check(status, "clSetEventCallback");
    static_cast<void>(given.release());
    check(clFlush(queue_), "clFlush");
    std::unique_lock lock(end->mutex);
    while (!end->changed.wait_for(lock, std::chrono::milliseconds(10),
                                  [&] { return end->is_there; })) {
      lock.unlock();
      tenon::stop_if_interrupted();
      lock.lock();
    }
  }
  waited_ = begun;
}

// ---- all devices ----

Runtime::Runtime() {
  const ProcessKept kept;
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS || platform_count == 0) {
    absence_ =
        "no driver of OpenCL is installed; install that of the processor's vendor, or "
        "pocl-opencl-icd for the CPU (the program clinfo lists what is there)";
    return;
  }
  std::vector<cl_platform_id> platforms(platform_count);
  clGetPlatformIDs(platform_count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(count);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    for (cl_device_id device : devices) add(device);
  }
  if (absence_.empty())
    absence_ = "no driver of OpenCL has a device; the program clinfo lists them";
  pools_.resize(instances_.size());
}

// A device that does not begin is left out, with a warning: others may be there.
void Runtime::add(cl_device_id device) {
  std::string name = "a device", reason;
  try {
    name = text_of(device, CL_DEVICE_NAME);
    cl_device_svm_capabilities shared = 0;
    check(clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared, nullptr),
          "clGetDeviceInfo");
    if ((shared & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0) {
      instances_.emplace_back(device, static_cast<int64_t>(instances_.size()));
      return;
    }
    reason = "it has no shared virtual memory (OpenCL 2.0)";
  } catch (const tenon::Error& error) {
    reason = error.what();
    const std::string line =
        "the device " + tenon::printable(name) + " of a driver is left out: " + reason;
    tenon::service::threads().log(3, "opencl", line.data(), static_cast<int64_t>(line.size()));
  }
  absence_ += (absence_.empty() ? "" : "; ") + tenon::printable(name) + ": " + reason;
}

Runtime& runtime() {
  static auto* const all = new Runtime;
  return *all;
}

namespace {

// Sizes that memory is kept in: at most an eighth is unused.
int64_t block_of(int64_t bytes) {
  int64_t step = 256;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}
constexpr int64_t kMostPooled = int64_t{1} << 30;

}  // namespace

void* Runtime::allocate(int64_t index, int64_t bytes) {
  const int64_t size = block_of(bytes);
  {
    const std::lock_guard lock(pool_mutex_);
    Pool& pool = pools_[static_cast<size_t>(index)];
    const auto found = pool.blocks.find(size);
    if (found != pool.blocks.end() && !found->second.empty()) {
      void* const data = found->second.back();
      found->second.pop_back();
      pool.bytes -= size;
      return data;
    }
  }
  for (const bool again : {false, true}) {
    void* const data =
        clSVMAlloc(at(index).context(), CL_MEM_READ_WRITE, static_cast<size_t>(size), 0);
    if (data != nullptr) return data;
    if (again) break;
    at(index).flush();  // noted calls read memory of the pool
    drop_pool(index);
    clFinish(at(index).queue());
  }
  throw tenon::MemoryError("opencl:" + std::to_string(index) + " has no memory for " +
                           std::to_string(bytes) + " bytes");
}

void Runtime::free(int64_t index, void* data, int64_t bytes) noexcept {
  const int64_t size = block_of(bytes);
  at(index).chains().forget(data, size);
  try {
    const std::lock_guard lock(pool_mutex_);
    Pool& pool = pools_[static_cast<size_t>(index)];
    if (pool.bytes + size <= kMostPooled) {
      pool.blocks[size].push_back(data);
      pool.bytes += size;
      return;
    }
  } catch (...) {
    // Without memory for the list it is freed.
  }
  // Behind what is queued, which may use it; noted calls are part of that.
  try {
    at(index).flush();
  } catch (...) {
    // The calls are dropped; their results are gone with this memory, or read as they are.
  }
  at(index).free(data);
}

void Runtime::drop_pool(int64_t index) noexcept {
  const std::lock_guard lock(pool_mutex_);
  Pool& pool = pools_[static_cast<size_t>(index)];
  for (auto& [size, blocks] : pool.blocks) {
    for (void* data : blocks) at(index).free(data);
  }
  pool.blocks.clear();
  pool.bytes = 0;
}

void Runtime::upload(int64_t index, void* to, const void* from, int64_t bytes) {
  at(index).flush();
  at(index).wait();
  check(clEnqueueSVMMemcpy(at(index).queue(), CL_TRUE, to, from, static_cast<size_t>(bytes), 0,
                           nullptr, nullptr),
        "clEnqueueSVMMemcpy");
}

void Runtime::download(int64_t index, void* to, const void* from, int64_t bytes) {
  at(index).flush();
  at(index).wait();
  check(clEnqueueSVMMemcpy(at(index).queue(), CL_TRUE, to, from, static_cast<size_t>(bytes), 0,
                           nullptr, nullptr),
        "clEnqueueSVMMemcpy");
  at(index).faults().check();
}

void Runtime::map(int64_t index, void* data, int64_t bytes) {
  at(index).flush();
  at(index).wait();
  {
    const std::lock_guard lock(mutex_);
    const auto found = maps_.find(data);
    if (found != maps_.end()) {
      ++found->second;
    } else {
      check(clEnqueueSVMMap(at(index).queue(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, data,
                            static_cast<size_t>(bytes), 0, nullptr, nullptr),
            "clEnqueueSVMMap");
      maps_[data] = 1;
    }
  }
  try {
    at(index).faults().check();
  } catch (...) {
    unmap(index, data, bytes);
    throw;
  }
}

void Runtime::unmap(int64_t index, void* data, int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = maps_.find(data);
  if (found == maps_.end() || --found->second > 0) return;
  maps_.erase(found);
  clEnqueueSVMUnmap(at(index).queue(), data, 0, nullptr, nullptr);
}

void Runtime::synchronize(int64_t index) {
  at(index).flush();
  at(index).wait();
  check(clFinish(at(index).queue()), "clFinish");
  at(index).faults().check();
}

}  // namespace tenon_opencl
