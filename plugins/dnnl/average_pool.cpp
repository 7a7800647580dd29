// avg_pool2d and avg_pool3d and their gradient, by oneDNN's primitives for planes.
#include "shared_ops/average_pool.hpp"

#include <algorithm>
#include <memory>

#include "execution.hpp"
#include "pieces.hpp"
#include "plan_cache.hpp"
#include "thresholds.hpp"

namespace {

using namespace nn;
using onednn::Samples, onednn::Scratch;
using tenon::kernel::OneOpenmpThread;
using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;

enum class Direction : int64_t { forward, backward };

// Planes that a kernel takes at once: batch and channels are alike, so that they can be grouped again.
constexpr int64_t kGroup = onednn::kPlanesAtOnce;

// Some groups of planes.
class AveragePlan : public onednn::Plan {
 public:
  AveragePlan(Direction direction, const AveragePool& pool, int64_t groups)
      : input_(planes(groups, pool.windows, pool.windows.in)),
        output_(planes(groups, pool.windows, pool.windows.out)),
        direction_(direction) {
    const Windows& w = pool.windows;
    Dims before = spatial(w, w.padding), behind = before;
    for (size_t i = 0; i < behind.size(); ++i) {
      const size_t d = i + 3 - behind.size();
      behind[i] =
          std::max<int64_t>(0, (w.out[d] - 1) * w.stride[d] + w.kernel[d] - w.in[d] - w.padding[d]);
    }
    const auto algorithm = pool.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                                  : dnnl::algorithm::pooling_avg_exclude_padding;
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_inference, algorithm, input_, output_, spatial(w, w.stride),
         spatial(w, w.kernel), before, behind},
        onednn::caller_scratchpad(), onednn::engine());
    if (direction == Direction::forward) {
      scratchpad_ = forward.scratchpad_desc();
      primitive_ = dnnl::pooling_forward(forward);
      return;
    }
    const dnnl::pooling_backward::primitive_desc backward(
        {algorithm, input_, output_, spatial(w, w.stride), spatial(w, w.kernel), before, behind},
        onednn::caller_scratchpad(), onednn::engine(), forward);
    scratchpad_ = backward.scratchpad_desc();
    primitive_ = dnnl::pooling_backward(backward);
  }
  int64_t scratch_bytes() const { return onednn::bytes_of(scratchpad_); }
  // Forward `from` has inputs and `to` outputs, backward the other way round.
  void run(const float* from, float* to, char* scratch) const {
    const bool forward = direction_ == Direction::forward;
    onednn::execute(primitive_, scratchpad_, scratch,
                    {{forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST,
                      onednn::memory_at(forward ? input_ : output_, from)},
                     {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC,
                      onednn::memory_at(forward ? output_ : input_, to)}});
  }

 private:
  static Dims spatial(const Windows& w, const int64_t* values) {
    return {values + 3 - w.dimensions, values + 3};
  }
  static Description planes(int64_t groups, const Windows& w, const int64_t* sizes) {
    Dims dims = {groups, kGroup};
    dims.insert(dims.end(), sizes + 3 - w.dimensions, sizes + 3);
    return {dims, dnnl::memory::data_type::f32,
            w.dimensions == 3 ? dnnl::memory::format_tag::ncdhw : dnnl::memory::format_tag::nchw};
  }

  const Description input_, output_;
  const Direction direction_;
  Description scratchpad_;
  dnnl::primitive primitive_;
};

std::shared_ptr<const AveragePlan> plan_of(Direction direction, const AveragePool& pool,
                                           int64_t groups) {
  onednn::Numbers key = {onednn::kAverage, static_cast<int64_t>(direction), pool.count_include_pad,
                         groups};
  const Windows& w = pool.windows;
  for (const auto& values : {w.in, w.out, w.kernel, w.stride, w.padding})
    key.insert(key.end(), values, values + 3);
  return onednn::PlanCache::get().find<AveragePlan>(key, [&] {
    const OneOpenmpThread serial;  // a primitive is made for a number of threads
    return std::make_shared<const AveragePlan>(direction, pool, groups);
  });
}

