// Normalizations: layer, RMS, group, batch and instance norm.
#include <algorithm>

#include <tenon/runtime.hpp>

#include "modules/initialize.hpp"
#include "modules/printed_attributes.hpp"

namespace {

using namespace nn;
using tenon::detail::Buffer, tenon::detail::Parameter;

void check_normalized_shape(const char* module, IntList shape) {
  check_size(module, "the length of normalized_shape", shape.size(), 1);
  for (const int64_t size : shape) check_size(module, "normalized_shape", size, 1);
}

struct LayerNorm : ModuleOf<LayerNorm> {
  static constexpr auto schema =
      "LayerNorm(int[] normalized_shape, float eps=1e-5, bool elementwise_affine=True, bool "
      "bias=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc =
      "Mean 0 and variance 1 over the last dimensions, then times weight plus bias.";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  LayerNorm(IntList normalized_shape, double, bool elementwise_affine, bool with_bias) {
    check_normalized_shape("LayerNorm", normalized_shape);
    if (elementwise_affine) weight = filled(normalized_shape, 1);
    if (elementwise_affine && with_bias) bias = filled(normalized_shape, 0);
  }
  Tensor forward(const Tensor& input) const {
    return tenon::nn::functional::layer_norm(input, (*this)["normalized_shape"_arg], weight, bias,
                                             (*this)["eps"_arg]);
  }
  // As PyTorch prints it: (4,), eps=1e-05, elementwise_affine=True.
  std::string extra_repr() const {
    return PrintedAttributes()
        .value((*this)["normalized_shape"_arg])
        .named("eps", (*this)["eps"_arg])
        .named("elementwise_affine", (*this)["elementwise_affine"_arg])
        .text();
  }
};

struct RMSNorm : ModuleOf<RMSNorm> {
  static constexpr auto schema =
      "RMSNorm(int[] normalized_shape, float? eps=None, bool elementwise_affine=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"normalized_shape": [3]}])";
  static constexpr auto doc =
      "Divides by the root mean square over the last dimensions, then times weight.";

  Parameter weight{*this, "weight"};

  RMSNorm(IntList normalized_shape, std::optional<double>, bool elementwise_affine) {
    check_normalized_shape("RMSNorm", normalized_shape);
    if (elementwise_affine) weight = filled(normalized_shape, 1);
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op rms_norm("nn.functional.rms_norm");
    return rms_norm.call<Tensor>(input, (*this)["normalized_shape"_arg], weight,
                                 (*this)["eps"_arg]);
  }
};

struct GroupNorm : ModuleOf<GroupNorm> {
  static constexpr auto schema =
      "GroupNorm(int num_groups, int num_channels, float eps=1e-5, bool affine=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"num_groups": 1, "num_channels": 2}])";
  static constexpr auto doc =
      "Mean 0 and variance 1 in each group of channels of a sample, then times weight plus bias.";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  GroupNorm(int64_t num_groups, int64_t num_channels, double, bool affine) {
    check_size("GroupNorm", "num_groups", num_groups, 1);
    check_size("GroupNorm", "num_channels", num_channels, 1);
    if (num_channels % num_groups != 0) {
      throw tenon::ValueError("GroupNorm: num_groups " + std::to_string(num_groups) +
                              " must divide num_channels " + std::to_string(num_channels));
    }
    if (!affine) return;
    weight = filled(IntList(&num_channels, 1), 1);
    bias = filled(IntList(&num_channels, 1), 0);
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op group_norm("nn.functional.group_norm");
    return group_norm.call<Tensor>(input, (*this)["num_groups"_arg], weight, bias,
                                   (*this)["eps"_arg]);
  }
  std::string extra_repr() const {
    return PrintedAttributes()
        .value((*this)["num_groups"_arg])
        .value((*this)["num_channels"_arg])
        .named("eps", (*this)["eps"_arg])
        .named("affine", (*this)["affine"_arg])
        .text();
  }
};

// Running statistics over the samples: of batch norm, and of instance norm where asked for.
template <class Definition>
struct StatisticsNorm : ModuleOf<Definition> {
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  Parameter weight{*this, "weight"}, bias{*this, "bias"};
  Buffer running_mean{*this, "running_mean"}, running_var{*this, "running_var"};
  Buffer num_batches_tracked{*this, "num_batches_tracked"};

