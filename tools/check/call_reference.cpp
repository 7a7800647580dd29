// The numbers that a call should give, from the same call in f64, and how far they move with its inputs.
#include "call_reference.hpp"

#include <algorithm>
#include <cmath>

namespace cli {

using tenon::Tensor;

static constexpr double kStep = 0x1p-20;

std::vector<Tensor> in_double(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> list;
  for (const Tensor& tensor : tensors) {
    const tenon::DType dtype = tensor.defined() ? tensor.dtype() : tenon::f64;
    const bool complex = tenon::is_complex(dtype);
    list.push_back(!tensor.defined() || !tenon::is_differentiable(dtype)
                       ? copied(tensor)
                       : converted(tensor, complex ? tenon::c128 : tenon::f64));
  }
  return list;
}
std::vector<Tensor> moved_by(const std::vector<Tensor>& tensors, uint64_t direction) {
  if (direction == 0) return tensors;
  std::vector<Tensor> list;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!tensors[t].defined() || !tenon::is_differentiable(tensors[t].dtype()) ||
        tensors[t].numel() == 0) {
      list.push_back(tensors[t]);
      continue;
    }
    std::vector<double> numbers = numbers_of(tensors[t]);
    uint64_t state = direction * 1000003 + t;
    for (double& number : numbers) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      number *= (state >> 63) != 0 ? 1 + kStep : 1 - kStep;
    }
    list.push_back(with_elements(tensors[t], numbers));
  }
  return list;
}
bool note_numbers(const std::vector<Tensor>& tensors, std::vector<ReferenceNumbers>& list) {
  if (tensors.size() != list.size()) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) continue;
    list[i].numbers = numbers_of(tensors[i]);
    list[i].spread.assign(list[i].numbers.size(), 0);
  }
  return true;
}
void note_spread(const std::vector<Tensor>& tensors, std::vector<ReferenceNumbers>& list) {
  if (tensors.size() != list.size()) return;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) continue;
    const std::vector<double> numbers = numbers_of(tensors[i]);
    if (numbers.size() != list[i].numbers.size()) continue;
    for (size_t k = 0; k < numbers.size(); ++k) {
      const double change = std::abs(numbers[k] - list[i].numbers[k]) / kStep;
      if (std::isfinite(change)) list[i].spread[k] = std::max(list[i].spread[k], change);
    }
  }
}

CallReference::CallReference(ProviderCall& call, size_t results, size_t gradients)
    : results_(results), gradients_(gradients) {
  std::vector<Tensor> inputs = in_double(call.inputs());
  std::vector<Tensor> seeds = in_double(call.seeds());
  const CallOutcome exact = call.run(inputs, &seeds);
  if (!note_numbers(exact.results, results_) || !note_numbers(exact.gradients, gradients_)) return;
  for (uint64_t direction = 1; direction <= kDirections; ++direction) {
    const std::vector<Tensor> moved = moved_by(inputs, direction),
                              moved_seeds = moved_by(seeds, direction + kDirections);
    const CallOutcome other = call.run(moved, &moved_seeds);
    note_spread(other.results, results_);
    note_spread(other.gradients, gradients_);
  }
}

}  // namespace cli
