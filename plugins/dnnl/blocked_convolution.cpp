// Convolutions from images in blocks of channels to such images, with what models do with the result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "blocked_maxima.hpp"
#include "packed_weights.hpp"
#include "pieces.hpp"
#include "plane_convolution.hpp"
#include "shared_ops/activation.hpp"
#include "shared_ops/convolution.hpp"

namespace {

using namespace nn;
using namespace onednn;
using tenon::kernel::OneOpenmpThread;
using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

constexpr int64_t kMostPlain = 3;  // channels of an image that a convolution reads in planes
constexpr int64_t kBandElements = int64_t{1} << 12;  // 16 KiB

Tag blocked_tag() { return block() == 16 ? Tag::aBcd16b : Tag::aBcd8b; }

// The last pass over a result, for what oneDNN's kernels do not do, or do without NaN: an addend, then a
// range, then a line.
struct Finish {
  float low, high, scale, shift;
  bool cuts;
};
struct FinishRun {
  TENON_INLINE static void run(float* values, const float* addend, const Finish* finish,
                               int64_t count) {
    const Finish f = *finish;
    if (addend != nullptr && f.cuts && f.scale == 1 && f.shift == 0) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) values[i] = cut(values[i] + addend[i], f);
    } else if (addend == nullptr && f.scale == 1 && f.shift == 0) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) values[i] = cut(values[i], f);
    } else if (addend == nullptr) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) values[i] = cut(values[i], f) * f.scale + f.shift;
    } else {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < count; ++i)
        values[i] = cut(values[i] + addend[i], f) * f.scale + f.shift;
    }
  }

 private:
  // A NaN stays one.
  TENON_INLINE static float cut(float value, const Finish& f) {
    value = value < f.low ? f.low : value;
    return value > f.high ? f.high : value;
  }
};

using Kind = Activation::Kind;

// Activations of oneDNN's kernels keep NaN but for those that cut.
std::optional<dnnl::algorithm> algorithm_of(Kind kind) {
  switch (kind) {
    case Kind::leaky_relu:
      return dnnl::algorithm::eltwise_relu;
    case Kind::sigmoid:
      return dnnl::algorithm::eltwise_logistic;
    case Kind::tanh:
      return dnnl::algorithm::eltwise_tanh;
    case Kind::silu:
      return dnnl::algorithm::eltwise_swish;
    case Kind::hardswish:
      return dnnl::algorithm::eltwise_hardswish;
    case Kind::hardsigmoid:
      return dnnl::algorithm::eltwise_linear;
    default:
      return std::nullopt;
  }
}

struct Problem {
  const Convolution& k;
  int64_t samples;
  bool plain, bias, winograd, sums;
  const Activation& activation;
};

class BlockedPlan : public onednn::Plan {
 public:
  explicit BlockedPlan(const Problem& p) : BlockedPlan(p, describe(p)) {}

