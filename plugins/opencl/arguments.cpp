#include "opencl/arguments.hpp"

#include <cstring>
#include <string>

#include <tenon/error.hpp>

namespace tenon_opencl {

void check(cl_int status, const char* function) {
  if (status == CL_SUCCESS) return;
  const std::string what =
      std::string("OpenCL: ") + function + " failed with code " + std::to_string(status);
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
      status == CL_OUT_OF_HOST_MEMORY)
    throw tenon::MemoryError(what + ": there is not enough memory");
  throw tenon::RuntimeError(what);
}

QueuedKernel::Given* QueuedKernel::changed(cl_uint place, const Bytes& bytes) {
  if (arguments_.size() <= place) arguments_.resize(place + 1);
  Given& known = arguments_[place];
  if (known.size() == bytes.size && std::memcmp(known.data(), bytes.data, bytes.size) == 0)
    return nullptr;
  known.clear();
  return &known;
}

void QueuedKernel::set(cl_uint place, const Memory& memory) {
  const auto* first = reinterpret_cast<const unsigned char*>(&memory.data);
  Given* const given = changed(place, {first, sizeof memory.data});
  if (given == nullptr) return;
  check(clSetKernelArgSVMPointer(kernel_, place, memory.data), "clSetKernelArgSVMPointer");
  given->assign(first, first + sizeof memory.data);
}

void QueuedKernel::set(cl_uint place, const Bytes& bytes) {
  Given* const given = changed(place, bytes);
  if (given == nullptr) return;
  check(clSetKernelArg(kernel_, place, bytes.size, bytes.data), "clSetKernelArg");
  const auto* first = static_cast<const unsigned char*>(bytes.data);
  given->assign(first, first + bytes.size);
}

}  // namespace tenon_opencl
