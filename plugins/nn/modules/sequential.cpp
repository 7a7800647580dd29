// Sequential: modules one after another.
#include <algorithm>

#include <tenon/hooked.hpp>

#include "modules/joined_convolution.hpp"

namespace {

using namespace nn;
using tenon::Module, tenon::ModuleOf;

struct Sequential : ModuleOf<Sequential> {
  static constexpr auto schema = "Sequential(Module[] layers=[])";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"layers": ["Tanh", "ReLU"]}])";
  static constexpr auto doc = "Runs its layers in order, each on the result of the one before.";

  explicit Sequential(const std::vector<Module>& layers) {
    for (size_t i = 0; i < layers.size(); ++i) register_child(std::to_string(i), layers[i]);
    const bool convolves = std::any_of(layers.begin(), layers.end(), is_convolution);
    joins_ = convolves && joined_by_same_plugins();
  }
  Tensor forward(const Tensor& input) const {
    const std::vector<Module> layers = module().children(false);  // shared ones too, each time
    if (layers.empty())
      throw tenon::ValueError("Sequential(): it has no layers to run, expected at least one");
    return joins_ && may_join() ? run_joining(layers, input)
                                : run(layers, 0, layers.size(), input, false);
  }

 private:
  static bool is_convolution(const Module& layer) { return is_of_type(layer, "Conv2d"); }

  // Layers [begin, end).
  static Tensor run(const std::vector<Module>& layers, size_t begin, size_t end,
                    const Tensor& input, bool joins) {
    Tensor value = input;
    for (size_t i = begin; i < end; ++i) {
      if (joins && is_convolution(layers[i])) {
        size_t last = i;
        if (const Tensor joined = joined_at(layers, end, last, value); joined.defined()) {
          value = joined;
          i = last;
          continue;
        }
      }
      value = layers[i](value);
    }
    return value;
  }
  // Layer `at`, a Conv2d, with those behind it; `at` becomes the last of them. Undefined where there
  // are none, or it cannot be.
  static Tensor joined_at(const std::vector<Module>& layers, size_t end, size_t& at,
                          const Tensor& input) {
    JoinedConvolution joined;
    joined.convolution = layers[at];
    size_t next = at + 1;
    const auto take = [&](const char* type, Module& follower) {
      if (next == end || !is_of_type(layers[next], type)) return;
      follower = layers[next++];
    };
    take("BatchNorm2d", joined.norm);
    take("ReLU", joined.activation);
    joined.relu = joined.activation.defined();
    if (next == at + 1) return {};
    at = next - 1;
    return run_joined(joined, input);
  }

  // ---- a batch in blocks ----

  // Bytes of the largest value between layers that a processor's own cache holds beside weights and
  // results. Not for each thread: the results do not depend on how many there are then.
  static constexpr int64_t kBlockBytes = int64_t{3} << 18;
  // Fewer would leave threads without samples.
  static constexpr int64_t kLeastSamples = 8;
  static constexpr int64_t kMostBytes = 2 * kBlockBytes / kLeastSamples;  // limit for one sample

  static Tensor run_joining(const std::vector<Module>& layers, const Tensor& input) {
    Tensor value = input;
    for (size_t i = 0, next; i < layers.size(); i = next) {
      next = end_of_stretch(layers, i);
      const int64_t block = next == i ? 0 : samples_of_block(layers[i], value);
      if (next == i) next = next_convolution(layers, i);
      value = block == 0 ? run(layers, i, next, value, true)
                         : run_in_blocks(layers, i, next, value, block);
    }
    return value;
  }
  static size_t next_convolution(const std::vector<Module>& layers, size_t behind) {
    const auto from = layers.begin() + static_cast<std::ptrdiff_t>(behind) + 1;
    return static_cast<size_t>(std::find_if(from, layers.end(), is_convolution) - layers.begin());
  }
  // The end of layers [begin, ...), a convolution and a pool among them, each of which computes a sample
  // from that sample alone, and which neither a hook nor a watch sees.
  static size_t end_of_stretch(const std::vector<Module>& layers, size_t begin) {
    size_t end = begin;
    bool pools = false;
    for (; end < layers.size() && is_convolution(layers[begin]); ++end) {
      const Module& layer = layers[end];
      const bool pool = is_of_type(layer, "MaxPool2d");
      if (!pool && !is_convolution(layer) && !is_of_type(layer, "ReLU") &&
          !(is_of_type(layer, "BatchNorm2d") && normalizes_by_statistics(layer)))
        break;
      if (tenon::is_watched(layer) || !has_plain_tensors(layer)) break;
      pools = pools || pool;
    }
    return pools ? end : begin;
  }
  // Other types and tangents would see a call for each block.
  static bool has_plain_tensors(const Module& layer) {
    const auto plain = [&](const char* name) { return is_plain(layer.tensor(name)); };
    const bool convolution = is_convolution(layer), norm = is_of_type(layer, "BatchNorm2d");
    return (!convolution && !norm) ||
           (plain("weight") && plain("bias") &&
            (convolution || (plain("running_mean") && plain("running_var"))));
  }
  static bool normalizes_by_statistics(const Module& norm) {
    return !norm.training() && norm.tensor("running_mean").defined();
  }
  // Samples whose values stay in the caches from one layer to the next; 0 where the batch has few more.
  static int64_t samples_of_block(const Module& convolution, const Tensor& input) {
    if (!input.defined() || input.dim() != 4 || !is_plain(input) || computes_shapes_only())
      return 0;
    const int64_t batch = input.shape()[0];
    int64_t bytes = tenon::element_size(input.dtype());
    for (const int64_t size :
         {convolution.attribute<int64_t>("out_channels"), input.shape()[2], input.shape()[3]}) {
      if (size <= 0 || size > kMostBytes / bytes) return 0;
      bytes *= size;
    }
    const int64_t most = std::max(kLeastSamples, kBlockBytes / bytes);
    if (batch < 2 * most) return 0;
    const int64_t blocks = (batch + most - 1) / most;
    return (batch + blocks - 1) / blocks;
  }
  static bool computes_shapes_only() {
    int64_t* const counts = tenon::service::modes().shapes_only_set(nullptr);
    tenon::service::modes().shapes_only_set(counts);
    return counts != nullptr;
  }
  static Tensor run_in_blocks(const std::vector<Module>& layers, size_t begin, size_t end,
                              const Tensor& input, int64_t block) {
    try {
      std::vector<Tensor> results;
      const int64_t batch = input.shape()[0];
      for (int64_t first = 0; first < batch; first += block) {
        const Tensor taken = tenon::narrow(input, 0, first, std::min(block, batch - first));
        results.push_back(run(layers, begin, end, taken, true));
      }
      return tenon::cat(results, 0);
    } catch (const tenon::Error& error) {
      if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
    }
    return run(layers, begin, end, input, true);  // an error names the batch then
  }

  bool joins_ = false;
};

}  // namespace
TENON_MODULE(Sequential)
