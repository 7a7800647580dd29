// Several threads that call with different inputs at once.
#include "calls_together.hpp"

#include <atomic>
#include <barrier>
#include <thread>

#include <tenon/graph.hpp>

#include "format.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// The results, and the gradients of their sum; none where the call has none.
struct Outcome {
  std::vector<Tensor> results, gradients;
};
Outcome run(const Caller& caller, bool differentiate) {
  Outcome outcome;
  std::vector<Tensor> given, leaves;
  for (size_t t = 0; t < caller.tensors.size(); ++t) {
    given.push_back(copied(caller.tensors[t]));
    if (!differentiate || !given[t].defined() || !caller.call.places[t].requires_grad) continue;
    given[t].requires_grad_();
    leaves.push_back(given[t]);
  }
  const std::vector<Tensor> results = readable(tensors_of(caller.call(given)));
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

// How a call beside others differs from the one alone; empty: not at all.
std::string compared(const Caller& caller, const Outcome& alone, bool differentiate) {
  const Outcome beside = run(caller, differentiate);
  std::string what = difference(alone.results, beside.results, kExact);
  if (!what.empty())
    return format_text("once alone and once beside other calls, the result{}", what);
  what = difference(alone.gradients, beside.gradients, kExact);
  if (!what.empty())
    return format_text("once alone and once beside other calls, the gradient{}", what);
  return "";
}

}  // namespace

std::string breach_together(size_t threads, int rounds,
                            const std::function<std::string(size_t)>& once) {
  std::string breach;
  std::atomic<bool> failed{false};
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int round = 0; round < rounds && !failed; ++round) {
        std::string what;
        try {
          what = once(i);
        } catch (const std::exception& error) {
          what = format_text("beside other calls it fails: {}", error.what());
        }
        if (!what.empty() && !failed.exchange(true)) breach = std::move(what);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  return breach;
}

std::string difference_together(const std::vector<Caller>& callers, int rounds,
                                bool differentiate) {
  std::vector<Outcome> alone;
  try {
    for (const Caller& caller : callers) alone.push_back(run(caller, differentiate));
  } catch (const tenon::Error&) {  // some inputs are refused
    return "";
  }
  return breach_together(callers.size(), rounds,
                         [&](size_t i) { return compared(callers[i], alone[i], differentiate); });
}

}  // namespace cli
