// Ops without a batch rule: once for each sample.
#include <string>
#include <utility>
#include <vector>

#include <tenon/kernel/shape.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>

#include "transforms/families.hpp"

namespace tenon_transforms {

using namespace tenon;
using transforms::Randomness;

namespace {

bool same_state(const Draws& a, const Draws& b) { return a.seed == b.seed && a.offset == b.offset; }

// Tensors of each result, by sample: one for a tensor, several for a list.
struct Collected {
  bool list = false;
  std::vector<std::vector<Tensor>> by_place;  // then by sample
};

class Loop {
  // Places of samples in a batch that has none.
  static constexpr int64_t kOnes = -1, kZeros = -2;

 public:
  Loop(const BatchCall& batch, bool random) : batch_(batch), random_(random) {}

  Results run() {
    const int64_t samples = batch_.size();
    results_.resize(static_cast<size_t>(batch_.plan().result_count));
    if (samples == 0) {
      if (!batch_.plan().changes) run_none();
    } else {
      const Draws start = generator_state();
      for (int64_t i = 0; i < samples; ++i) {
        if (i > 0 && randomness() == Randomness::same) set_generator_state(start);
        run_sample(i);
        if (!random_ && randomness() == Randomness::error &&
            !same_state(start, generator_state())) {
          set_generator_state(start);
          refuse_random(batch_.plan());
        }
      }
    }
    return stacked();
  }

 private:
  Randomness randomness() const { return static_cast<Randomness>(batch_.level()->randomness); }

  // A batch without samples: results have the shapes that a call on made-up elements gives.
  void run_none() {
    try {
      run_sample(kOnes);
    } catch (const Error&) {
      try {
        results_.assign(results_.size(), {});
        run_sample(kZeros);
      } catch (const Error& error) {
        throw ValueError(
            batch_.name() +
            "(): vmap: a batch of no samples, and no batch rule: the shapes of results "
            "are those of a call on zeros, which fails: " +
            error.what() + "; skip the call for an empty batch, or give the op a batch rule");
      }
    }
  }
  // Ones, matrices with ones on their diagonal; whole numbers are zeros, which are good indices.
  static Tensor sample_of(const Operand& operand, int64_t sample) {
    const std::vector<int64_t> sizes = operand.given.sizes();
    const DType dtype = operand.inner.dtype();
    if (sample == kZeros || !is_differentiable(dtype)) return zeros(sizes, dtype);
    const size_t rank = sizes.size();
    if (rank < 2) return ones(sizes, dtype);
    return expand(eye(sizes[rank - 2], sizes[rank - 1], dtype), sizes);
  }

  void run_sample(int64_t sample) {
    InnerArguments arguments(batch_);
    for (const Operand& operand : batch_.operands()) {
      if (!operand.batched) continue;
      arguments.set(operand, sample >= 0 ? tenon::select(operand.inner, 0, sample)
                                         : sample_of(operand, sample));
    }
    Results given = arguments.call();
    if (batch_.plan().changes && batch_.plan().changed >= 0) return;
    for (size_t r = 0; r < results_.size(); ++r)
      collect(r, given.take(static_cast<int64_t>(r)), sample);
  }

  void collect(size_t r, const Value& value, int64_t sample) {
    Collected& collected = results_[r];
    const tenon_value& raw = value.get();
    if (raw.tag == TENON_VALUE_NONE) return;
    std::vector<Tensor> tensors;
    if (raw.tag == TENON_VALUE_TENSOR) {
      tensors.push_back(value.tensor());
    } else if (raw.tag == TENON_VALUE_TENSOR_LIST) {
      collected.list = true;
      tensors = value.tensors();
    } else {
      throw TypeError(batch_.name() + "(): vmap: the op gives a value of kind " +
                      detail::kind_text(raw) +
                      ", which may differ between samples; compute it with ops that give tensors");
    }
    if (sample <= 0) collected.by_place.resize(tensors.size());
    const auto fail = [&](const std::string& what, const std::string& first,
                          const std::string& now) {
      throw ValueError(batch_.name() + "(): vmap: result " + std::to_string(r) + " has " + what +
                       " " + first + " for sample 0 and " + now + " for sample " +
                       std::to_string(sample) +
                       ": it depends on elements, and samples of a batch have one shape");
    };
    if (tensors.size() != collected.by_place.size())
      fail("a length of", std::to_string(collected.by_place.size()),
           std::to_string(tensors.size()));
    for (size_t k = 0; k < tensors.size(); ++k) {
      std::vector<Tensor>& samples = collected.by_place[k];
      if (!samples.empty() && samples.front().sizes() != tensors[k].sizes())
        fail("the shape", kernel::shape_text(samples.front().shape()),
             kernel::shape_text(tensors[k].shape()));
      samples.push_back(tensors[k]);
    }
  }

  Tensor whole(const std::vector<Tensor>& samples) const {
    if (batch_.size() > 0) return stack(samples, 0);
    return zeros(with_batch(0, samples.front().shape()), samples.front().dtype());
  }

  Results stacked() {
    Results results = Results::of_count(batch_.plan().result_count);
    if (batch_.plan().changes && batch_.plan().changed >= 0) return results;
    for (size_t r = 0; r < results_.size(); ++r) {
      const Collected& collected = results_[r];
      std::vector<Tensor> tensors;
      for (const std::vector<Tensor>& samples : collected.by_place)
        tensors.push_back(make<Batched>(whole(samples), batch_.level()));
      if (collected.list)
        detail::give_result(std::move(tensors), results.slots() + r);
      else if (!tensors.empty())
        detail::give_result(std::move(tensors.front()), results.slots() + r);
    }
    return results;
  }

  const BatchCall& batch_;
  bool random_;
  std::vector<Collected> results_;
};

}  // namespace

Results run_loop(const BatchCall& batch, bool random) { return Loop(batch, random).run(); }

}  // namespace tenon_transforms
