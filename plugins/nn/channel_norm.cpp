// Norms with one weight for each channel: batch_norm, group_norm, instance_norm. What is normalized
// together becomes a row of layer_norm, which all of them are made of.
#include <algorithm>

#include "common.hpp"

namespace {

using namespace nn;
namespace functional = tenon::nn::functional;

int64_t channels_of(const char* op, const Tensor& input) {
  check_floating(op, "input", input);
  if (input.dim() < 2) {
    throw tenon::ValueError(std::string(op) +
                            "(): 'input' must have shape [N, C, ...], got shape " +
                            shape_text(input));
  }
  return input.shape()[1];
}
void check_channels(const char* op, const char* name, const Tensor& tensor, int64_t channels,
                    const Tensor& input) {
  if (!tensor.defined()) return;
  Shape shape;
  shape.push(channels);
  kernel::check_shape(op, name, tensor, shape);
  check_same_dtype(op, "input", input, name, tensor);
}
void check_eps(const char* op, double eps) {
  if (eps >= 0) return;
  throw tenon::ValueError(std::string(op) + "(): eps must be 0 or more, got " +
                          tenon::Scalar(eps).text());
}

// A tensor of one element for each channel, to go with an input of `rank` dimensions.
Tensor along_channels(const Tensor& tensor, int64_t rank) {
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[1] = tensor.numel();
  return tensor.reshape(shape);
}
Tensor scaled(Tensor result, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) result = result * along_channels(weight, result.dim());
  if (bias.defined()) result = result + along_channels(bias, result.dim());
  return result;
}

// Mean 0 and variance 1 for each of `rows` equal runs of elements.
Tensor normalized(const Tensor& input, int64_t rows, double eps) {
  if (input.numel() == 0) return input.clone();
  const int64_t columns = input.numel() / rows;
  return functional::layer_norm(input.reshape({rows, columns}), {columns}, Tensor(), Tensor(), eps)
      .reshape(input.sizes());
}

// The statistics that batch_norm and instance_norm keep.
struct Running {
  // Elements from which one pass is faster: a loop of three operands fills buffers with those that it
  // repeats, for each channel again.
  static constexpr int64_t kShortChannel = 4096;

  const char* op;
  const Tensor &mean, &variance;

  Running(const char* op_name, const Tensor& running_mean, const Tensor& running_var,
          int64_t channels, const Tensor& input)
      : op(op_name), mean(running_mean), variance(running_var) {
    check_channels(op, "running_mean", mean, channels, input);
    check_channels(op, "running_var", variance, channels, input);
  }
  void require() const {
    if (mean.defined() && variance.defined()) return;
    throw tenon::ValueError(std::string(op) +
                            "(): " + (mean.defined() ? "'running_var'" : "'running_mean'") +
                            " must be given where the input's own statistics are not used");
  }
  // As one factor and one term for each channel: a single pass over the input, or two where a channel
  // is short. Halves have too few digits for a term that the product cancels.
  Tensor normalize(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   double eps) const {
    static const tenon::Op addcmul("addcmul");
    Tensor factor = (variance + eps).rsqrt();
    if (tenon::is_half(input.dtype())) {
      return scaled(
          (input - along_channels(mean, input.dim())) * along_channels(factor, input.dim()), weight,
          bias);
    }
    if (weight.defined()) factor = factor * weight;
    // Backward reads the negated copy, so that the running mean may change before it.
    const Tensor shift = -mean * factor, term = bias.defined() ? bias + shift : shift;
    const Tensor factors = along_channels(factor, input.dim()),
                 terms = along_channels(term, input.dim());
    const int64_t channel = input.numel() / std::max<int64_t>(input.shape()[0] * mean.numel(), 1);
    if (channel < kShortChannel) return input * factors + terms;
    return addcmul.call<Tensor>(terms, input, factors);
  }
  // Moves them towards the statistics of rows [channels, elements], whose variance is unbiased.
  // Rows that are several for a channel count as their mean.
  void update(const Tensor& rows, double momentum) const {
    if (!mean.defined() && !variance.defined()) return;
    const tenon::NoGrad no_grad;
    const int64_t channels = (mean.defined() ? mean : variance).numel();
    const auto by_channel = [&](const Tensor& statistic) {
      return statistic.numel() == channels
                 ? statistic.reshape({channels})
                 : statistic.reshape({statistic.numel() / channels, channels}).mean({0});
    };
    const Tensor data = rows.detach();
    if (mean.defined()) move(mean, by_channel(data.mean({1})), momentum);
    if (variance.defined()) move(variance, by_channel(data.var({1}, false, 1)), momentum);
  }

 private:
  static void move(const Tensor& running, const Tensor& found, double momentum) {
    running.copy_(running * (1 - momentum) + found * momentum);
  }
};

// More than one element for each channel: one has no variance.
void check_count(const char* op, int64_t count, const Tensor& input) {
  if (count != 1) return;
  throw tenon::ValueError(std::string(op) +
                          "(): more than 1 element for each channel is needed to have a variance, "
                          "got an input of shape " +
                          shape_text(input));
}

