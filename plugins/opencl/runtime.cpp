#include "opencl/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <sys/stat.h>

namespace tenon_opencl {

namespace {

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

Instance::Instance(cl_device_id device) : device_(device) {
  cl_int status = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = clCreateCommandQueueWithProperties(context_, device, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
  cl_ulong bytes = 0;
  cl_device_type type = 0;
  check(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr),
        "clGetDeviceInfo");
  check(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr), "clGetDeviceInfo");
  bytes_ = static_cast<int64_t>(bytes);
  shares_memory_ = (type & CL_DEVICE_TYPE_CPU) != 0;
}

std::string Instance::text(cl_device_info info) const {
  size_t size = 0;
  check(clGetDeviceInfo(device_, info, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(clGetDeviceInfo(device_, info, size, text.data(), nullptr), "clGetDeviceInfo");
  return text;
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
void Instance::write_file(const std::string& path) const {
  size_t size = 0;
  if (clGetProgramInfo(program_, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
          CL_SUCCESS ||
      size == 0)
    return;
  std::string bytes(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(bytes.data());
  if (clGetProgramInfo(program_, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS)
    return;
  const std::string part = path + "." + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) std::remove(part.c_str());
}

// The compiled program is kept in a file whose name has all that it depends on.
void Instance::build() {
  const std::string folder = cache_folder();
  const std::string path = folder +
                           hash_text(kernel_source() + text(CL_DEVICE_NAME) +
                                     text(CL_DEVICE_VERSION) + text(CL_DRIVER_VERSION)) +
                           ".bin";
  if (!folder.empty()) program_ = built_from_file(path);
  if (program_ != nullptr) return;
  cl_int status = CL_SUCCESS;
  const char* source = kernel_source().c_str();
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
  program_ = program;
  if (!folder.empty()) write_file(path);
}

cl_kernel Instance::kernel_named(const char* name) {
  cl_kernel& kernel = kernels_[name];
  if (kernel != nullptr) return kernel;
  if (program_ == nullptr) build();
  cl_int status = CL_SUCCESS;
  kernel = clCreateKernel(program_, name, &status);
  check(status, "clCreateKernel");
  return kernel;
}

// ---- all devices ----

Runtime::Runtime() {
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
}

Runtime& runtime() {
  static auto* const all = new Runtime;
  return *all;
}

void* Runtime::allocate(int64_t index, int64_t bytes) {
  void* const data =
      clSVMAlloc(at(index).context(), CL_MEM_READ_WRITE, static_cast<size_t>(bytes), 0);
  if (data != nullptr) return data;
  throw tenon::MemoryError("opencl:" + std::to_string(index) + " has no memory for " +
                           std::to_string(bytes) + " bytes");
}

// Behind what is queued, which may use it.
void Runtime::free(int64_t index, void* data, int64_t) noexcept {
  clEnqueueSVMFree(at(index).queue(), 1, &data, nullptr, nullptr, 0, nullptr, nullptr);
}

void Runtime::upload(int64_t index, void* to, const void* from, int64_t bytes) {
  check(clEnqueueSVMMemcpy(at(index).queue(), CL_TRUE, to, from, static_cast<size_t>(bytes), 0,
                           nullptr, nullptr),
        "clEnqueueSVMMemcpy");
}

void Runtime::download(int64_t index, void* to, const void* from, int64_t bytes) {
  check(clEnqueueSVMMemcpy(at(index).queue(), CL_TRUE, to, from, static_cast<size_t>(bytes), 0,
                           nullptr, nullptr),
        "clEnqueueSVMMemcpy");
}

void Runtime::map(int64_t index, void* data, int64_t bytes) {
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

void Runtime::unmap(int64_t index, void* data, int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = maps_.find(data);
  if (found == maps_.end() || --found->second > 0) return;
  maps_.erase(found);
  clEnqueueSVMUnmap(at(index).queue(), data, 0, nullptr, nullptr);
}

void Runtime::synchronize(int64_t index) { check(clFinish(at(index).queue()), "clFinish"); }

// ---- operands of kernels ----

bool is_simple(const tenon::Tensor& tensor) {
  return tensor.defined() && tenon::is<OpenclTensor>(tensor) && tensor.dtype() == tenon::f32 &&
         tensor.is_contiguous();
}

size_t loop_items(int64_t count) {
  constexpr int64_t kMost = 1024;  // groups
  const int64_t groups = (count + int64_t{kLoopGroup} - 1) / int64_t{kLoopGroup};
  return static_cast<size_t>(std::clamp<int64_t>(groups, 1, kMost)) * kLoopGroup;
}

}  // namespace tenon_opencl
