// Stage "threads": several threads call with different inputs at once, and differentiate.
#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>

#include <tenon/graph.hpp>
#include <tenon/parallel.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr size_t kCallers = 4;
constexpr int kRounds = 12, kLargeRounds = 3;
constexpr int64_t kLarge = 6000;  // elements of the first tensor: parallel_for has chunks

// Of one thread: its inputs, and what a call alone returned for them.
struct Caller {
  SampleCall call;
  std::vector<Tensor> tensors, expected, gradients;
};

// The results, and the gradients of their sum; none where the op has none.
struct Outcome {
  std::vector<Tensor> results, gradients;
};
Outcome run(const SampleCall& call, const std::vector<Tensor>& tensors, bool differentiate) {
  Outcome outcome;
  std::vector<Tensor> given, leaves;
  for (size_t t = 0; t < tensors.size(); ++t) {
    given.push_back(copied(tensors[t]));
    if (!differentiate || !given[t].defined() || !call.places[t].requires_grad) continue;
    given[t].requires_grad_();
    leaves.push_back(given[t]);
  }
  const std::vector<Tensor> results = readable(tensors_of(call(given)));
  std::vector<Tensor> roots;
  tenon::GradientOptions options;
  for (const Tensor& result : results) {
    outcome.results.push_back(result.defined() ? copied(result.detach()) : result);
    if (!result.defined() || !result.requires_grad()) continue;
    roots.push_back(result);
    options.seeds.push_back(tenon::empty_tensor(result.shape(), result.dtype()));
    tenon::fill_elements(options.seeds.back(), 1);
  }
  options.allow_unused = true;
  if (!roots.empty() && !leaves.empty())
    outcome.gradients = tenon::gradients(roots, leaves, options);
  return outcome;
}

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

class Together {
 public:
  Together(OpCheck& check, const Sample& sample, bool large, bool differentiate)
      : check_(check),
        sample_(sample),
        rounds_(large ? kLargeRounds : kRounds),
        differentiate_(differentiate) {
    for (size_t i = 0; i < kCallers; ++i) {
      SampleCall call(check.op.name, sample, check.settings.seed + i);
      Caller caller{call, call.tensors, {}, {}};
      if (large) caller.tensors = enlarged(call);
      callers_.push_back(std::move(caller));
    }
  }

  void run_all() {
    try {
      for (Caller& caller : callers_) {
        Outcome alone = run(caller.call, caller.tensors, differentiate_);
        caller.expected = std::move(alone.results);
        caller.gradients = std::move(alone.gradients);
      }
    } catch (const tenon::Error&) {  // some inputs are refused
      return;
    }
    std::barrier start(static_cast<std::ptrdiff_t>(kCallers));
    std::vector<std::thread> threads;
    for (Caller& caller : callers_) {
      threads.emplace_back([this, &caller, &start] {
        start.arrive_and_wait();
        for (int round = 0; round < rounds_ && !failed_; ++round) compare(caller);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (!breach_.empty()) check_.find("threads", breach_, &sample_);
  }

 private:
  void compare(const Caller& caller) {
    std::string what;
    try {
      const Outcome found = run(caller.call, caller.tensors, differentiate_);
      what = difference(caller.expected, found.results, kExact);
      if (!what.empty())
        what = format_text("once alone and once beside other calls, the result{}", what);
      else if (const std::string gradient = difference(caller.gradients, found.gradients, kExact);
               !gradient.empty())
        what = format_text("once alone and once beside other calls, the gradient{}", gradient);
    } catch (const std::exception& error) {
      what = format_text("beside other calls it fails: {}", error.what());
    }
    if (what.empty() || failed_.exchange(true)) return;
    breach_ = what;
  }

  OpCheck& check_;
  const Sample& sample_;
  const int rounds_;
  const bool differentiate_;
  std::vector<Caller> callers_;
  std::atomic<bool> failed_{false};
  std::string breach_;
};

}  // namespace

void check_threads(OpCheck& check) {
  const Sample& sample = check.samples[0];
  if (check.random || !sample.deterministic || check.mutates(sample)) return;
  check.listener.trying(sample);
  const bool differentiate = check.op.differentiable != "none" && !check.op.zero_gradient;
  Together(check, sample, false, differentiate).run_all();
  const int32_t threads = tenon::thread_count();
  tenon::set_thread_count(2);
  if (check.found.empty()) Together(check, sample, true, false).run_all();
  tenon::set_thread_count(threads);
}

}  // namespace cli
