// ctc_loss: connectionist temporal classification, of sequences without an alignment.
#include <algorithm>
#include <limits>

#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "ctc_loss";
constexpr double infinity = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

// The labels of each sequence with blanks around them, [N, 2 S + 1], and what a path may do there.
struct Paths {
  Tensor labels;  // i64
  Tensor skips;   // bool: the blank before this label may be left out
  int64_t width = 1;

  Paths(const std::vector<std::vector<int64_t>>& targets, int64_t blank) {
    for (const auto& target : targets)
      width = std::max(width, 2 * static_cast<int64_t>(target.size()) + 1);
    const auto count = static_cast<int64_t>(targets.size());
    labels = tenon::empty_tensor({count, width}, tenon::i64);
    skips = tenon::empty_tensor({count, width}, tenon::boolean);
    tenon::fill_elements(labels, blank);
    tenon::fill_elements(skips, false);
    auto* label = kernel::elements<int64_t>(labels);
    auto* skip = kernel::elements<bool>(skips);
    for (const auto& target : targets) {
      for (size_t i = 0; i < target.size(); ++i) {
        label[2 * i + 1] = target[i];
        skip[2 * i + 1] = i > 0 && target[i] != target[i - 1];
      }
      label += width;
      skip += width;
    }
  }
};

std::vector<int64_t> lengths_of(const char* name, const Tensor& lengths, int64_t count,
                                int64_t most) {
  kernel::check_dtype(kName, name, lengths.dtype(), tenon::integer_dtypes);
  kernel::check_shape(kName, name, lengths, IntList(&count, 1));
  auto found = lengths.to(tenon::i64).to_vector<int64_t>();
  for (const int64_t length : found) {
    if (length < 0 || length > most) {
      refuse("'" + std::string(name) + "' has " + std::to_string(length) +
             ", expected lengths from 0 to " + std::to_string(most));
    }
  }
  return found;
}

