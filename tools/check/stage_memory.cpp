// Stage "memory": operands between guard pages, read-only where the schema says that they are only
// read; two calls whose fresh memory holds other bytes.
#include <malloc.h>

#include "format.hpp"
#include "guarded_memory.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr size_t kMostGuarded = 12;

void report(OpCheck& check, const Sample& sample, const GuardedMemory& memory, size_t index,
            const std::string& name) {
  const GuardedMemory::Breaches breaches = memory.breaches(index);
  if (breaches.outside)
    check.find("out-of-bounds",
               format_text("the call touches memory before the first or behind the last element of "
                           "'{}'",
                           name),
               &sample);
  if (breaches.written)
    check.find(
        "undeclared-mutation",
        format_text("the call writes to its argument '{}', which the schema declares as only "
                    "read; it may have put the old value back",
                    name),
        &sample);
}

// Whether the operands may be read-only: nothing declares to change them.
bool is_only_read(const OpCheck& check, const Sample& sample, const SampleCall& call, size_t t) {
  const DeclaredType& type = check.parameter_of(sample, call.places[t].value);
  return !type.mutates && check.mutated.count(type.name) == 0;
}

void check_guarded(OpCheck& check, const Sample& sample, GuardedMemory::Edge edge, int64_t gap,
                   bool single) {
  const SampleCall call = check.call_of(sample);
  const std::vector<Tensor> tensors = single ? in_single(call.tensors) : call.tensors;
  if (tensors.empty() || tensors.size() > kMostGuarded) return;
  GuardedMemory memory;
  {
    std::vector<Tensor> given;
    for (const Tensor& tensor : tensors) {
      if (!tensor.defined() || !has_data(tensor)) return;
      given.push_back(memory.copy(tensor, edge, gap));
    }
    for (size_t t = 0; t < given.size(); ++t) {
      if (is_only_read(check, sample, call, t)) memory.protect(t);
    }
    try {
      call(given);
    } catch (const tenon::Error&) {  // as stages before have seen
    }
  }
  for (size_t t = 0; t < tensors.size(); ++t)
    report(check, sample, memory, t, sample.values[call.places[t].value].name);
}

void check_out(OpCheck& check, const Sample& sample, const DeclaredType& parameter) {
  const SampleCall call = check.call_of(sample);
  const auto expected = check.attempt(sample, call, call.tensors);
  if (!expected || expected->size() != 1 || !(*expected)[0].tensor.defined() ||
      !has_data((*expected)[0].tensor))
    return;
  for (const auto edge : {GuardedMemory::Edge::end, GuardedMemory::Edge::begin}) {
    GuardedMemory memory;
    try {
      const SampleCall again = check.call_of(sample);
      again.with(parameter.name, memory.copy((*expected)[0].tensor, edge));
    } catch (const tenon::Error&) {
    }
    report(check, sample, memory, 0, parameter.name);
  }
}

// Memory that the op does not fill has what was there before.
void check_uninitialized(OpCheck& check, const Sample& sample) {
  const SampleCall call = check.call_of(sample);
  std::optional<std::vector<Piece>> first;
  for (const int byte : {0x11, 0x6e}) {
    // Blocks that the allocator keeps are returned: the next ones are filled by malloc.
    tenon::service::values().release_cached_memory(-1);
    mallopt(M_PERTURB, byte);
    const SampleCall again = check.call_of(sample);
    auto results = check.attempt(sample, again, again.tensors);
    mallopt(M_PERTURB, 0);
    if (!results) return;
    if (!first) {
      first = std::move(results);
      continue;
    }
    const std::string what = difference(*first, *results, kExact);
    if (!what.empty())
      check.find("uninitialized",
                 format_text("in two calls whose new memory holds other bytes before, {}", what),
                 &sample);
  }
}

}  // namespace

void check_memory(OpCheck& check) {
  for (const Sample& sample : check.samples) {
    check.listener.trying(sample);
    for (const auto edge : {GuardedMemory::Edge::end, GuardedMemory::Edge::begin})
      check_guarded(check, sample, edge, 0, false);
    if (sample.precision) check_guarded(check, sample, GuardedMemory::Edge::end, 0, true);
    if (sample.layouts) check_guarded(check, sample, GuardedMemory::Edge::end, 3, false);
    for (const DeclaredType& type : check.op.parameters) {
      if (type.is_out()) check_out(check, sample, type);
    }
    if (!check.random && sample.deterministic) check_uninitialized(check, sample);
  }
}

}  // namespace cli