struct BatchNorm {
  static constexpr auto schema =
      "nn.functional.batch_norm(Tensor input, Tensor(a!)? running_mean, Tensor(b!)? running_var, "
      "Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float "
      "eps=1e-5) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "running_mean": null, "running_var": null,
           "weight": {"shape": [2]}, "bias": {"shape": [2]}, "training": true},
          {"input": {"shape": [2, 2, 3]}, "running_mean": {"shape": [2], "requires_grad": false},
           "running_var": {"shape": [2], "low": 0.5, "high": 2, "requires_grad": false}},
          {"input": {"shape": [2, 2, 2, 1]}, "running_mean": {"shape": [2], "requires_grad": false},
           "running_var": {"shape": [2], "low": 0.5, "high": 2, "requires_grad": false},
           "weight": {"shape": [2]}, "training": true, "momentum": 0.3}])";
  static constexpr auto doc =
      "input [N, C, ...] with mean 0 and variance 1 for each channel, times weight plus bias, "
      "tensors of C elements. In training by the input's statistics, towards which running_mean "
      "and running_var move in place by momentum, the variance being unbiased; otherwise by these "
      "two (arXiv:1502.03167).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                        const Tensor& weight, const Tensor& bias, bool training, double momentum,
                        double eps) {
    constexpr auto op = "batch_norm";
    const int64_t channels = channels_of(op, input);
    const Running running(op, running_mean, running_var, channels, input);
    check_channels(op, "weight", weight, channels, input);
    check_channels(op, "bias", bias, channels, input);
    check_eps(op, eps);
    if (!training) {
      running.require();
      return running.normalize(input, weight, bias, eps);
    }
    if (input.numel() == 0) return scaled(input.clone(), weight, bias);
    const int64_t count = input.numel() / channels;
    check_count(op, count, input);
    const Tensor by_channel = input.transpose(0, 1);
    running.update(by_channel.reshape({channels, count}), momentum);
    return scaled(normalized(by_channel, channels, eps).transpose(0, 1), weight, bias);
  }
};

struct GroupNorm {
  static constexpr auto schema =
      "nn.functional.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
      "bias=None, float eps=1e-5) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 4, 2]}, "num_groups": 2, "weight": {"shape": [4]}, "bias": {"shape": [4]}},
          {"input": {"shape": [3, 2]}, "num_groups": 1}])";
  static constexpr auto doc =
      "input [N, C, ...] with mean 0 and variance 1 for each of num_groups equal groups of "
      "channels of a sample, times weight plus bias, tensors of C elements (arXiv:1803.08494).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t num_groups, const Tensor& weight,
                        const Tensor& bias, double eps) {
    constexpr auto op = "group_norm";
    const int64_t channels = channels_of(op, input);
    check_channels(op, "weight", weight, channels, input);
    check_channels(op, "bias", bias, channels, input);
    check_eps(op, eps);
    if (num_groups < 1 || channels % num_groups != 0) {
      throw tenon::ValueError("group_norm(): num_groups must divide the " +
                              std::to_string(channels) + " channels of an input of shape " +
                              shape_text(input) + ", got " + std::to_string(num_groups));
    }
    const int64_t rows = input.numel() == 0 ? 0 : input.shape()[0] * num_groups;
    return scaled(normalized(input, rows, eps), weight, bias);
  }
};

struct InstanceNorm {
  static constexpr auto schema =
      "nn.functional.instance_norm(Tensor input, Tensor(a!)? running_mean=None, Tensor(b!)? "
      "running_var=None, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float "
      "momentum=0.1, float eps=1e-5) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 3]}, "weight": {"shape": [2]}, "bias": {"shape": [2]}},
          {"input": {"shape": [1, 2, 2, 2]}, "running_mean": {"shape": [2], "requires_grad": false},
           "running_var": {"shape": [2], "low": 0.5, "high": 2, "requires_grad": false}},
          {"input": {"shape": [2, 2, 3]}, "running_mean": {"shape": [2], "requires_grad": false},
           "running_var": {"shape": [2], "low": 0.5, "high": 2, "requires_grad": false},
           "use_input_stats": false}])";
  static constexpr auto doc =
      "input [N, C, ...] with mean 0 and variance 1 for each channel of each sample, times weight "
      "plus bias. With use_input_stats running_mean and running_var move in place by momentum "
      "towards the means of the samples' statistics; without it they take their place "
      "(arXiv:1607.08022).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                        const Tensor& weight, const Tensor& bias, bool use_input_stats,
                        double momentum, double eps) {
    constexpr auto op = "instance_norm";
    const int64_t channels = channels_of(op, input);
    const Running running(op, running_mean, running_var, channels, input);
    check_channels(op, "weight", weight, channels, input);
    check_channels(op, "bias", bias, channels, input);
    check_eps(op, eps);
    if (!use_input_stats) {
      running.require();
      return running.normalize(input, weight, bias, eps);
    }
    if (input.numel() == 0) return scaled(input.clone(), weight, bias);
    const int64_t rows = input.shape()[0] * channels, count = input.numel() / rows;
    check_count(op, count, input);
    running.update(input.reshape({rows, count}), momentum);
    return scaled(normalized(input, rows, eps), weight, bias);
  }
};

}  // namespace
TENON_OPS(BatchNorm, GroupNorm, InstanceNorm)
