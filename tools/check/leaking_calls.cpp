// Memory that grows with every call.
#include "leaking_calls.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

#include <tenon/autograd.hpp>
#include <tenon/graph.hpp>
#include <tenon/runtime.hpp>

#include "format.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr int kCalls = 12;
// The least size of a leak: the smallest piece of malloc takes 32 bytes for each call. Less is a
// table that grows.
constexpr int64_t kLeast = int64_t{24} * kCalls;

void call_alone(const SampleCall& call, const std::vector<Tensor>&) {
  const tenon::NoGrad off;
  call(copied(call.tensors));
}

void call_recorded(const SampleCall& call, const std::vector<Tensor>& parameters, bool backward) {
  std::vector<Tensor> given = copied(call.tensors), leaves = parameters, roots;
  for (size_t t = 0; t < given.size(); ++t) {
    if (!call.places[t].requires_grad) continue;
    given[t].requires_grad_();
    leaves.push_back(given[t]);
  }
  const std::vector<Tensor> results = readable(tensors_of(call(given)));
  if (!backward) return;
  tenon::GradientOptions options;
  for (const Tensor& result : results) {
    if (!result.defined() || !result.requires_grad()) continue;
    roots.push_back(result);
    options.seeds.push_back(tenon::empty_tensor(result.shape(), result.dtype()));
    tenon::fill_elements(options.seeds.back(), 1);
  }
  options.allow_unused = true;
  if (!roots.empty() && !leaves.empty()) tenon::gradients(roots, leaves, options);
}

void call_empty(const SampleCall& call, const std::vector<Tensor>&) {
  std::vector<Tensor> empty;
  for (const Tensor& tensor : call.tensors)
    empty.push_back(tensor.defined() ? tenon::empty_tensor({0}, tensor.dtype()) : tensor);
  call(empty);
}

// Arguments that many ops refuse: what a call has allocated by then has to go, too.
void call_refused(const SampleCall& call, const std::vector<Tensor>&) {
  for (const tenon::DType dtype : {tenon::boolean, tenon::c128}) {
    std::vector<Tensor> given;
    for (const Tensor& tensor : call.tensors) {
      given.push_back(tensor.defined() ? tenon::empty_tensor(tensor.shape(), dtype) : tensor);
      if (tensor.defined()) tenon::fill_elements(given.back(), 1);
    }
    try {
      call(given);
    } catch (const tenon::Error&) {
    }
  }
}

void call_strided(const SampleCall& call, const std::vector<Tensor>&) {
  std::vector<Tensor> given;
  for (const Tensor& tensor : in_single(call.tensors))
    given.push_back(tensor.defined() ? kLayouts[0].make(tensor) : tensor);
  const tenon::NoGrad off;
  call(given);
}

void call_dual(const SampleCall& call, const std::vector<Tensor>&) {
  const tenon::DualLevel level;
  std::vector<Tensor> given = copied(call.tensors);
  for (size_t t = 0; t < given.size(); ++t) {
    if (call.places[t].requires_grad) given[t] = tenon::make_dual(given[t], copied(given[t]));
  }
  call(given);
}

struct Use {
  int64_t allocated = 0, mapped = 0;
};
Use used_bytes() {
  tenon::service::values().release_cached_memory(-1);
  int64_t small = 0, kept = 0;
  tenon::service::values().memory_in_use(&small, &kept);
  // The counter of the address and thread sanitizers, where one is in the process: their allocator
  // has no figures for mallinfo2, and keeps what was freed, so that mapped memory grows.
  static const auto sanitizer_bytes = reinterpret_cast<size_t (*)()>(
      dlsym(RTLD_DEFAULT, "__sanitizer_get_current_allocated_bytes"));
  if (sanitizer_bytes != nullptr) return {static_cast<int64_t>(sanitizer_bytes()) + small, 0};
  const struct mallinfo2 info = mallinfo2();
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return {static_cast<int64_t>(info.uordblks + info.hblkhd) + small, pages * sysconf(_SC_PAGESIZE)};
}

// Bytes by which `kCalls` calls let the process grow; the least of several rounds, since tables
// grow now and then. Of mapped memory at least a page for each call counts: less is the allocator's.
int64_t growth(const std::function<void()>& once) {
  const auto round = [&] {
    for (int i = 0; i < kCalls; ++i) {
      try {
        once();
      } catch (const tenon::Error&) {
      }
    }
  };
  round();
  Use least{INT64_MAX, INT64_MAX}, before = used_bytes();
  for (int i = 0; i < 6 && (least.allocated > 0 || least.mapped > 0); ++i) {
    round();
    const Use now = used_bytes();
    least.allocated = std::min(least.allocated, now.allocated - before.allocated);
    least.mapped = std::min(least.mapped, now.mapped - before.mapped);
    before = now;
  }
  const bool maps = least.mapped >= kCalls * sysconf(_SC_PAGESIZE);
  return std::max(least.allocated, maps ? least.mapped : 0);
}

}  // namespace

const Usage kWithoutGradients{"without gradients", call_alone};
const Usage kDroppedGraph{"whose result is dropped before backward",
                          [](const SampleCall& call, const std::vector<Tensor>& parameters) {
                            call_recorded(call, parameters, false);
                          }};
const Usage kWithBackward{"with its backward",
                          [](const SampleCall& call, const std::vector<Tensor>& parameters) {
                            call_recorded(call, parameters, true);
                          }};
const Usage kEmptyTensors{"with empty tensors", call_empty};
const Usage kRefusedDtypes{"with tensors of bool and c128", call_refused};
const Usage kStridedSingles{"with other strides, in f32,", call_strided};
const Usage kForwardMode{"with tangents", call_dual};

std::string leak_of(const SampleCall& call, const std::vector<Tensor>& parameters,
                    const std::vector<Usage>& usages) {
  for (const Usage& usage : usages) {
    const int64_t bytes = growth([&] { usage.call(call, parameters); });
    if (bytes >= kLeast)
      return format_text("{} calls {} leave {} bytes behind each", kCalls, usage.name,
                         bytes / kCalls);
  }
  return "";
}

std::string leak_of(const std::function<void()>& once, const char* name) {
  const int64_t bytes = growth(once);
  return bytes < kLeast
             ? ""
             : format_text("{} {} leave {} bytes behind each", kCalls, name, bytes / kCalls);
}

}  // namespace cli