// From planes of `in` elements to as many of `out`.
void run(Direction direction, const AveragePool& pool, int64_t planes, const Tensor& from_tensor,
         const Tensor& to_tensor) {
  const Windows& w = pool.windows;
  const int64_t in = direction == Direction::forward ? w.in_size() : w.out_size();
  const int64_t out = direction == Direction::forward ? w.out_size() : w.in_size();
  const double taps = static_cast<double>(planes) * static_cast<double>(w.work());
  const auto share = static_cast<int64_t>(std::min(taps / onednn::kPieceTaps, 1e15));
  const Samples pieces(planes / kGroup, std::clamp<int64_t>(share, 1, planes / kGroup));
  const auto plan = plan_of(direction, pool, pieces.each);
  const auto last =
      pieces.is_even() ? plan : plan_of(direction, pool, pieces.of(pieces.count() - 1));
  const auto rest = planes % kGroup == 0 ? nullptr : plan_of(direction, pool, 1);
  const auto* const from = from_tensor.data<const float>();
  auto* const to = to_tensor.data<float>();
  tenon::parallel_for(0, pieces.count(), 1, [&](int64_t begin, int64_t end) {
    const OneOpenmpThread serial;
    const int64_t bytes = std::max({plan->scratch_bytes(), last->scratch_bytes(),
                                    rest != nullptr ? rest->scratch_bytes() : 0});
    Scratch scratch(bytes);
    char* const space = scratch.take(bytes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = pieces.begin(i) * kGroup;
      (pieces.of(i) == pieces.each ? plan : last)->run(from + first * in, to + first * out, space);
      // The last planes, with some of those before them once more.
      if (rest != nullptr && i + 1 == pieces.count())
        rest->run(from + (planes - kGroup) * in, to + (planes - kGroup) * out, space);
    }
  });
}

struct Primitives {
  static Tensor average(const AveragePool& pool, const Tensor& input) {
    const Tensor result = tenon::empty_tensor(pool.windows.output_shape(input.shape()));
    run(Direction::forward, pool, Planes(input.shape(), pool.windows.dimensions).planes,
        tenon::contiguous_as(input, tenon::f32), result);
    return result;
  }
  static Tensor spread(const AveragePool& pool, const Tensor& grad_output, IntList input_size) {
    const Tensor result = tenon::empty_tensor(input_size);
    run(Direction::backward, pool, Planes(input_size, pool.windows.dimensions).planes,
        tenon::contiguous_as(grad_output, tenon::f32), result);
    return result;
  }
};

// Arguments that are not valid throw, which declines as well: the next provider refuses them.
constexpr auto not_f32 = "a dtype other than f32";

template <class Op>
struct Average : AvgPoolRules<Op, Primitives> {
  using Rules = AvgPoolRules<Op, Primitives>;
  static const char* declines(const Tensor& input, IntList kernel_size,
                              std::optional<IntList> stride, IntList padding, bool ceil_mode,
                              bool count_include_pad, std::optional<int64_t> divisor_override) {
    if (input.dtype() != tenon::f32) return not_f32;
    return onednn::declined_average(Rules::pool(input, kernel_size, stride, padding, ceil_mode,
                                                count_include_pad, divisor_override),
                                    input.shape());
  }
};

// Samples are large enough that f32 ones are taken; `tenon check` compares these with f64 ones, of the
// next provider.
struct AvgPool2d : AvgPoolDeclaration<2>, Average<AvgPool2d> {
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 17, 12, 12]}, "kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": false, "check": {"fast_mode": true}}])";
};
struct AvgPool3d : AvgPoolDeclaration<3>, Average<AvgPool3d> {
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 16, 8, 8, 8]}, "kernel_size": 2, "check": {"fast_mode": true}}])";
};
struct AvgPoolGrad : AvgPoolGradRules<AvgPoolGrad, Primitives> {
  static constexpr auto samples =
      R"([{"grad_output": {"shape": [2, 16, 10, 10]}, "input_size": [2, 16, 20, 20], "kernel_size": [2, 2],
           "stride": [2, 2], "padding": [0, 0], "check": {"fast_mode": true}}])";
  static const char* declines(const Tensor& grad_output, IntList input_size, IntList kernel_size,
                              std::optional<IntList> stride, IntList padding, bool ceil_mode,
                              bool count_include_pad, std::optional<int64_t> divisor_override) {
    if (grad_output.dtype() != tenon::f32) return not_f32;
    return onednn::declined_average(pool(grad_output, input_size, kernel_size, stride, padding,
                                         ceil_mode, count_include_pad, divisor_override),
                                    input_size);
  }
};

}  // namespace
TENON_OPS(AvgPool2d, AvgPool3d, AvgPoolGrad)