  StatisticsNorm(int64_t num_features, double, std::optional<double>, bool affine, bool track) {
    check_size(Definition::name, "num_features", num_features, 1);
    const IntList shape(&num_features, 1);
    if (affine) {
      weight = filled(shape, 1);
      bias = filled(shape, 0);
    }
    if (!track) return;
    running_mean = filled(shape, 0);
    running_var = filled(shape, 1);
    const Tensor none = tenon::empty_tensor({}, tenon::i64);
    tenon::fill_elements(none, 0);
    num_batches_tracked = none;
  }
  void check_input(const Tensor& input) const {
    for (const int64_t dim : Definition::dims) {
      if (input.dim() == dim) return;
    }
    throw tenon::ValueError(std::string(Definition::name) + ": expected an input of " +
                            Definition::dims_text + " dimensions, got " +
                            std::to_string(input.dim()));
  }
  // Counts the batch; the share of it that goes into the running statistics.
  double count_batch() const {
    const auto momentum = static_cast<const Definition&>(*this)["momentum"_arg];
    if (this->training() && num_batches_tracked.defined()) {
      const tenon::NoGrad off;
      num_batches_tracked.add_(1);
      if (!momentum) return 1 / num_batches_tracked.item();
    }
    return momentum ? *momentum : 0;
  }
  std::string extra_repr() const {
    const auto& self = static_cast<const Definition&>(*this);
    return PrintedAttributes()
        .value(self["num_features"_arg])
        .named("eps", self["eps"_arg])
        .named("momentum", self["momentum"_arg])
        .named("affine", self["affine"_arg])
        .named("track_running_stats", self["track_running_stats"_arg])
        .text();
  }
};

template <class Definition>
struct BatchNorm : StatisticsNorm<Definition> {
  static constexpr auto doc =
      "Mean 0 and variance 1 of each channel over the batch (running statistics in eval mode), "
      "then "
      "times weight plus bias (Ioffe and Szegedy, 2015).";
  using StatisticsNorm<Definition>::StatisticsNorm;
  Tensor forward(const Tensor& input) const {
    static const tenon::Op batch_norm("nn.functional.batch_norm");
    this->check_input(input);
    const double momentum = this->count_batch();
    const bool of_batch = this->training() || !this->running_mean.defined();
    return batch_norm.call<Tensor>(input, this->running_mean, this->running_var, this->weight,
                                   this->bias, of_batch, momentum,
                                   static_cast<const Definition&>(*this)["eps"_arg]);
  }
};

// Batch norm over the batches of all ranks of a job (plugins/mpi), by ops that are differentiated. Without
// an engine of ranks, or with one rank, it is batch norm.
struct SyncBatchNorm : StatisticsNorm<SyncBatchNorm> {
  static constexpr auto name = "SyncBatchNorm";
  static constexpr int64_t dims[] = {2, 3, 4, 5};
  static constexpr auto dims_text = "2 to 5";
  static constexpr auto schema =
      "SyncBatchNorm(int num_features, float eps=1e-5, float? momentum=0.1, bool affine=True, bool "
      "track_running_stats=True)";
  static constexpr auto samples = R"([{"num_features": 2}, {"num_features": 3}])";
  static constexpr auto doc =
      "BatchNorm of which mean and variance are those of the batches of all ranks together; each "
      "rank calls it, and its backward.";
  using StatisticsNorm<SyncBatchNorm>::StatisticsNorm;

  Tensor forward(const Tensor& input) const {
    check_input(input);
    const double share = count_batch(), eps = (*this)["eps"_arg];
    const bool of_batch = training() || !running_mean.defined();
    if (!of_batch || rank_count() == 1) {
      static const tenon::Op batch_norm("nn.functional.batch_norm");
      return batch_norm.call<Tensor>(input, running_mean, running_var, weight, bias, of_batch,
                                     share, eps);
    }
    const int64_t channels = (*this)["num_features"_arg];
    if (input.size(1) != channels) {
      throw tenon::ValueError("SyncBatchNorm: 'input' of shape " + shape_text(input) + " has not " +
                              std::to_string(channels) + " channels, num_features");
    }
    std::vector<int64_t> reduced = {0}, shape(static_cast<size_t>(input.dim()), 1);
    for (int64_t dim = 2; dim < input.dim(); ++dim) reduced.push_back(dim);
    shape[1] = channels;
    // In f16 and bf16 neither sums nor the count would fit.
    const bool is_half = input.dtype() == tenon::f16 || input.dtype() == tenon::bf16;
    const Tensor wide = is_half ? input.to(tenon::f32) : input;
    const int64_t elements = input.numel() / channels;
    const Tensor own_count = tenon::full({1}, static_cast<double>(elements));
    const Tensor sums =
        all_reduce(tenon::concatenate({wide.sum(reduced), own_count.to(wide.dtype())}, 0));
    const double count = narrow(sums, 0, channels, 1).item();
    const Tensor mean = narrow(sums, 0, 0, channels) / count;
    const Tensor centered = wide - mean.reshape(shape);
    const Tensor variance = all_reduce(centered.square().sum(reduced)) / count;
    update_running(mean, variance * (count / std::max(count - 1, 1.0)), share);
    const Tensor normal = centered * (variance + eps).rsqrt().reshape(shape);
    const Tensor result =
        weight.defined() ? normal * weight.reshape(shape) + bias.reshape(shape) : normal;
    return is_half ? result.to(input.dtype()) : result;
  }