  int64_t scratch_bytes() const { return Scratch::rounded(onednn::bytes_of(scratchpad_)); }
  int64_t output_elements() const { return onednn::bytes_of(output_) / 4; }
  void run(const float* image, const char* weights, const float* bias, float* output,
           char* scratch) const {
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, onednn::memory_at(image_, image)},
        {DNNL_ARG_WEIGHTS, onednn::memory_at(weight.packed(), weights)},
        {DNNL_ARG_DST, onednn::memory_at(output_, output)}};
    if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, onednn::memory_at(bias_, bias));
    onednn::execute(primitive_, scratchpad_, scratch, std::move(arguments));
  }

 private:
  using Made = dnnl::convolution_forward::primitive_desc;

  BlockedPlan(const Problem& p, const Made& made)
      : Plan(true),
        weight(plain(weight_dims(p.k)), made.weights_desc(), Side::Direction::in),
        image_(made.src_desc()),
        output_(made.dst_desc()),
        bias_(plain({p.k.features})),
        scratchpad_(made.scratchpad_desc()),
        primitive_(dnnl::convolution_forward(made)) {}

  static Description plain(const Dims& dims) {
    const auto strides =
        kernel::row_major_strides({dims.data(), static_cast<int64_t>(dims.size())});
    return {dims, dnnl::memory::data_type::f32, Dims(strides.begin(), strides.end())};
  }
  static Dims weight_dims(const Convolution& k) {
    const int64_t* kernel = k.patches.kernel;
    if (k.groups == 1) return {k.features, k.channels, kernel[1], kernel[2]};
    return {k.groups, k.group_features(), k.group_channels(), kernel[1], kernel[2]};
  }
  // F(4x4), which is not the first kernel for one image: F(2x2) is as slow as direct ones there.
  static void prefer_large_tiles(Made& made) {
    const Made first = made;
    do {
      if (std::string_view(made.impl_info_str()).find("wino_4x3") != std::string_view::npos) return;
    } while (made.next_impl());
    made = first;
  }
  static Made describe(const Problem& p) {
    using Forward = dnnl::convolution_forward;
    constexpr auto f32 = dnnl::memory::data_type::f32;
    const Convolution& k = p.k;
    const Patches& s = k.patches;
    const Description image({p.samples, k.channels, s.in[1], s.in[2]}, f32,
                            p.plain ? Tag::abcd : blocked_tag()),
        weights(weight_dims(k), f32, Tag::any),
        output({p.samples, k.features, s.out[1], s.out[2]}, f32, blocked_tag()),
        bias = p.bias ? plain({k.features}) : Description();
    const Dims stride = {s.stride[1], s.stride[2]},
               dilation = {s.dilation[1] - 1, s.dilation[2] - 1},
               before = {s.padding[1], s.padding[2]},
               behind = {s.padding[1] + s.further[1], s.padding[2] + s.further[2]};
    constexpr auto kind = dnnl::prop_kind::forward_inference;
    const auto algorithm =
        p.winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
    const Forward::desc description = p.bias
                                          ? Forward::desc(kind, algorithm, image, weights, bias,
                                                          output, stride, dilation, before, behind)
                                          : Forward::desc(kind, algorithm, image, weights, output,
                                                          stride, dilation, before, behind);
    dnnl::primitive_attr attributes;  // not a copy: copies share one state
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops after;
    const Activation& a = p.activation;
    if (const auto function = algorithm_of(a.kind)) {
      if (p.sums) after.append_sum(1);
      const bool line = a.kind == Kind::hardsigmoid;
      const double alpha = a.kind == Kind::silu                 ? 1
                           : line || a.kind == Kind::leaky_relu ? a.alpha
                                                                : 0;
      after.append_eltwise(1, *function, static_cast<float>(alpha),
                           line ? static_cast<float>(a.beta) : 0);
      if (a.is_scaled() && !line) {
        after.append_eltwise(1, dnnl::algorithm::eltwise_linear, static_cast<float>(a.scale),
                             static_cast<float>(a.shift));
      }
    }
    attributes.set_post_ops(after);
    Made made(description, attributes, onednn::engine());
    if (p.winograd) prefer_large_tiles(made);
    if (std::string_view(made.impl_info_str()).find("ref") == 0)
      k.refuse("oneDNN has only a slow kernel for these sizes");
    return made;
  }

 public:
  const Side weight;

 private:
  const Description image_, output_, bias_, scratchpad_;
  const dnnl::primitive primitive_;
};

using PlanPointer = std::shared_ptr<const BlockedPlan>;

PlanPointer plan_of(const Problem& p) {
  const Convolution& k = p.k;
  const auto number = [](double value) {
    int64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value));
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
  };
  onednn::Numbers key = {
      onednn::kBlocked, p.samples, k.channels, k.features, k.groups,
      p.plain,          p.bias,    p.winograd, p.sums,     static_cast<int64_t>(p.activation.kind)};
  if (algorithm_of(p.activation.kind)) {
    for (const double value :
         {p.activation.alpha, p.activation.beta, p.activation.scale, p.activation.shift})
      key.push_back(number(value));
  }
  const Patches& s = k.patches;
  for (const auto& values : {s.in, s.kernel, s.stride, s.padding, s.further, s.dilation})
    key.insert(key.end(), values + 1, values + 3);
  return onednn::PlanCache::get().find<BlockedPlan>(key, [&]() -> PlanPointer {
    const OneOpenmpThread serial;
    try {
      return std::make_shared<const BlockedPlan>(p);
    } catch (const dnnl::error& error) {
      k.refuse(std::string("oneDNN has no kernel for these sizes: ") + error.what());
    }
  });
}

