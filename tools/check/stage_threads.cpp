// Stage "threads": several threads call with different inputs at once, and differentiate.
#include <tenon/parallel.hpp>

#include "calls_together.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr int kRounds = 12, kLargeRounds = 3;
constexpr int64_t kLarge = 6000;  // elements of the first tensor: parallel_for has chunks

// Larger inputs where the op takes them, so that its parallel_for has chunks.
std::vector<Tensor> enlarged(const SampleCall& call) {
  const int64_t elements = call.tensors.empty() ? 0 : call.tensors[0].numel();
  if (elements == 0) return call.tensors;
  for (const Tensor& tensor : call.tensors) {
    if (!tensor.defined() || tensor.dim() == 0) return call.tensors;
  }
  const auto copies = [&](int64_t count) {
    std::vector<Tensor> large;
    for (const Tensor& tensor : call.tensors) large.push_back(tiled(tensor, 0, count));
    return large;
  };
  const auto result_elements = [&](int64_t count) {
    int64_t sum = 0;
    for (const Tensor& result : tensors_of(call(copies(count))))
      sum += result.defined() ? result.numel() : 0;
    return sum;
  };
  try {
    // Results that grow faster than their inputs would need all memory.
    constexpr int64_t few = 8;
    if (result_elements(few) > 2 * few * result_elements(1)) return call.tensors;
    std::vector<Tensor> large = copies(kLarge / elements + 1);
    call(copied(large));
    return large;
  } catch (const tenon::Error&) {
    return call.tensors;
  }
}

void call_together(OpCheck& check, const Sample& sample, bool large, bool differentiate) {
  std::vector<Caller> callers;
  for (size_t i = 0; i < kCallers; ++i) {
    const SampleCall call(check.op.name, sample, check.settings.seed + i);
    callers.push_back({call, large ? enlarged(call) : call.tensors});
  }
  const std::string breach =
      difference_together(callers, large ? kLargeRounds : kRounds, differentiate);
  if (!breach.empty()) check.find("threads", breach, &sample);
}

}  // namespace

void check_threads(OpCheck& check) {
  const Sample& sample = check.samples[0];
  if (check.random || !sample.deterministic || check.mutates(sample)) return;
  check.listener.trying(sample);
  const bool differentiate = check.op.differentiable != "none" && !check.op.zero_gradient;
  call_together(check, sample, false, differentiate);
  const int32_t threads = tenon::thread_count();
  tenon::set_thread_count(2);
  if (check.found.empty()) call_together(check, sample, true, false);
  tenon::set_thread_count(threads);
}

}  // namespace cli
