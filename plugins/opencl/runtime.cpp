#include "opencl/runtime.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <unistd.h>

#include <sys/stat.h>

#include "opencl/chains.hpp"

namespace tenon_opencl {

namespace {

using tenon::DType;

std::string cache_folder() {
  std::string folder;
  if (const char* cache = secure_getenv("XDG_CACHE_HOME"))
    folder = cache;
  else if (const char* home = secure_getenv("HOME"))
    folder = std::string(home) + "/.cache";
  else
    return {};
  for (const char* part : {"", "/tenon", "/tenon/opencl"}) mkdir((folder + part).c_str(), 0700);
  return folder + "/tenon/opencl/";
}

// FNV-1a of 64 bits.
std::string hash_text(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

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

// Keeps handlers of signals, their stack and the environment, which drivers and their compilers change.
class ProcessKept {
 public:
  ProcessKept() {
    for (int i = 1; i < kSignals; ++i) known_[i] = sigaction(i, nullptr, &actions_[i]) == 0;
    has_stack_ = sigaltstack(nullptr, &stack_) == 0;
    if (const char* value = secure_getenv(kVariable)) variable_ = value;
  }
  ~ProcessKept() {
    for (int i = 1; i < kSignals; ++i)
      if (known_[i]) sigaction(i, &actions_[i], nullptr);
    if (has_stack_) sigaltstack(&stack_, nullptr);
    const char* value = secure_getenv(kVariable);
    if (!variable_ && value != nullptr) unsetenv(kVariable);
  }
  ProcessKept(const ProcessKept&) = delete;
  ProcessKept& operator=(const ProcessKept&) = delete;

 private:
  static constexpr int kSignals = 32;
  static constexpr const char* kVariable = "HWLOC_PLUGINS_PATH";  // PoCL sets it
  struct sigaction actions_[kSignals] = {};
  bool known_[kSignals] = {}, has_stack_ = false;
  stack_t stack_ = {};
  std::optional<std::string> variable_;
};

}  // namespace

void check(cl_int status, const char* function) {
  if (status == CL_SUCCESS) return;
  const std::string what =
      std::string("OpenCL: ") + function + " failed with code " + std::to_string(status);
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
      status == CL_OUT_OF_HOST_MEMORY)
    throw tenon::MemoryError(what + ": there is not enough memory");
  throw tenon::RuntimeError(what);
}

// ---- a device ----

Instance::Instance(cl_device_id device)
    : device_(device), chains_(std::make_unique<Chains>(*this)) {
  cl_int status = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = clCreateCommandQueueWithProperties(context_, device, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
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
  identity_ = text(CL_DEVICE_NAME) + text(CL_DEVICE_VERSION) + text(CL_DRIVER_VERSION);
}

Instance::~Instance() = default;

void Instance::flush() { chains_->flush(); }

std::string Instance::text(cl_device_info info) const {
  size_t size = 0;
  check(clGetDeviceInfo(device_, info, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(clGetDeviceInfo(device_, info, size, text.data(), nullptr), "clGetDeviceInfo");
  return text;
}

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
  define("K(number)", std::string("((VT)(") + (type == DType::f32 ? "number##f" : "number") + "))");
  text += R"(
typedef struct {
  ulong inner, outer;
  long by[4];
  ulong size[6];
  long step[4][6];
  uint rank, runs;
} Dims;

static void note_fault(__global int* faults, int code, long value) {
  if (atomic_cmpxchg((volatile __global int*)faults, 0, code) == 0) *(__global long*)(faults + 2) = value;
}
)";
  return text;
}

std::string Instance::file_of(const std::string& text) const {
  static const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + hash_text(text + identity_) + ".bin";
}

cl_program Instance::built_from_file(const std::string& path) const {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) return nullptr;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t size = bytes.size();
  cl_int status = CL_SUCCESS, of_binary = CL_SUCCESS;
  cl_program program =
      clCreateProgramWithBinary(context_, 1, &device_, &size, &data, &of_binary, &status);
  if (status == CL_SUCCESS && of_binary == CL_SUCCESS &&
      clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr) == CL_SUCCESS)
    return program;
  if (program != nullptr) clReleaseProgram(program);
  return nullptr;
}

// As a whole, by another name first: several processes may write it.
void Instance::write_file(cl_program program, const std::string& path) const {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
          CL_SUCCESS ||
      size == 0)
    return;
  std::string bytes(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(bytes.data());
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS)
    return;
  const std::string part = path + "." + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) std::remove(part.c_str());
}

// A compiled program is kept in a file whose name has all that it depends on.
cl_program Instance::program_of(const std::string& text) const {
  const std::string path = file_of(text);
  if (!path.empty()) {
    if (cl_program found = built_from_file(path)) return found;
  }
  const ProcessKept kept;
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
  if (!path.empty()) write_file(program, path);
  return program;
}

