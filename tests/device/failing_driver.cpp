// A driver of OpenCL whose only device is found, and makes no context: loaded by the loader of drivers where
// a file of OCL_ICD_VENDORS names it.
#include <algorithm>
#include <cstring>
#include <string>

#include <CL/cl_icd.h>

struct _cl_platform_id {
  const cl_icd_dispatch* dispatch;
};
struct _cl_device_id {
  const cl_icd_dispatch* dispatch;
};

namespace {

cl_int give(const void* bytes, size_t count, size_t room, void* to, size_t* size) {
  if (size != nullptr) *size = count;
  if (to == nullptr) return CL_SUCCESS;
  if (room < count) return CL_INVALID_VALUE;
  std::memcpy(to, bytes, count);
  return CL_SUCCESS;
}
cl_int give(const std::string& text, size_t room, void* to, size_t* size) {
  return give(text.c_str(), text.size() + 1, room, to, size);
}

cl_int CL_API_CALL platform_info(cl_platform_id, cl_platform_info info, size_t room, void* to,
                                 size_t* size) {
  if (info == CL_PLATFORM_EXTENSIONS) return give("cl_khr_icd", room, to, size);
  if (info == CL_PLATFORM_ICD_SUFFIX_KHR) return give("FAIL", room, to, size);
  return give("OpenCL 3.0 of a driver that fails", room, to, size);
}

const cl_icd_dispatch& table();
cl_platform_id platform() {
  static _cl_platform_id only{&table()};
  return &only;
}
cl_device_id device() {
  static _cl_device_id only{&table()};
  return &only;
}

cl_int CL_API_CALL platforms(cl_uint room, cl_platform_id* to, cl_uint* count) {
  if (count != nullptr) *count = 1;
  if (to != nullptr && room > 0) *to = platform();
  return CL_SUCCESS;
}
cl_int CL_API_CALL devices(cl_platform_id, cl_device_type, cl_uint room, cl_device_id* to,
                           cl_uint* count) {
  if (count != nullptr) *count = 1;
  if (to != nullptr && room > 0) *to = device();
  return CL_SUCCESS;
}
cl_int CL_API_CALL device_info(cl_device_id, cl_device_info info, size_t room, void* to,
                               size_t* size) {
  if (info == CL_DEVICE_SVM_CAPABILITIES) {
    const cl_device_svm_capabilities shared = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
    return give(&shared, sizeof shared, room, to, size);
  }
  if (info == CL_DEVICE_NAME || info == CL_DEVICE_VERSION || info == CL_DRIVER_VERSION)
    return give("a card without power", room, to, size);
  const cl_ulong one = 1;
  return give(&one, std::min(sizeof one, room), room, to, size);
}
cl_context CL_API_CALL no_context(const cl_context_properties*, cl_uint, const cl_device_id*,
                                  void(CL_CALLBACK*)(const char*, const void*, size_t, void*),
                                  void*, cl_int* status) {
  *status = CL_DEVICE_NOT_AVAILABLE;
  return nullptr;
}

const cl_icd_dispatch& table() {
  static const cl_icd_dispatch filled = [] {
    cl_icd_dispatch made{};
    made.clGetPlatformIDs = platforms;
    made.clGetPlatformInfo = platform_info;
    made.clGetDeviceIDs = devices;
    made.clGetDeviceInfo = device_info;
    made.clCreateContext = no_context;
    return made;
  }();
  return filled;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void* CL_API_CALL
clGetExtensionFunctionAddress(const char* name) {
  const std::string asked = name;
  if (asked == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(platforms);
  if (asked == "clGetPlatformInfo") return reinterpret_cast<void*>(platform_info);
  return nullptr;
}
