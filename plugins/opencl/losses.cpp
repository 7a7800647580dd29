// Losses of class-index targets: cross_entropy and nll_loss, with their gradients.
#include <string_view>

#include "opencl/copies.hpp"
#include "opencl/faults.hpp"
#include "opencl/operands.hpp"

namespace tenon_opencl {

namespace {

using tenon::Call;
using tenon::Results;

std::string loss_source(DType) {
  return R"(
typedef struct {
  ulong targets, classes, inner;   // scores of target i are `inner` apart
  long ignored;
  T sharp, share;                  // of a smoothed target: at its class, and at each
  int has_weight, from_scores, code;
} Loss;
static T times(T weight, T x) { return weight == 0 ? (T)0 : weight * x; }
#define WEIGHT(k) (d.has_weight ? weight[k] : (T)1)
#define SCORES(a) a + i / d.inner * d.classes * d.inner + i % d.inner
static bool is_class(const Loss* d, long target, __global Found* faults) {
  if (target == d->ignored) return false;
  if (target >= 0 && target < (long)d->classes) return true;
  note_fault(faults, d->code, target);
  return false;
}

// Losses, and the weights that a mean divides by. from_scores: cross entropy; else `a` has logarithms.
__kernel void losses(__global const T* a, __global const long* index, __global const T* weight, __global T* r,
                     __global T* weights, Loss d, __global Found* faults) {
  const ulong i = get_global_id(0);
  if (i >= d.targets) return;
  const long target = index[i];
  if (!is_class(&d, target, faults)) {
    r[i] = weights[i] = 0;
    return;
  }
  __global const T* x = SCORES(a);
  T most = 0, log_sum = 0;
  if (d.from_scores) {
    most = -INFINITY;
    for (ulong k = 0; k < d.classes; ++k) {
      const T score = x[k * d.inner];
      most = isnan(score) || isnan(most) ? (T)NAN : fmax(most, score);
    }
    T sum = 0;
    for (ulong k = 0; k < d.classes; ++k) sum += exp(x[k * d.inner] - most);
    log_sum = log(sum);
  }
  const T own = WEIGHT(target);
  T loss = times(d.sharp * own, log_sum - (x[target * d.inner] - most));
  if (d.share != 0) {
    T all = 0;
    for (ulong k = 0; k < d.classes; ++k) all += times(WEIGHT(k), log_sum - (x[k * d.inner] - most));
    loss += d.share * all;
  }
  r[i] = loss;
  weights[i] = own;
}
// Their sum, or their mean by weights, in one work item.
__kernel void total(__global const T* losses, __global const T* weights, __global T* r, ulong n, int is_mean) {
  if (get_global_id(0) > 0) return;
  T sum = 0, lost = 0, weight = 0;
  for (ulong i = 0; i < n; ++i) {
    const T next = losses[i] - lost, more = sum + next;
    lost = isinf(more) ? (T)0 : (more - sum) - next;
    sum = more;
    weight += weights[i];
  }
  r[0] = is_mean ? sum / weight : sum;
}
// 1 / the sum of the weights of targets.
__kernel void scale(__global const long* index, __global const T* weight, __global T* r, Loss d) {
  if (get_global_id(0) > 0) return;
  T sum = 0;
  for (ulong i = 0; i < d.targets; ++i) {
    if (index[i] != d.ignored && index[i] >= 0 && index[i] < (long)d.classes) sum += WEIGHT(index[i]);
  }
  r[0] = 1 / sum;
}
__kernel void gradients(__global const T* g, int g_step, __global const T* scale, int is_mean, __global const T* a,
                        __global const long* index, __global const T* weight, __global T* r, Loss d,
                        __global Found* faults) {
  const ulong i = get_global_id(0);
  if (i >= d.targets) return;
  __global T* y = SCORES(r);
  const long target = index[i];
  if (!is_class(&d, target, faults)) {
    for (ulong k = 0; k < d.classes; ++k) y[k * d.inner] = 0;
    return;
  }
  const T factor = g[i * g_step] * (is_mean ? scale[0] : (T)1), own = d.sharp * WEIGHT(target);
  if (!d.from_scores) {
    for (ulong k = 0; k < d.classes; ++k)
      y[k * d.inner] = -factor * (times(d.share, WEIGHT(k)) + ((long)k == target ? own : (T)0));
    return;
  }
  __global const T* x = SCORES(a);
  T most = -INFINITY, sum = 0, all = 0;
  for (ulong k = 0; k < d.classes; ++k) {
    const T score = x[k * d.inner];
    most = isnan(score) || isnan(most) ? (T)NAN : fmax(most, score);
    all += WEIGHT(k);
  }
  for (ulong k = 0; k < d.classes; ++k) {
    const T power = exp(x[k * d.inner] - most);
    y[k * d.inner] = power;
    sum += power;
  }
  const T of_softmax = factor * (own + d.share * all) / sum;
  for (ulong k = 0; k < d.classes; ++k) {
    const T part = y[k * d.inner] * of_softmax - factor * d.share * (d.share == 0 ? (T)0 : WEIGHT(k));
    y[k * d.inner] = (long)k == target ? part - factor * own : part;
  }
}
)";
}
constexpr Source kLosses{"losses", loss_source};
constexpr size_t kLossGroup = 8;

// As kernels get it.
template <class T>
struct LossArgument {
  cl_ulong targets, classes, inner;
  cl_long ignored;
  T sharp, share;
  cl_int has_weight, from_scores, code;
};

struct Loss {
  Tensor index, weights;
  int64_t targets = 1, classes = 1, inner = 1, ignored;
  double smoothing;
  bool fits = false, from_scores, has_weight;
  std::string op;