cl_kernel Instance::made(const Kernel& key) {
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  cl_program& program =
      programs_[{key.source, static_cast<int>(key.type) * 256 + static_cast<int>(key.other)}];
  if (program == nullptr)
    program = program_of(preamble_of(key.type, key.other) + key.source->text(key.type));
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, key.name, &status);
  check(status, "clCreateKernel");
  return kernels_[key] = kernel;
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

// ---- faults ----

namespace {
constexpr size_t kFaultBytes = 16;     // code, unused, the index
constexpr size_t kMostMessages = 256;  // that are not checked yet
}  // namespace

Memory Instance::faults() {
  const std::lock_guard lock(faults_mutex_);
  if (faults_ == nullptr) {
    faults_ = clSVMAlloc(context_, CL_MEM_READ_WRITE, kFaultBytes, 0);
    if (faults_ == nullptr) throw tenon::MemoryError("OpenCL: no memory for faults of kernels");
    const cl_int none = 0;
    check(
        clEnqueueSVMMemFill(queue_, faults_, &none, sizeof none, kFaultBytes, 0, nullptr, nullptr),
        "clEnqueueSVMMemFill");
  }
  return {faults_};
}

cl_int Instance::fault_code(std::string message) {
  {
    const std::lock_guard lock(faults_mutex_);
    if (messages_.size() < kMostMessages) {
      messages_.push_back(std::move(message));
      return static_cast<cl_int>(messages_.size());
    }
  }
  check_faults();
  return fault_code(std::move(message));
}

void Instance::check_faults() {
  std::string message;
  cl_int found[kFaultBytes / sizeof(cl_int)] = {};
  {
    const std::lock_guard lock(faults_mutex_);
    if (messages_.empty()) return;
    check(clEnqueueSVMMemcpy(queue_, CL_TRUE, found, faults_, kFaultBytes, 0, nullptr, nullptr),
          "clEnqueueSVMMemcpy");
    const auto code = static_cast<size_t>(found[0]);
    if (code > 0 && code <= messages_.size()) message = messages_[code - 1];
    messages_.clear();
    if (code == 0) return;
    const cl_int none = 0;
    check(
        clEnqueueSVMMemFill(queue_, faults_, &none, sizeof none, kFaultBytes, 0, nullptr, nullptr),
        "clEnqueueSVMMemFill");
  }
  cl_long index = 0;
  std::memcpy(&index, found + 2, sizeof index);
  const size_t place = message.find("{}");
  if (place != std::string::npos) message.replace(place, 2, std::to_string(index));
  throw tenon::IndexError(message);
}

// ---- all devices ----

Runtime::Runtime() {
  const ProcessKept kept;
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return;
  std::vector<cl_platform_id> platforms(platform_count);
  clGetPlatformIDs(platform_count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(count);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    for (cl_device_id device : devices) {
      cl_device_svm_capabilities shared = 0;
      if (clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared, nullptr) ==
              CL_SUCCESS &&
          (shared & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0)
        instances_.emplace_back(device);
    }
  }
  pools_.resize(instances_.size());
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
  clEnqueueSVMFree(at(index).queue(), 1, &data, nullptr, nullptr, 0, nullptr, nullptr);
}

void Runtime::drop_pool(int64_t index) noexcept {
  const std::lock_guard lock(pool_mutex_);
  Pool& pool = pools_[static_cast<size_t>(index)];
  for (auto& [size, blocks] : pool.blocks) {
    for (void* data : blocks)
      clEnqueueSVMFree(at(index).queue(), 1, &data, nullptr, nullptr, 0, nullptr, nullptr);
  }
  pool.blocks.clear();
  pool.bytes = 0;
}

void Runtime::upload(int64_t index, void* to, const void* from, int64_t bytes) {
  at(index).flush();
  check(clEnqueueSVMMemcpy(at(index).queue(), CL_TRUE, to, from, static_cast<size_t>(bytes), 0,
                           nullptr, nullptr),
        "clEnqueueSVMMemcpy");
}

void Runtime::download(int64_t index, void* to, const void* from, int64_t bytes) {
  at(index).flush();
  check(clEnqueueSVMMemcpy(at(index).queue(), CL_TRUE, to, from, static_cast<size_t>(bytes), 0,
                           nullptr, nullptr),
        "clEnqueueSVMMemcpy");
  at(index).check_faults();
}

void Runtime::map(int64_t index, void* data, int64_t bytes) {
  at(index).flush();
  {
    const std::lock_guard lock(mutex_);
    const auto found = maps_.find(data);
    if (found != maps_.end()) {
      ++found->second;
      return;
    }
    check(clEnqueueSVMMap(at(index).queue(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, data,
                          static_cast<size_t>(bytes), 0, nullptr, nullptr),
          "clEnqueueSVMMap");
    maps_[data] = 1;
  }
  try {
    at(index).check_faults();
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
  check(clFinish(at(index).queue()), "clFinish");
  at(index).check_faults();
}

}  // namespace tenon_opencl
