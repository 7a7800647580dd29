// Memory of the tensors that a model keeps for its backward.
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_set>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/module_hooks.hpp>
#include <tenon/parallel.hpp>
#include <tenon/saved_tensors.hpp>
#include <tenon/training/backward_memory.hpp>
#include <tenon/transforms/checkpoint.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// Tensors that one region keeps: the model, or a layer that is computed again.
struct Region {
  int64_t own = 0;     // bytes outside of the regions inside
  int64_t inputs = 0;  // bytes of what its first run got
  std::vector<size_t> inner;
};

// Saved tensors of a call, by region.
class SavedCounter {
 public:
  explicit SavedCounter(const Module& model) : regions_(1) {
    for (const Tensor& tensor : model.parameters()) exclude(tensor);
    for (const Tensor& tensor : model.buffers()) exclude(tensor);
    for (const auto& [name, module] : model.named_modules()) {
      hooks_.push_back(module.register_forward_pre_hook(
          [this](const Module&, HookValues&) {
            begun_.push_back(transforms::recompute::count_begun());
          },
          {true, false}));
      hooks_.push_back(module.register_forward_pre_hook(
          [this, layer = name](const Module&, HookValues& inputs) { enter(layer, inputs); }));
      hooks_.push_back(module.register_forward_hook(
          [this](const Module&, const HookValues&, HookValues&) { leave(); }, {true, false}));
    }
    scopes_.push_back(open(0));
  }
  ~SavedCounter() {
    while (!scopes_.empty()) scopes_.pop_back();
    for (const Hook& hook : hooks_) hook.remove();
  }
  SavedCounter(const SavedCounter&) = delete;
  SavedCounter& operator=(const SavedCounter&) = delete;

  void exclude(const Tensor& tensor) {
    if (tensor.defined()) excluded_.insert(tensor.view_record().data);
  }
  BackwardMemory memory() const { return {peak(0), total_, layers_}; }

 private:
  static Tensor same(const Tensor& tensor) { return tensor; }
  std::shared_ptr<void> open(size_t region) {
    const auto pack = [this, region](const Tensor& tensor) {
      regions_[region].own += bytes_of(tensor, region, true);
      return tensor;
    };
    return std::make_shared<SavedTensorsHooks<decltype(pack), Tensor (*)(const Tensor&)>>(pack,
                                                                                          same);
  }
  // Bytes of memory that the region has not counted. It stays alive until the count ends. A second run makes
  // results again, so that regions count apart.
  int64_t bytes_of(const Tensor& tensor, size_t region, bool saved) {
    const int64_t bytes = tensor.numel() * element_size(tensor.dtype());
    const void* const data = tensor.view_record().data;
    if (excluded_.count(data) != 0) return 0;
    kept_.push_back(tensor);
    if (saved && (all_.insert(data).second || data == nullptr)) total_ += bytes;
    return seen_.emplace(region, data).second || data == nullptr ? bytes : 0;
  }

  // A layer that has begun to drop what is saved is a region, whose scope comes before its own.
  void enter(const std::string& layer, const HookValues& inputs) {
    const bool again = transforms::recompute::count_begun() != begun_.back();
    begun_.back() = again ? 1 : 0;
    if (!again) return;
    const size_t region = regions_.size();
    regions_.emplace_back();
    for (int64_t i = 0; i < inputs.size(); ++i) {
      const tenon_value value = inputs[i].value();
      if (value.tag != TENON_VALUE_TENSOR) continue;
      const Tensor input = Tensor::borrow(value.as.tensor);
      regions_[region].inputs += bytes_of(input, running_.back(), false);
      seen_.emplace(region, input.view_record().data);
    }
    regions_[running_.back()].inner.push_back(region);
    running_.push_back(region);
    scopes_.push_back(open(region));
    layers_.push_back(layer);
  }
  void leave() {
    const bool again = begun_.back() != 0;
    begun_.pop_back();
    if (!again) return;
    scopes_.pop_back();
    running_.pop_back();
  }

  int64_t peak(size_t region) const {
    int64_t kept = regions_[region].own, most = 0;
    for (const size_t inner : regions_[region].inner) {
      kept += regions_[inner].inputs;
      most = std::max(most, peak(inner));
    }
    return kept + most;
  }

  std::vector<Region> regions_;
  std::vector<size_t> running_{0};
  // Runnings begun before each call that runs; once it is entered, whether it is a region.
  std::vector<int64_t> begun_;
  std::vector<std::string> layers_;
  std::unordered_set<const void*> excluded_, all_;
  std::set<std::pair<size_t, const void*>> seen_;
  std::vector<Tensor> kept_;
  int64_t total_ = 0;
  std::vector<Hook> hooks_;
  std::vector<std::shared_ptr<void>> scopes_;
};

}  // namespace

BackwardMemory backward_memory(const Module& model, const std::vector<Tensor>& inputs) {
  const Draws draws = generator_state();
  const transforms::recompute::KeptBuffers buffers(model);
  const EnableGrad recorded;
  SavedCounter counter(model);
  std::vector<tenon_value> values;
  for (const Tensor& input : inputs) {
    counter.exclude(input);
    values.push_back(Argument(input).value());
  }
  Value results[detail::max_results];
  tenon_error* error = nullptr;
  const tenon_status status = service::modules().call(
      model.handle(), values.data(), static_cast<int64_t>(values.size()), nullptr, nullptr, 0,
      reinterpret_cast<tenon_value*>(results), int64_t{-1}, &error);
  set_generator_state(draws);
  if (status != TENON_OK) detail::throw_error(status, error);
  return counter.memory();
}

}  // namespace training

TENON_NAMESPACE_END