struct CtcLoss {
  static constexpr auto schema =
      "nn.functional.ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
      "target_lengths, int blank=0, str reduction='mean', bool zero_infinity=False) -> Tensor";
  static constexpr auto samples =
      R"([{"log_probs": {"shape": [4, 2, 3], "low": -2, "high": -0.5}, "targets": {"values": [[1, 1], [2, 0]], "dtype": "i64"},
           "input_lengths": {"values": [4, 3], "dtype": "i64"}, "target_lengths": {"values": [2, 1], "dtype": "i64"}},
          {"log_probs": {"shape": [3, 2, 3], "low": -2, "high": -0.5}, "targets": {"values": [0, 1, 1], "dtype": "i64"},
           "input_lengths": {"values": [3, 3], "dtype": "i64"}, "target_lengths": {"values": [1, 2], "dtype": "i64"},
           "blank": 2, "reduction": "none", "zero_infinity": true}])";
  static constexpr auto doc =
      "-log of the probability that a path spells the target, where log_probs [T, N, C] are "
      "logarithms of class probabilities, and a path spells its labels without repeats and blanks "
      "(Graves et al., 2006). targets are [N, S], or joined in a vector. reduction 'mean' divides "
      "each loss by its target's length, at least 1, and takes the mean. A target that does not "
      "fit "
      "its input has the loss inf, or with zero_infinity 0. The gradient is that of log_probs "
      "themselves: not, as PyTorch's, that of what log_softmax was taken of.";
  static constexpr bool composite = true;

  // Lengths decide what is computed, but not the shape.
  static Tensor shape_rule(const Tensor& log_probs, const Tensor&, const Tensor&, const Tensor&,
                           int64_t, std::string_view reduction, bool) {
    Shape shape;
    if (parse_reduction(kName, reduction) == Reduction::none) shape.push(log_probs.size(1));
    return tenon::empty_tensor(IntList(shape), log_probs.dtype());
  }
  static Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                        const Tensor& target_lengths, int64_t blank, std::string_view reduction,
                        bool zero_infinity) {
    const Reduction how = parse_reduction(kName, reduction);
    check_floating(kName, "log_probs", log_probs);
    kernel::check_dtype(kName, "targets", targets.dtype(), tenon::integer_dtypes);
    if (log_probs.dim() != 3)
      refuse("'log_probs' must have shape [T, N, C], got " + shape_text(log_probs));
    const int64_t steps = log_probs.size(0), count = log_probs.size(1), classes = log_probs.size(2);
    if (blank < 0 || blank >= classes) {
      refuse("blank is " + std::to_string(blank) + ", expected a class from 0 to " +
             std::to_string(classes - 1));
    }
    const auto in = lengths_of("input_lengths", input_lengths, count, steps);
    const auto out = lengths_of("target_lengths", target_lengths, count,
                                targets.dim() == 2 ? targets.size(1) : targets.numel());
    const Paths paths(split(targets, out, count, classes, blank), blank);
    Tensor losses = losses_of(log_probs, paths, in, out);
    const Tensor impossible = losses.detach().eq(infinity);
    if (zero_infinity) losses = losses.masked_fill(impossible, 0);
    if (how != Reduction::mean) return reduce(losses, how);
    return (losses / target_lengths.clamp(1).to(losses.dtype())).mean();
  }

 private:
  static std::vector<std::vector<int64_t>> split(const Tensor& targets,
                                                 const std::vector<int64_t>& lengths, int64_t count,
                                                 int64_t classes, int64_t blank) {
    const bool joined = targets.dim() == 1;
    int64_t all = 0;
    for (const int64_t length : lengths) all += length;
    if (joined ? targets.numel() != all : targets.dim() != 2 || targets.size(0) != count) {
      refuse("'targets' must have shape [" + std::to_string(count) + ", S] or [" +
             std::to_string(all) + "], got " + shape_text(targets));
    }
    const auto labels = targets.to(tenon::i64).to_vector<int64_t>();
    std::vector<std::vector<int64_t>> found;
    auto from = labels.begin();
    for (const int64_t length : lengths) {
      found.emplace_back(from, from + length);
      from += joined ? length : targets.size(1);
      for (const int64_t label : found.back()) {
        if (label >= 0 && label < classes && label != blank) continue;
        refuse("'targets' has " + std::to_string(label) + ", expected classes from 0 to " +
               std::to_string(classes - 1) + " but the blank, " + std::to_string(blank));
      }
    }
    return found;
  }
  // log(exp(a) + exp(b) + exp(c)), with no gradient where all are -inf.
  static Tensor sum_of(const Tensor& a, const Tensor& b, const Tensor& c) {
    return tenon::stack({a, b, c}).logsumexp(0);
  }
  // The forward variables, step by step: the logarithm of the probability of all paths to a label.
  static Tensor losses_of(const Tensor& log_probs, const Paths& paths,
                          const std::vector<int64_t>& in, const std::vector<int64_t>& out) {
    const int64_t steps = log_probs.size(0), width = paths.width;
    const DType dtype = log_probs.dtype();
    const std::vector<int64_t> before_one{1, 0}, before_two{2, 0};
    Tensor state;
    const Tensor lengths = tenon::from_range(in.begin(), in.end()).unsqueeze(1);
    for (int64_t t = 0; t < steps; ++t) {
      const Tensor emitted = log_probs.select(0, t).gather(1, paths.labels);
      if (t == 0) {
        // A path begins with the first blank or the first label.
        const Tensor begins = tenon::arange(width).lt(2);
        state = tenon::where(begins, emitted, -infinity);
        continue;
      }
      const Tensor one = tenon::constant_pad_nd(state, before_one, -infinity).narrow(1, 0, width);
      const Tensor two = tenon::constant_pad_nd(state, before_two, -infinity).narrow(1, 0, width);
      const Tensor next = sum_of(state, one, tenon::where(paths.skips, two, -infinity)) + emitted;
      state = tenon::where(lengths > t, next, state);
    }
    return ends_of(state, dtype, in, out);
  }
  // A path ends with the last label or the blank behind it; without a step, an empty target is spelled.
  static Tensor ends_of(const Tensor& state, DType dtype, const std::vector<int64_t>& in,
                        const std::vector<int64_t>& out) {
    const auto count = static_cast<int64_t>(in.size());
    std::vector<int64_t> last, other;
    const Tensor spelled = tenon::empty_tensor({count}, tenon::boolean);
    const Tensor stepless = tenon::empty_tensor({count}, tenon::boolean);
    const Tensor labelled = tenon::empty_tensor({count, 1}, tenon::boolean);
    for (size_t i = 0; i < in.size(); ++i) {
      last.push_back(2 * out[i]);
      other.push_back(std::max<int64_t>(2 * out[i] - 1, 0));
      kernel::elements<bool>(labelled)[i] = out[i] > 0;
      kernel::elements<bool>(stepless)[i] = in[i] == 0;
      kernel::elements<bool>(spelled)[i] = in[i] == 0 && out[i] == 0;
    }
    const Tensor none = tenon::full({count}, infinity, dtype).masked_fill(spelled, 0);
    if (!state.defined()) return none;
    const auto at = [&](const std::vector<int64_t>& places) {
      return state.gather(1, tenon::from_range(places.begin(), places.end()).unsqueeze(1));
    };
    const Tensor ends = tenon::cat({at(last), tenon::where(labelled, at(other), -infinity)}, 1);
    return tenon::where(stepless, none, -ends.logsumexp(1));
  }
};

}  // namespace
TENON_OP(CtcLoss)