// Samples that are computed at once. Winograd's transforms are shared by the tiles of several images.
int64_t samples_at_once(const Convolution& k, bool winograd) {
  const int64_t products = std::max<int64_t>(1, k.multiply_adds() / std::max<int64_t>(k.batch, 1));
  const int64_t least = winograd ? onednn::kWinogradProducts : onednn::kPieceProducts;
  return std::clamp<int64_t>(least / products, 1, std::max<int64_t>(k.batch, 1));
}
// Blocks of features into which a small batch is cut, by shape alone: work for several threads.
int64_t feature_blocks(const Convolution& k, bool winograd) {
  if (k.groups != 1 || winograd || k.batch >= onednn::kManySamples) return 1;
  int64_t blocks =
      std::min(k.features / onednn::kBlockFeatures,
               k.multiply_adds() / std::max<int64_t>(k.batch, 1) / onednn::kPieceProducts);
  while (blocks > 1 && (k.features % blocks != 0 || k.features / blocks % block() != 0)) --blocks;
  return std::max<int64_t>(blocks, 1);
}

struct Conv2dBlocked {
  static constexpr auto schema =
      "dnnl.conv2d_blocked(Tensor input, Tensor weight, " NN_FUSED_PARAMETERS
      ", bool winograd=False, int[2] pool_size=1, int[2]? pool_stride=None, int[2] pool_padding=0, "
      "int[2] pool_dilation=1, bool pool_ceil_mode=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"op": "dnnl.to_blocked", "input": {"shape": [1, 16, 5, 4], "dtype": "f32", "requires_grad": false}},
           "weight": {"shape": [16, 16, 3, 3], "dtype": "f32", "requires_grad": false},
           "bias": {"shape": [16], "dtype": "f32", "requires_grad": false}, "padding": 1, "activation": "relu"}])";
  static constexpr auto doc =
      "nn.functional.conv2d_fused of images in blocks of channels, as dnnl.to_blocked returns "
      "them; images of up to 3 channels may be [N, C, H, W]. addend has the layout of the "
      "convolution's result. winograd: by Winograd's algorithm, for "
      "kernels of 3 x 3 with strides "
      "of 1: fewer multiplications, errors some ten times those of sums, and infinities and NaN "
      "spread to the results next to theirs. The pool_ parameters are those of max_pool2d, which "
      "takes the result while it is in the cache.";

  static Tensor shape_rule(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& addend, std::string_view activation, double alpha,
                           double beta, double scale, double shift, IntList stride,
                           const Argument& padding, IntList dilation, int64_t groups, bool,
                           IntList pool_size, std::optional<IntList> pool_stride,
                           IntList pool_padding, IntList pool_dilation, bool pool_ceil_mode) {
    const Activation given(name, activation, alpha, beta, scale, shift);
    const Convolution k = convolution(input, weight, bias, stride, padding, dilation, groups);
    check_addend(k, addend);
    return empty_result(
        k, windows(k, pool_size, pool_stride, pool_padding, pool_dilation, pool_ceil_mode));
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor&, std::string_view, double, double, double, double,
                               IntList stride, const Argument& padding, IntList dilation,
                               int64_t groups, bool, IntList, std::optional<IntList>, IntList,
                               IntList, bool) {
    return convolution(input, weight, bias, stride, padding, dilation, groups).multiply_adds();
  }
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& addend, std::string_view activation, double alpha,
                        double beta, double scale, double shift, IntList stride,
                        const Argument& padding, IntList dilation, int64_t groups, bool winograd,
                        IntList pool_size, std::optional<IntList> pool_stride, IntList pool_padding,
                        IntList pool_dilation, bool pool_ceil_mode) {
    const Activation given(name, activation, alpha, beta, scale, shift);
    const Convolution k = convolution(input, weight, bias, stride, padding, dilation, groups);
    check_addend(k, addend);
    const Windows pool =
        windows(k, pool_size, pool_stride, pool_padding, pool_dilation, pool_ceil_mode);
    const Tensor result = empty_result(k, pool);
    if (result.numel() == 0) return result;
    if (k.channels == 0) k.refuse("'input' has no channels");
    const auto whole = [](const Tensor& x) {
      return x.defined() ? tenon::contiguous_as(x, tenon::f32) : x;
    };
    const auto elements = [](const Tensor& x) {
      return x.defined() ? x.data<const float>() : nullptr;
    };
    const Tensor x = whole(input), w = whole(weight), b = whole(bias), a = whole(addend);
    const Elements e{x.data<const float>(), elements(b), elements(a), result.data<float>()};
    const bool plain = input.dim() == 4;
    if (plain && PlaneConvolution::takes(k))
      compute_plane(k, e, w.data<const float>(), given, pool);
    else
      compute(k, e, w, given, winograd, plain, pool);
    return result;
  }

 private:
  static constexpr auto name = "conv2d_blocked";
  struct Elements {
    const float *image, *bias, *addend;
    float* output;
  };

  static Convolution convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                 IntList stride, const Argument& padding, IntList dilation,
                                 int64_t groups) {
    kernel::check_dtype(name, "input", input.dtype(), kF32);
    check_same_dtype(name, "input", input, "weight", weight);
    if (weight.dim() != 4) {
      throw tenon::ValueError("conv2d_blocked(): 'weight' must have 4 dimensions, got shape " +
                              shape_text(weight));
    }
    const int64_t channels = groups > 0 ? weight.shape()[1] * groups : 0;
    const bool plain = input.dim() == 4 && input.shape()[1] <= kMostPlain;
    if (!plain) {
      check_blocked(name, "input", input);
      if (input.shape()[1] != blocks_of(channels)) {
        throw tenon::ValueError("conv2d_blocked(): 'weight' of shape " + shape_text(weight) +
                                " takes " + std::to_string(channels) + " channels, 'input' has " +
                                std::to_string(input.shape()[1]) + " blocks of " +
                                std::to_string(block()));
      }
    }
    const std::array<int64_t, 4> shape = {input.shape()[0], plain ? input.shape()[1] : channels,
                                          input.shape()[2], input.shape()[3]};
    const Convolution k(name, input.dtype(), {shape.data(), 4}, weight.shape(), stride, padding,
                        dilation, groups);
    check_bias(name, input, bias, k.features);
    // Blocks of a group are whole, or each channel is a group.
    const bool alone = k.group_channels() == 1 && k.group_features() == 1;
    if (groups != 1 && !alone &&
        (k.group_channels() % block() != 0 || k.group_features() % block() != 0))
      k.refuse("groups must be of one channel each, or of whole blocks");
    return k;
  }
  static void check_addend(const Convolution& k, const Tensor& addend) {
    if (!addend.defined()) return;
    kernel::check_shape(name, "addend", addend,
                        blocked_shape(k.batch, k.features, k.patches.out[1], k.patches.out[2]));
    kernel::check_dtype(name, "addend", addend.dtype(), kF32);
  }
  static Windows windows(const Convolution& k, IntList size, std::optional<IntList> stride,
                         IntList padding, IntList dilation, bool ceil_mode) {
    return {name, {k.patches.out + 1, 2}, size, stride, padding, dilation, ceil_mode};
  }
  static Tensor empty_result(const Convolution& k, const Windows& pool) {
    return tenon::empty_tensor(blocked_shape(k.batch, k.features, pool.out[1], pool.out[2]));
  }
  static bool is_pool(const Windows& pool) {
    return pool.kernel[1] * pool.kernel[2] > 1 || pool.out_size() != pool.in_size();
  }
  static void compute(const Convolution& whole, const Elements& e, const Tensor& weight,
                      const Activation& activation, bool winograd, bool plain,
                      const Windows& pool) {
    const bool in_kernel = algorithm_of(activation.kind).has_value(), pools = is_pool(pool);
    const int64_t blocks = feature_blocks(whole, winograd);
    Convolution k = whole;
    k.features /= blocks;
    const int64_t each = blocks > 1 ? 1 : samples_at_once(k, winograd);
    const Samples pieces(k.batch, (k.batch + each - 1) / each);
    const auto problem = [&](int64_t samples) {
      return Problem{
          k,         samples, plain, e.bias != nullptr, winograd, in_kernel && e.addend != nullptr,
          activation};
    };
    const PlanPointer plan = plan_of(problem(pieces.each)),
                      last = pieces.is_even() ? plan : plan_of(problem(k.batch % pieces.each));
    const auto weights_of = [&](const PlanPointer& one, int64_t at) {
      if (blocks == 1) return onednn::packed_weights(*one, one->weight, weight);
      Shape shape(weight.shape());
      shape[0] = k.features;
      return onednn::packed_weights(*one, one->weight,
                                    tenon::alias_tensor(weight, shape, weight.strides(),
                                                        at * k.features * weight.strides()[0]));
    };
    std::vector<Tensor> weights, last_weights;
    for (int64_t i = 0; i < blocks; ++i) {
      weights.push_back(weights_of(plan, i));
      last_weights.push_back(plan->weight.packed() == last->weight.packed() ? weights.back()
                                                                            : weights_of(last, i));
    }
    const int64_t image = plain ? k.channels * k.input_plane()
                                : blocks_of(k.channels) * block() * k.input_plane(),
                  part = blocks_of(k.features) * block() * k.positions(), output = part * blocks;
    const Finish finish = finish_of(activation, in_kernel);
    const bool finishes = (!in_kernel && e.addend != nullptr) || finish.cuts || finish.scale != 1 ||
                          finish.shift != 0;
    const int64_t workspace = std::max(plan->scratch_bytes(), last->scratch_bytes());
    const int64_t convolved =
        pools ? Scratch::rounded(pieces.each * part * static_cast<int64_t>(sizeof(float))) : 0;
    tenon::parallel_for(0, pieces.count() * blocks, 1, [&](int64_t begin, int64_t end) {
      const OneOpenmpThread serial;
      Scratch scratch(workspace + convolved);
      char* const space = scratch.take(workspace);
      auto* const before_pool = reinterpret_cast<float*>(scratch.take(convolved));
      for (int64_t i = begin; i < end; ++i) {
        // All pieces of one block of features, then the next: weights are larger than images.
        const int64_t piece = i % pieces.count(), place = i / pieces.count();
        const bool full = pieces.of(piece) == pieces.each;
        const int64_t at = pieces.begin(piece) * output + place * part,
                      count = pieces.of(piece) * part;
        float* const to = pools ? before_pool : e.output + at;
        const float* const addend = e.addend == nullptr ? nullptr : e.addend + at;
        if (in_kernel && addend != nullptr) std::copy_n(addend, count, to);
        const Tensor& packed = (full ? weights : last_weights)[static_cast<size_t>(place)];
        (full ? plan : last)
            ->run(e.image + pieces.begin(piece) * image,
                  static_cast<const char*>(packed.view_record().data),
                  e.bias == nullptr ? nullptr : e.bias + place * k.features, to, space);
        if (finishes)
          tenon::kernel::run<FinishRun>(to, in_kernel ? nullptr : addend, &finish, count);
        if (pools) {
          const int64_t positions = k.positions();
          largest_of_windows(pool, to, e.output + at / positions * pool.out_size(),
                             count / positions / block());
        }
      }
    });
  }
  static void compute_plane(const Convolution& k, const Elements& e, const float* weights,
                            const Activation& activation, const Windows& pool) {
    if (algorithm_of(activation.kind)) {
      compute_plane_by_ops(k, e, weights, activation, pool);
      return;
    }
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const Finish finish = finish_of(activation, false);
    const bool finishes = e.addend != nullptr || finish.scale != 1 || finish.shift != 0,
               pools = is_pool(pool);
    const PlaneConvolution planes(
        k, weights, e.bias,
        finishes ? CutRange{-infinity, infinity} : CutRange{finish.low, finish.high});
    const int64_t blocks = blocks_of(k.features), rows = k.patches.out[1],
                  row = block() * k.patches.out[2], count = rows * row;
    const Bands bands(pool, pools ? row : 0);
    const int64_t grain =
        1 + onednn::kPieceProducts / std::max<int64_t>(1, k.depth() * blocks * count);
    tenon::parallel_for(0, k.batch, grain, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(static_cast<size_t>(planes.scratch())),
          before_pool(static_cast<size_t>(pools ? bands.rows * row : 0));
      const float* image = nullptr;
      for (int64_t i = begin * blocks; i < end * blocks; ++i) {
        if (i % blocks == 0)
          image = planes.arranged(e.image + i / blocks * k.input_plane(), scratch.data());
        for (int64_t y = 0; y < rows; y += bands.rows) {
          const int64_t height = std::min(bands.rows, rows - y), at = i * count + y * row;
          float* const to = pools ? before_pool.data() : e.output + at;
          planes.run(i % blocks, image, y, height, to);
          if (finishes)
            tenon::kernel::run<FinishRun>(to, e.addend == nullptr ? nullptr : e.addend + at,
                                          &finish, height * row);
          if (pools) bands.pool(y, height, to, e.output + i * block() * pool.out_size());
        }
      }
    });
  }
  // Rows of an image that are computed and pooled at once.
  struct Bands {
    const Windows& whole;
    int64_t rows;

    // As many as stay in the first-level cache, `row` elements each, where no window has rows of two
    // bands; otherwise all. 0 elements: all.
    Bands(const Windows& pool, int64_t row) : whole(pool), rows(pool.in[1]) {
      const int64_t step = pool.stride[1];
      if (row > 0 && pool.padding[1] == 0 && (pool.kernel[1] - 1) * pool.dilation[1] < step)
        rows = std::min(rows, std::max<int64_t>(1, kBandElements / (step * row)) * step);
    }
    void pool(int64_t first, int64_t height, const float* from, float* image) const {
      Windows band = whole;
      const int64_t y = first / whole.stride[1], left = whole.out[1] - y;
      band.in[1] = height;
      if (rows < whole.in[1]) band.out[1] = std::min(left, rows / whole.stride[1]);
      largest_of_windows(band, from, image + y * whole.out[2] * block(), 1);
    }
  };
  // With activations that nn computes by ops.
  static void compute_plane_by_ops(const Convolution& k, const Elements& e, const float* weights,
                                   const Activation& activation, const Windows& pool) {
    constexpr int64_t ones[] = {1, 1}, zeros[] = {0, 0};
    const Windows none = windows(k, {ones, 2}, std::nullopt, {zeros, 2}, {ones, 2}, false);
    const Tensor sums = empty_result(k, none);
    compute_plane(k, {e.image, e.bias, e.addend, sums.data<float>()}, weights,
                  Activation(name, "none", 0, 0, 1, 0), none);
    Tensor y = activated(sums, activation);
    if (activation.scale != 1) y = y * activation.scale;
    if (activation.shift != 0) y = y + activation.shift;
    y = tenon::contiguous(y);
    largest_of_windows(pool, y.data<const float>(), e.output, k.batch * blocks_of(k.features));
  }
  static Finish finish_of(const Activation& a, bool in_kernel) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Finish finish{-infinity, infinity, 1, 0, false};
    const bool line = a.kind == Kind::hardsigmoid;
    if (in_kernel && !line) return finish;
    if (a.kind == Kind::relu || a.kind == Kind::clip || line) {
      finish.cuts = true;
      finish.low = a.kind == Kind::clip ? static_cast<float>(a.alpha) : 0;
      finish.high = a.kind == Kind::clip ? static_cast<float>(a.beta) : line ? 1 : infinity;
    }
    finish.scale = static_cast<float>(a.scale);
    finish.shift = static_cast<float>(a.shift);
    return finish;
  }
};

}  // namespace
TENON_OP(Conv2dBlocked)
