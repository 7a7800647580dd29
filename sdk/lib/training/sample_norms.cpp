// Norms of the gradients of single samples.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/module_watch.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/training/sample_norms.hpp>
#include <tenon/transforms/checkpoint.hpp>
#include <tenon/transforms/functional_call.hpp>
#include <tenon/transforms/grad.hpp>
#include <tenon/transforms/vmap.hpp>

#include "lib/base/format.hpp"
#include "samples_on.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

using transforms::Parameters;

// ---- samples that depend on each other ----

// Outputs of a layer for the first sample of a batch.
struct FirstOutput {
  std::string layer, type;
  std::vector<Tensor> outputs;
};

// Outputs of all layers in the order in which they end: inner ones before the layer that calls them.
class FirstOutputs : public ModuleWatch {
 public:
  FirstOutputs(const Module& model, int64_t count) : count_(count) {
    for (const auto& [name, module] : model.named_modules()) names_.emplace(module.number(), name);
  }
  void ended(const Module& module, const HookValues& results) override {
    const auto name = names_.find(module.number());
    if (name == names_.end()) return;
    FirstOutput first{name->second, module.type(), {}};
    for (int64_t i = 0; i < results.size(); ++i) {
      const tenon_value value = results[i].value();
      if (value.tag != TENON_VALUE_TENSOR) continue;
      const Tensor tensor = Tensor::borrow(value.as.tensor);
      if (tensor.dim() > 0 && tensor.size(0) == count_ && is_floating(tensor.dtype()))
        first.outputs.push_back(select(tensor, 0, 0).clone());
    }
    found.push_back(std::move(first));
  }

  std::vector<FirstOutput> found;

 private:
  const int64_t count_;
  std::unordered_map<uint64_t, std::string> names_;  // by number
};

// Draws begin at `start`.
std::vector<FirstOutput> first_outputs(const Module& model, const Tensor& inputs,
                                       const Draws& start) {
  FirstOutputs outputs(model, inputs.size(0));
  const ModuleWatchScope watching(outputs);
  set_generator_state(start);
  model(inputs);
  return std::move(outputs.found);
}

// More than rounding.
bool differ(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return true;
  if (a.numel() == 0) return false;
  const double scale = amax(abs(a)).item();
  return amax(abs(a - b)).item() > 1e-4 * scale;
}

bool differ(const FirstOutput& a, const FirstOutput& b) {
  if (a.outputs.size() != b.outputs.size()) return true;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (differ(a.outputs[i], b.outputs[i])) return true;
  }
  return false;
}

// ---- gradients ----

Parameters trainable(const Module& model) {
  Parameters found = transforms::parameters_of(model);
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (parameter.defined() && !parameter.requires_grad()) found.erase(name);
  }
  if (found.empty())
    throw ValueError(lib::format_text(
        "norms of gradients: {} has no parameter that requires grad; unfreeze some of them",
        model.type()));
  return found;
}

// Samples whose gradients take about so much memory.
int64_t chunk_of(const Parameters& parameters) {
  constexpr int64_t most_bytes = int64_t{256} << 20, most_samples = 256;
  int64_t bytes = 1;
  for (const auto& [name, parameter] : parameters)
    bytes += parameter.numel() * element_size(parameter.dtype());
  return std::clamp<int64_t>(most_bytes / bytes, 1, most_samples);
}

}  // namespace

void require_independent_samples(const Module& model, const Samples& samples) {
  const int64_t count = std::min<int64_t>(samples.count(), 4);
  if (count < 2) return;
  const NoGrad no_grad;
  const transforms::recompute::KeptBuffers kept(model);
  const Draws draws = generator_state();
  const Tensor some =
      device::to(narrow(samples.inputs, 0, 0, count), device::Device(device::name_of(model)));
  // The first sample among others, and among copies of it.
  std::vector<int64_t> size = some.sizes();
  const Tensor copies = narrow(some, 0, 0, 1).expand(size).clone();
  const std::vector<FirstOutput> among = first_outputs(model, some, draws);
  const std::vector<FirstOutput> alone = first_outputs(model, copies, draws);
  set_generator_state(draws);
  for (size_t i = 0; i < std::min(among.size(), alone.size()); ++i) {
    if (!differ(among[i], alone[i])) continue;
    const std::string where =
        among[i].layer.empty() ? among[i].type
                               : lib::format_text("layer '{}' ({})", among[i].layer, among[i].type);
    throw ValueError(lib::format_text(
        "norms of gradients: {} computes a sample from the others of its batch{}, so the "
        "gradient of a single sample does not exist; {}",
        where, model.training() ? " in training mode" : "",
        model.training() ? "evaluate the model instead, or choose a layer of single samples such "
                           "as GroupNorm"
                         : "choose a layer of single samples"));
  }
}

SampleNorms sample_norms(const Module& model, const Loss& loss, const Samples& given,
                         int64_t listed) {
  if (given.count() == 0) throw ValueError("norms of gradients: there are 0 samples; give some");
  require_independent_samples(model, given);
  const Samples samples = samples_on(device::Device(device::name_of(model)), given);
  const Parameters parameters = trainable(model);
  const auto loss_of = [&](const Parameters& own, const Tensor& input, const Tensor& label) {
    return loss(transforms::functional_call<Tensor>(model, own, unsqueeze(input, 0)),
                unsqueeze(label, 0));
  };
  const auto norm_of = [&](const Parameters& own, const Tensor& input, const Tensor& label) {
    Tensor total;
    for (const auto& [name, gradient] : transforms::grad(loss_of)(own, input, label)) {
      const Tensor squares = sum(square(gradient));
      total = total.defined() ? total + squares : squares;
    }
    return sqrt(total);
  };
  const auto norms_of =
      vmap(norm_of, {none, 0, 0}, 0, {transforms::Randomness::different, chunk_of(parameters)});
  const transforms::recompute::KeptBuffers kept(model);
  const std::vector<double> norms =
      norms_of(parameters, samples.inputs, samples.labels).detach().to(f64).to_vector<double>();

  // NaN is the largest.
  const auto size_of = [](double norm) { return std::isnan(norm) ? HUGE_VAL : norm; };
  std::vector<size_t> order(norms.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return size_of(norms[a]) > size_of(norms[b]); });
  const size_t half = order.size() / 2;
  SampleNorms found;
  found.count = samples.count();
  found.largest = norms[order.front()];
  found.least = norms[order.back()];
  found.median = order.size() % 2 == 1 ? norms[order[half]]
                                       : (norms[order[half - 1]] + norms[order[half]]) / 2;
  const auto shown = std::min(order.size(), static_cast<size_t>(std::max<int64_t>(listed, 0)));
  for (size_t i = 0; i < shown; ++i) {
    const auto at = static_cast<int64_t>(order[i]);
    const int64_t row =
        samples.rows.defined() ? static_cast<int64_t>(select(samples.rows, 0, at).item()) : at;
    found.most.push_back({row, norms[order[i]]});
  }
  return found;
}

}  // namespace training

TENON_NAMESPACE_END
