#include "lifetimes.hpp"

#include <set>

namespace onnx {

namespace {

using Slots = std::set<uint32_t>;

void add_reads(const std::vector<Source>& sources, Slots& slots) {
  for (const Source& source : sources) {
    if (source.kind == Source::Kind::frame) slots.insert(source.index);
  }
}

Slots reads_of(const Step& step) {
  Slots slots;
  add_reads(step.inputs, slots);
  for (const StepArgument& argument : step.arguments) add_reads(argument.sources, slots);
  for (const std::unique_ptr<Body>& body : step.bodies) {
    add_reads(body->outputs, slots);
    for (const Step& inner : body->steps) slots.merge(reads_of(inner));
  }
  return slots;
}

// The slots that a body's own steps and inputs fill.
Slots own_slots(const Body& body) {
  Slots slots(body.inputs.begin(), body.inputs.end());
  for (const Step& step : body.steps) {
    for (const int64_t result : step.results) {
      if (result >= 0) slots.insert(static_cast<uint32_t>(result));
    }
  }
  return slots;
}

}  // namespace

void set_releases(Body& body) {
  const Slots own = own_slots(body);
  Slots later;
  add_reads(body.outputs, later);
  for (auto step = body.steps.rbegin(); step != body.steps.rend(); ++step) {
    Slots used = reads_of(*step);
    for (const int64_t result : step->results) {
      if (result >= 0) used.insert(static_cast<uint32_t>(result));
    }
    for (const uint32_t slot : used) {
      if (own.count(slot) != 0 && later.insert(slot).second) step->released.push_back(slot);
    }
    for (const std::unique_ptr<Body>& inner : step->bodies) set_releases(*inner);
  }
}

}  // namespace onnx