  Loss(const char* name, IntList scores, const Tensor& like, const Tensor& target,
       const Tensor& weight, int64_t ignore_index, double label_smoothing, bool of_scores)
      : ignored(ignore_index),
        smoothing(label_smoothing),
        from_scores(of_scores),
        has_weight(weight.defined()),
        op(name) {
    if (!is_floating(like) || scores.empty() || !is_index(target) || !together(target, like) ||
        !(smoothing >= 0 && smoothing <= 1) || target.dim() != scores.size() - 1)
      return;
    const int64_t at = scores.size() == 1 ? 0 : 1;
    classes = scores[at];
    for (int64_t d = 0, k = 0; d < scores.size(); ++d) {
      if (d == at) continue;
      if (target.shape()[k++] != scores[d]) return;
      (d == 0 ? targets : inner) *= scores[d];
    }
    targets *= inner;
    if (weight.defined()) {
      if (!is_floating(weight) || weight.dtype() != like.dtype() || weight.dim() != 1 ||
          weight.size(0) != classes || !together(weight, like))
        return;
      weights = dense(weight);
    }
    index = target.dtype() == tenon::i64 ? dense(target) : converted(target, tenon::i64);
    fits = index.defined() && targets > 0 && classes > 0;
  }
  std::string fault_text() const {
    return op + "(): target {} is out of range for " + std::to_string(classes) + " classes";
  }
  template <class T>
  LossArgument<T> argument(const Faults::Watch& watch) const {
    return {number(targets),
            number(classes),
            number(inner),
            ignored,
            static_cast<T>(1 - smoothing),
            static_cast<T>(smoothing / static_cast<double>(classes)),
            has_weight,
            from_scores,
            watch.code()};
  }
};

Results loss_of(const Call& call, const char* op, const Tensor& input, const Tensor& target,
                const Tensor& weight, int64_t ignored, std::string_view reduction, double smoothing,
                bool from_scores) {
  const Loss loss(op, input.shape(), input, target, weight, ignored, smoothing, from_scores);
  if (!loss.fits || (reduction != "mean" && reduction != "sum" && reduction != "none"))
    return tenon::not_implemented;
  Instance& device = instance_of(input);
  const DType type = input.dtype();
  const Tensor x = dense(input), losses = empty_like(input, target.shape()),
               weights = empty_like(input, target.shape());
  const Memory class_weights = memory_of(loss.has_weight ? loss.weights : x);
  const Faults::Watch watch(device, call, loss.fault_text());
  with_floating(type, [&](auto zero) {
    device.run({&kLosses, "losses", type}, whole_groups(loss.targets, kLossGroup), kLossGroup,
               memory_of(x), memory_of(loss.index), class_weights, memory_of(losses),
               memory_of(weights), loss.argument<decltype(zero)>(watch), watch.memory());
  });
  if (reduction == "none") return losses;
  const Tensor result = empty_like(input, {});
  device.run({&kLosses, "total", type}, kLossGroup, kLossGroup, memory_of(losses),
             memory_of(weights), memory_of(result), number(loss.targets),
             static_cast<cl_int>(reduction == "mean"));
  return result;
}

Results gradient_of(const Call& call, const char* op, const Tensor& grad_output, IntList shape,
                    const Tensor& input, const Tensor& target, const Tensor& weight,
                    int64_t ignored, std::string_view reduction, double smoothing) {
  const Loss loss(op, shape, grad_output, target, weight, ignored, smoothing, input.defined());
  const bool each = reduction == "none";
  if (!loss.fits || (reduction != "mean" && reduction != "sum" && !each) ||
      (each ? grad_output.sizes() != target.sizes() : grad_output.numel() != 1))
    return tenon::not_implemented;
  if (input.defined() && (!is_floating(input) || input.dtype() != grad_output.dtype() ||
                          !together(input, grad_output)))
    return tenon::not_implemented;
  Instance& device = instance_of(grad_output);
  const DType type = grad_output.dtype();
  const Tensor g = dense(grad_output), x = input.defined() ? dense(input) : g,
               result = empty_like(grad_output, shape), scale = empty_like(grad_output, {});
  const Memory class_weights = memory_of(loss.has_weight ? loss.weights : g);
  const Faults::Watch watch(device, call, loss.fault_text());
  with_floating(type, [&](auto zero) {
    const auto argument = loss.argument<decltype(zero)>(watch);
    if (reduction == "mean") {
      device.run({&kLosses, "scale", type}, kLossGroup, kLossGroup, memory_of(loss.index),
                 class_weights, memory_of(scale), argument);
    }
    device.run({&kLosses, "gradients", type}, whole_groups(loss.targets, kLossGroup), kLossGroup,
               memory_of(g), static_cast<cl_int>(each), memory_of(scale),
               static_cast<cl_int>(reduction == "mean"), memory_of(x), memory_of(loss.index),
               class_weights, memory_of(result), argument, watch.memory());
  });
  return result;
}

struct CrossEntropy {
  static constexpr auto schema =
      "nn.functional.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, *, int "
      "ignore_index=-100, str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, const Tensor& target,
                         const Tensor& weight, int64_t ignore_index, std::string_view reduction,
                         double label_smoothing) {
    return loss_of(call, "cross_entropy", input, target, weight, ignore_index, reduction,
                   label_smoothing, true);
  }
};
struct NllLoss {
  static constexpr auto schema =
      "nn.functional.nll_loss(Tensor input, Tensor target, Tensor? weight=None, *, int "
      "ignore_index=-100, str reduction='mean') -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, const Tensor& target,
                         const Tensor& weight, int64_t ignore_index, std::string_view reduction) {
    return loss_of(call, "nll_loss", input, target, weight, ignore_index, reduction, 0, false);
  }
};
struct CrossEntropyGradient {
  static constexpr auto schema =
      "nn.grad.cross_entropy(Tensor grad_output, Tensor input, Tensor target, Tensor? weight=None, "
      "*, int ignore_index=-100, str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& grad_output, const Tensor& input,
                         const Tensor& target, const Tensor& weight, int64_t ignore_index,
                         std::string_view reduction, double label_smoothing) {
    return gradient_of(call, "cross_entropy", grad_output, input.shape(), input, target, weight,
                       ignore_index, reduction, label_smoothing);
  }
};
struct NllLossGradient {
  static constexpr auto schema =
      "nn.grad.nll_loss(Tensor grad_output, Tensor target, Tensor? weight, int[] input_size, *, "
      "int ignore_index=-100, str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& grad_output, const Tensor& target,
                         const Tensor& weight, IntList input_size, int64_t ignore_index,
                         std::string_view reduction, double label_smoothing) {
    return gradient_of(call, "nll_loss", grad_output, input_size, Tensor(), target, weight,
                       ignore_index, reduction, label_smoothing);
  }
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(CrossEntropy)
TENON_OVERRIDE(NllLoss)
TENON_OVERRIDE(CrossEntropyGradient)
TENON_OVERRIDE(NllLossGradient)
