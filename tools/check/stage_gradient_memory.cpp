// Stage "gradient memory": the backward of operands and gradients between guard pages, read-only. It
// borrows both, so also a write that is undone is seen.
#include <algorithm>

#include "format.hpp"
#include "guarded_memory.hpp"
#include "op_check.hpp"
#include "recorded_call.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr size_t kMostGuarded = 12;

void report(OpCheck& check, const Sample& sample, const GuardedMemory::Breaches& breaches,
            const char* kind, const std::string& name) {
  if (breaches.outside)
    check.find(
        "out-of-bounds",
        format_text("the backward touches memory before the first or behind the last element "
                    "of {}",
                    name),
        &sample);
  if (breaches.written)
    check.find(
        kind,
        format_text("the backward writes to {}, which it borrows; it may have put the old value "
                    "back",
                    name),
        &sample);
}

// The tensors of a call, with guard pages around each; empty: not all of them can be.
std::vector<Tensor> guarded(GuardedMemory& memory, const std::vector<Tensor>& tensors,
                            GuardedMemory::Edge edge) {
  std::vector<Tensor> given;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || !has_data(tensor)) return {};
    given.push_back(memory.copy(tensor, edge));
  }
  return given;
}

void check_guarded(OpCheck& check, const Sample& sample, GuardedMemory::Edge edge) {
  const SampleCall call = check.call_of(sample);
  const size_t count = call.tensors.size();
  size_t seeds = 0;
  GuardedMemory memory;
  {
    const std::vector<Tensor> given = guarded(memory, call.tensors, edge);
    if (given.empty()) return;
    const RecordedCall graph(call, given);
    if (graph.roots().empty() || count + graph.roots().size() > kMostGuarded) return;
    const std::vector<Tensor> lent = guarded(memory, graph.seeds(), edge);
    seeds = lent.size();
    for (size_t i = 0; i < count + seeds; ++i) memory.protect(i);
    try {
      graph.gradients(lent);
    } catch (const tenon::Error&) {  // as stages before have seen
    }
  }
  for (size_t t = 0; t < count; ++t)
    report(check, sample, memory.breaches(t), "changed-input",
           format_text("the argument '{}'", sample.values[call.places[t].value].name));
  for (size_t s = 0; s < seeds; ++s)
    report(check, sample, memory.breaches(count + s), "changed-gradient",
           format_text("the gradient of result {}", s));
}

}  // namespace

void check_gradient_memory(OpCheck& check) {
  size_t left = kMostSamples;
  for (const Sample& sample : check.samples) {
    if (!sample.gradcheck.check_backward_ad || check.mutates(sample) || left == 0) continue;
    --left;
    check.listener.trying(sample);
    for (const auto edge : {GuardedMemory::Edge::end, GuardedMemory::Edge::begin}) {
      try {
        check_guarded(check, sample, edge);
      } catch (const tenon::Error& error) {
        check.find_failing_rule("failing-gradient", error, sample);
      }
    }
  }
}

}  // namespace cli