 private:
  static int64_t rank_count() {
    static const int64_t count = [] {
      constexpr auto op = "distributed.size";
      const tenon::Json providers = tenon::providers(tenon::ItemKind::op, op);
      for (int64_t i = 0; i < providers.size(); ++i) {
        if (providers[i]["standing"].text() != "failed") return tenon::Op(op).call<int64_t>();
      }
      return int64_t{1};  // no plugin provides it
    }();
    return count;
  }
  static Tensor all_reduce(const Tensor& tensor) {
    static const tenon::Op op("distributed.all_reduce");
    return op.call<Tensor>(tensor);
  }
  void update_running(const Tensor& mean, const Tensor& variance, double share) const {
    if (!training() || !running_mean.defined()) return;
    const tenon::NoGrad off;
    running_mean.mul_(1 - share).add_(mean * share);
    running_var.mul_(1 - share).add_(variance * share);
  }
};

template <class Definition>
struct InstanceNorm : StatisticsNorm<Definition> {
  static constexpr auto doc =
      "Mean 0 and variance 1 of each channel of each sample, then times weight plus bias (Ulyanov "
      "et al., 2016).";
  using StatisticsNorm<Definition>::StatisticsNorm;
  Tensor forward(const Tensor& input) const {
    static const tenon::Op instance_norm("nn.functional.instance_norm");
    this->check_input(input);
    const double momentum = this->count_batch();
    const bool of_input = this->training() || !this->running_mean.defined();
    return instance_norm.call<Tensor>(input, this->running_mean, this->running_var, this->weight,
                                      this->bias, of_input, momentum,
                                      static_cast<const Definition&>(*this)["eps"_arg]);
  }
};

}  // namespace
TENON_MODULE(LayerNorm)
TENON_MODULE(RMSNorm)
TENON_MODULE(GroupNorm)
TENON_MODULE(SyncBatchNorm)

#define NN_STATISTICS_NORM(Name, Base, affine_default, track_default, dims_list, text)        \
  namespace {                                                                                 \
  struct Name : Base<Name> {                                                                  \
    static constexpr auto name = #Name;                                                       \
    static constexpr int64_t dims[] = dims_list;                                              \
    static constexpr auto dims_text = text;                                                   \
    static constexpr auto schema = #Name                                                      \
        "(int num_features, float eps=1e-5, float? momentum=0.1, bool affine=" affine_default \
        ", bool track_running_stats=" track_default ")";                                      \
    static constexpr auto samples = R"([{"num_features": 2}, {"num_features": 3}])";          \
    using Base<Name>::Base;                                                                   \
  };                                                                                          \
  }                                                                                           \
  TENON_MODULE(Name)
#define NN_LIST(...) \
  { __VA_ARGS__ }
NN_STATISTICS_NORM(BatchNorm1d, BatchNorm, "True", "True", NN_LIST(2, 3), "2 or 3")
NN_STATISTICS_NORM(BatchNorm2d, BatchNorm, "True", "True", NN_LIST(4), "4")
NN_STATISTICS_NORM(BatchNorm3d, BatchNorm, "True", "True", NN_LIST(5), "5")
NN_STATISTICS_NORM(InstanceNorm1d, InstanceNorm, "False", "False", NN_LIST(2, 3), "2 or 3")
NN_STATISTICS_NORM(InstanceNorm2d, InstanceNorm, "False", "False", NN_LIST(3, 4), "3 or 4")
NN_STATISTICS_NORM(InstanceNorm3d, InstanceNorm, "False", "False", NN_LIST(4, 5), "4 or 5")
