#include "opencl/faults.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace tenon_opencl {

namespace {

constexpr size_t kMost = 256;  // calls that are watched at a time

// As a kernel writes it, one for each code.
struct Found {
  cl_int is_found, unused;
  cl_long index;
};

}  // namespace

Faults::Watch::Watch(Instance& device, const tenon::Call& call, std::string message)
    : faults_(device.faults()), code_(faults_.add(call, std::move(message))) {}

Faults::Watch::~Watch() {
  const std::lock_guard lock(faults_.mutex_);
  faults_.watched_[static_cast<size_t>(code_)]->is_queued = true;
}

Memory Faults::Watch::memory() const { return {faults_.memory_}; }

cl_int Faults::add(const tenon::Call& call, std::string message) {
  tenon::device::CallRecord record(call);
  for (;; std::this_thread::yield()) {
    const std::lock_guard lock(mutex_);
    if (memory_ == nullptr) {
      constexpr size_t bytes = kMost * sizeof(Found);
      memory_ = clSVMAlloc(device_.context(), CL_MEM_READ_WRITE, bytes, 0);
      if (memory_ == nullptr) throw tenon::MemoryError("OpenCL: no memory for faults of kernels");
      const cl_int none = 0;
      tenon_opencl::check(clEnqueueSVMMemFill(device_.queue(), memory_, &none, sizeof none, bytes,
                                              0, nullptr, nullptr),
                          "clEnqueueSVMMemFill");
      watched_.resize(kMost);
    }
    auto place = std::find(watched_.begin(), watched_.end(), std::nullopt);
    if (place == watched_.end()) {
      collect();
      place = std::find(watched_.begin(), watched_.end(), std::nullopt);
    }
    if (place == watched_.end()) continue;  // the kernels of all are about to be queued
    place->emplace(Watched{calls_++, std::move(record), std::move(message)});
    return static_cast<cl_int>(place - watched_.begin());
  }
}

// Kernels that are queued now come before the copy; those of other calls stay watched.
void Faults::collect() {
  std::vector<size_t> ended;
  for (size_t i = 0; i < watched_.size(); ++i)
    if (watched_[i] && watched_[i]->is_queued) ended.push_back(i);
  if (ended.empty()) return;
  std::vector<Found> all(ended.back() + 1);
  tenon_opencl::check(clEnqueueSVMMemcpy(device_.queue(), CL_TRUE, all.data(), memory_,
                                         all.size() * sizeof(Found), 0, nullptr, nullptr),
                      "clEnqueueSVMMemcpy");
  std::sort(ended.begin(), ended.end(),
            [&](size_t a, size_t b) { return watched_[a]->number < watched_[b]->number; });
  for (const size_t i : ended) {
    if (all[i].is_found != 0) {
      std::string message = watched_[i]->message;
      if (const size_t place = message.find("{}"); place != std::string::npos)
        message.replace(place, 2, std::to_string(all[i].index));
      found_.push_back(std::make_shared<const tenon::device::Failure>(
          watched_[i]->call, device_.name(), tenon::IndexError(message)));
      const cl_int none = 0;
      tenon_opencl::check(
          clEnqueueSVMMemFill(device_.queue(), static_cast<Found*>(memory_) + i, &none, sizeof none,
                              sizeof(Found), 0, nullptr, nullptr),
          "clEnqueueSVMMemFill");
    }
    watched_[i].reset();
  }
}

void Faults::check() {
  std::shared_ptr<const tenon::device::Failure> first;
  {
    const std::lock_guard lock(mutex_);
    if (calls_ == 0) return;
    collect();
    if (found_.empty()) return;
    first = found_.front();
    found_.pop_front();
  }
  first->raise();
}

}  // namespace tenon_opencl
