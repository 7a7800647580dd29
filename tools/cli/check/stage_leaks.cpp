// Stage "leaks": memory that grows with every call.
#include <array>
#include <malloc.h>

#include <tenon/graph.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr int kCalls = 12;

void call_alone(const SampleCall& call) { call(copied(call.tensors)); }

void call_forward(const SampleCall& call, bool backward) {
  std::vector<Tensor> given = copied(call.tensors), leaves, roots;
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

void call_refused(const SampleCall& call) {
  std::vector<Tensor> empty;
  for (const Tensor& tensor : call.tensors)
    empty.push_back(tensor.defined() ? tenon::empty_tensor({0}, tensor.dtype()) : tensor);
  call(empty);
}

struct Usage {
  const char* name;  // "with recording off"
  bool gradients;    // only of ops that have them
  void (*call)(const SampleCall&);
};
constexpr std::array kUsages{
    Usage{"without gradients", false, call_alone},
    Usage{"whose result is dropped before backward", true,
          [](const SampleCall& call) { call_forward(call, false); }},
    Usage{"with its backward", true, [](const SampleCall& call) { call_forward(call, true); }},
    Usage{"with empty tensors", false, call_refused},
};

int64_t used_bytes() {
  tenon::host().memory_release_cached(-1);
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Bytes by which `kCalls` calls let the process grow; the least of several rounds, since tables
// grow now and then.
int64_t growth(const SampleCall& call, const Usage& usage) {
  const auto round = [&] {
    for (int i = 0; i < kCalls; ++i) {
      try {
        usage.call(call);
      } catch (const tenon::Error&) {
      }
    }
  };
  round();
  int64_t least = INT64_MAX, before = used_bytes();
  for (int i = 0; i < 6 && least > 0; ++i) {
    round();
    const int64_t now = used_bytes();
    least = std::min(least, now - before);
    before = now;
  }
  return least;
}

}  // namespace

void check_leaks(OpCheck& check) {
  const Sample& sample = check.samples[0];
  if (!sample.leaks) return;
  check.listener.trying(sample);
  const bool gradients = check.op.differentiable != "none";
  for (const Usage& usage : kUsages) {
    if (usage.gradients && !gradients) continue;
    const SampleCall call = check.call_of(sample);
    const int64_t bytes = growth(call, usage);
    if (bytes < int64_t{8} * kCalls) continue;
    check.find(
        "leak",
        format_text("{} calls {} leave {} bytes behind each", kCalls, usage.name, bytes / kCalls),
        &sample);
    return;
  }
}

}  // namespace cli
