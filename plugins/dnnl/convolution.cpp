// conv1d, conv2d and conv3d and their gradients, by primitives of oneDNN.
#include "shared_ops/convolution.hpp"

#include <algorithm>
#include <memory>

#include "packed_weights.hpp"
#include "pieces.hpp"
#include "thresholds.hpp"
#include "unpacking.hpp"

namespace {

using namespace nn;
using onednn::Samples, onednn::Scratch, onednn::Side, onednn::Task;
using tenon::kernel::OneOpenmpThread;
using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;

// ---- a convolution in oneDNN's words ----

Dims spatial(const Convolution& k, const int64_t* values) {
  return {values + 3 - k.dimensions, values + 3};
}
Dims with_spatial(Dims front, const Convolution& k, const int64_t* values) {
  front.insert(front.end(), values + 3 - k.dimensions, values + 3);
  return front;
}
int64_t product_of(const Dims& dims, size_t first) {
  int64_t product = 1;
  for (size_t d = first; d < dims.size(); ++d) product *= dims[d];
  return product;
}
Description row_major(const Dims& dims) {
  const auto strides = kernel::row_major_strides({dims.data(), static_cast<int64_t>(dims.size())});
  return {dims, dnnl::memory::data_type::f32, Dims(strides.begin(), strides.end())};
}
Description any_layout(const Dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

// A convolution of so many samples, as oneDNN describes it.
struct Problem {
  Dims image, weight, output, bias, stride, dilation, before, behind;

  Problem(const Convolution& k, int64_t samples)
      : image(with_spatial({samples, k.channels}, k, k.patches.in)),
        weight(with_spatial(k.groups == 1 ? Dims{k.features, k.channels}
                                          : Dims{k.groups, k.group_features(), k.group_channels()},
                            k, k.patches.kernel)),
        output(with_spatial({samples, k.features}, k, k.patches.out)),
        bias({k.features}),
        stride(spatial(k, k.patches.stride)),
        dilation(spatial(k, k.patches.dilation)),
        before(spatial(k, k.patches.padding)),
        behind(spatial(k, k.patches.further)) {
    for (size_t d = 0; d < before.size(); ++d) {
      behind[d] += before[d];
      --dilation[d];  // oneDNN counts what is between elements
    }
  }
  dnnl::convolution_forward::primitive_desc forward(bool with_bias) const {
    using Forward = dnnl::convolution_forward;
    constexpr auto kind = dnnl::prop_kind::forward;
    constexpr auto algorithm = dnnl::algorithm::convolution_direct;
    const Forward::desc description =
        with_bias
            ? Forward::desc(kind, algorithm, any_layout(image), any_layout(weight), row_major(bias),
                            any_layout(output), stride, dilation, before, behind)
            : Forward::desc(kind, algorithm, any_layout(image), any_layout(weight),
                            any_layout(output), stride, dilation, before, behind);
    return {description, onednn::caller_scratchpad(), onednn::engine()};
  }
  dnnl::convolution_backward_data::primitive_desc for_input() const {
    return {{dnnl::algorithm::convolution_direct, any_layout(image), any_layout(weight),
             any_layout(output), stride, dilation, before, behind},
            onednn::caller_scratchpad(),
            onednn::engine(),
            forward(false)};
  }
  dnnl::convolution_backward_weights::primitive_desc for_weight() const {
    return {{dnnl::algorithm::convolution_direct, any_layout(image), any_layout(weight),
             any_layout(output), stride, dilation, before, behind},
            onednn::caller_scratchpad(),
            onednn::engine(),
            forward(false)};
  }
};

// ---- plans ----

// A primitive for so many samples, with the reorders around it.
class ConvolutionPlan : public onednn::Plan {
 public:
  ConvolutionPlan(const Problem& problem, const dnnl::convolution_forward::primitive_desc& made)
      : ConvolutionPlan(Task::output, problem, made, made.src_desc(), made.weights_desc(),
                        made.dst_desc(), dnnl::convolution_forward(made)) {}
  ConvolutionPlan(const Problem& problem,
                  const dnnl::convolution_backward_data::primitive_desc& made)
      : ConvolutionPlan(Task::input, problem, made, made.diff_src_desc(), made.weights_desc(),
                        made.diff_dst_desc(), dnnl::convolution_backward_data(made)) {}
  ConvolutionPlan(const Problem& problem,
                  const dnnl::convolution_backward_weights::primitive_desc& made)
      : ConvolutionPlan(Task::weight, problem, made, made.src_desc(), made.diff_weights_desc(),
                        made.diff_dst_desc(), dnnl::convolution_backward_weights(made)) {}

  int64_t scratch_bytes() const {
    return Scratch::rounded(image.packed_bytes()) + Scratch::rounded(output.packed_bytes()) +
           shared_scratch_bytes();
  }
  // Images and outputs as tensors have them; the weight, which the task reads or writes, packed.
  // `bias` may be null, and so may `packed_images`, the same images packed already. The tail is that of
  // the task output.
  void run(const float* images, const char* packed_images, const char* weights, const float* bias,
           const float* outputs, const Tail<float>& tail, Scratch scratch) const {
    const auto place = [&](const Side& side, const float* plain) {
      return side.is_plain() ? reinterpret_cast<const char*>(plain)
                             : scratch.take(side.packed_bytes());
    };
    const char* const image_at = packed_images != nullptr ? packed_images : place(image, images);
    const char* const output_at = place(output, outputs);
    char* const shared = scratch.take(shared_scratch_bytes());
    const auto pack = [&](const Side& side, const float* plain, const char* packed) {
      if (!side.is_plain()) side.run(plain, const_cast<char*>(packed), shared);
    };
    const auto unpack = [&](const Side& side, const char* packed, const float* plain) {
      if (!side.is_plain()) side.run(packed, const_cast<float*>(plain), shared);
    };
    if (task_ != Task::input && packed_images == nullptr) pack(image, images, image_at);
    if (task_ != Task::output) pack(output, outputs, output_at);
    const bool forward = task_ == Task::output;
    std::unordered_map<int, dnnl::memory> arguments = {
        {task_ == Task::input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
         onednn::memory_at(image.packed(), image_at)},
        {task_ == Task::weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
         onednn::memory_at(weight.packed(), weights)},
        {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST,
         onednn::memory_at(output.packed(), output_at)}};
    if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, onednn::memory_at(bias_, bias));
    onednn::execute(primitive_, scratchpad_, shared, std::move(arguments));
    if (forward) finish(tail, output_at, const_cast<float*>(outputs), unpack);
    if (task_ == Task::input) unpack(image, image_at, images);
  }

 private:
  ConvolutionPlan(Task task, const Problem& problem, const dnnl::primitive_desc& made,
                  const Description& packed_image, const Description& packed_weight,
                  const Description& packed_output, dnnl::primitive primitive)
      : image(row_major(problem.image), packed_image, direction(task != Task::input)),
        weight(row_major(problem.weight), packed_weight, direction(task != Task::weight)),
        output(row_major(problem.output), packed_output, direction(task != Task::output)),
        task_(task),
        block_(block_of(packed_output, problem.output)),
        samples_(problem.output[0]),
        features_(problem.output[1]),
        positions_(product_of(problem.output, 2)),
        bias_(row_major(problem.bias)),
        scratchpad_(made.scratchpad_desc()),
        primitive_(std::move(primitive)) {}
  static Side::Direction direction(bool in) {
    return in ? Side::Direction::in : Side::Direction::out;
  }
  // Channels of a block where the packed output has whole blocks of images, which unpacking.hpp reads;
  // otherwise 0.
  static int64_t block_of(const Description& packed, const Dims& dims) {
    using Tag = dnnl::memory::format_tag;
    if (dims.size() != 4) return 0;
    for (const auto& [block, tag] : {std::pair{16, Tag::aBcd16b}, std::pair{8, Tag::aBcd8b}}) {
      if (dims[1] % block == 0 && packed == Description(dims, dnnl::memory::data_type::f32, tag))
        return block;
    }
    return 0;
  }
  // The output where it belongs, with its tail.
  template <class Unpack>
  void finish(const Tail<float>& tail, const char* packed, float* outputs,
              const Unpack& unpack) const {
    const auto* const blocks = reinterpret_cast<const float*>(packed);
    if (tail.is_empty() || block_ == 0) {
      unpack(output, packed, outputs);
      for (int64_t n = 0; n < samples_; ++n) {
        const int64_t at = n * features_ * positions_;
        apply_tail(tail.from(0, at), outputs + at, features_, positions_);
      }
    } else if (block_ == 16) {
      onednn::unpack<16>(blocks, tail, outputs, samples_, features_, positions_);
    } else {
      onednn::unpack<8>(blocks, tail, outputs, samples_, features_, positions_);
    }
  }
  // One block for what runs one after the other.
  int64_t shared_scratch_bytes() const {
    return Scratch::rounded(
        std::max({image.scratch_bytes(), output.scratch_bytes(), onednn::bytes_of(scratchpad_)}));
  }

 public:
  const Side image, weight, output;

 private:
  const Task task_;
  const int64_t block_, samples_, features_, positions_;
  const Description bias_, scratchpad_;
  const dnnl::primitive primitive_;
};

using PlanPointer = std::shared_ptr<const ConvolutionPlan>;

PlanPointer plan_of(Task task, const Convolution& k, int64_t samples, bool with_bias) {
  onednn::Numbers key = {onednn::kConvolution,
                         static_cast<int64_t>(task),
                         k.dimensions,
                         samples,
                         k.channels,
                         k.features,
                         k.groups,
                         with_bias};
  const Patches& p = k.patches;
  for (const auto& values : {p.in, p.kernel, p.stride, p.padding, p.further, p.dilation})
    key.insert(key.end(), values + 3 - k.dimensions, values + 3);
  return onednn::PlanCache::get().find<ConvolutionPlan>(key, [&]() -> PlanPointer {
    const OneOpenmpThread serial;  // a primitive is made for a number of threads
    const Problem problem(k, samples);
    switch (task) {
      case Task::output:
        return std::make_shared<const ConvolutionPlan>(problem, problem.forward(with_bias));
      case Task::input:
        return std::make_shared<const ConvolutionPlan>(problem, problem.for_input());
      default:
        return std::make_shared<const ConvolutionPlan>(problem, problem.for_weight());
    }
  });
}

// ---- pieces ----

int64_t pieces_of(const Convolution& k) {
  return std::clamp<int64_t>(k.multiply_adds() / onednn::kPieceProducts, 1, k.batch);
}
// Blocks of features into which the samples of a small batch are cut, so that one image has work for
// several threads, and each block's weights stay in a cache. Each reads the image.
int64_t feature_blocks(const Convolution& k) {
  if (k.groups != 1 || k.batch >= onednn::kManySamples) return 1;
  int64_t blocks = std::min(k.features / onednn::kBlockFeatures,
                            k.multiply_adds() / k.batch / onednn::kPieceProducts);
  while (blocks > 1 && k.features % blocks != 0) --blocks;
  return std::max<int64_t>(blocks, 1);
}
// Sums of a gradient for weights are added up, which is worth while where each weight has many products.
int64_t sums_of(const Convolution& k) {
  const int64_t products = k.batch * k.positions();
  return std::min(
      {int64_t{8}, pieces_of(k), std::max<int64_t>(1, products / onednn::kSumProducts)});
}

struct Primitives {
  static Tensor convolve(const Convolution& k, const Tensor& input, const Tensor& weight,
                         const Tensor& bias) {
    const Tensor none;
    return convolve(k, input, weight, bias, {none, none, none, false});
  }
  static Tensor convolve(const Convolution& k, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, const TailOperands& tail) {
    const Tensor result = tenon::empty_tensor(k.output_shape());
    const Tensor x = whole(input), b = whole_or_none(bias), factor = whole_or_none(tail.factor),
                 term = whole_or_none(tail.term), addend = whole_or_none(tail.addend);
    each_piece(Task::output, k, weight, elements(b), x.data<const float>(), result.data<float>(),
               {elements(factor), elements(term), elements(addend), tail.relu});
    return result;
  }
  static Tensor input_gradient(const Convolution& k, const Tensor& weight,
                               const Tensor& grad_output) {
    const Tensor result = tenon::empty_tensor(k.input_shape());
    const Tensor g = whole(grad_output);
    each_piece(Task::input, k, weight, nullptr, result.data<float>(), g.data<const float>(), {});
    return result;
  }
  static Tensor weight_gradient(const Convolution& k, const Tensor& input,
                                const Tensor& grad_output, IntList weight_size) {
    const Tensor result = tenon::empty_tensor(weight_size);
    const Tensor x = whole(input), g = whole(grad_output);
    const Samples pieces = even_sums(k);
    const PlanPointer plan = plan_of(Task::weight, k, pieces.each, false);
    const Side& side = plan->weight;
    const int64_t bytes = side.is_plain() ? result.numel() * 4 : side.packed_bytes();
    const Tensor sums = tenon::empty_tensor({pieces.count(), bytes / 4});
    auto* const first = sums.data<float>();
    tenon::parallel_for(0, pieces.count(), 1, [&](int64_t begin, int64_t end) {
      const OneOpenmpThread serial;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = pieces.begin(i);
        plan->run(x.data<const float>() + at * k.channels * k.input_plane(), nullptr,
                  reinterpret_cast<const char*>(first + i * (bytes / 4)), nullptr,
                  g.data<const float>() + at * k.features * k.positions(), {},
                  Scratch(plan->scratch_bytes()));
      }
    });
    for (int64_t i = 1; i < pieces.count(); ++i) {
      const float* from = first + i * (bytes / 4);
      for (int64_t j = 0; j < bytes / 4; ++j) first[j] += from[j];
    }
    if (side.is_plain()) {
      std::copy(first, first + result.numel(), result.data<float>());
    } else {
      const OneOpenmpThread serial;
      Scratch scratch(side.scratch_bytes());
      side.run(first, result.data<float>(), scratch.take(side.scratch_bytes()));
    }
    return result;
  }

 private:
  static Tensor whole(const Tensor& tensor) { return tenon::contiguous_as(tensor, tenon::f32); }
  static Tensor whole_or_none(const Tensor& tensor) {
    return tensor.defined() ? whole(tensor) : tensor;
  }
  static const float* elements(const Tensor& tensor) {
    return tensor.defined() ? tensor.data<const float>() : nullptr;
  }

  // The pieces of a task that reads weights.
  static void each_piece(Task task, const Convolution& k, const Tensor& weight, const float* bias,
                         const float* images, const float* outputs, const Tail<float>& tail) {
    const int64_t blocks = task == Task::output ? feature_blocks(k) : 1;
    Convolution block = k;
    block.features /= blocks;
    const Samples pieces(k.batch, blocks > 1 ? k.batch : pieces_of(k));
    const PlanPointer plan = plan_of(task, block, pieces.each, bias != nullptr);
    const PlanPointer last =
        pieces.is_even() ? plan : plan_of(task, block, k.batch % pieces.each, bias != nullptr);
    const std::vector<Tensor> packed = pack(*plan, block, weight, blocks);
    const std::vector<Tensor> packed_last = last->weight.packed() == plan->weight.packed()
                                                ? packed
                                                : pack(*last, block, weight, blocks);
    // The images that all blocks of features read.
    const Tensor packed_images = blocks > 1 ? pack_images(*plan, block, images) : Tensor();
    tenon::parallel_for(0, pieces.count() * blocks, 1, [&](int64_t begin, int64_t end) {
      const OneOpenmpThread serial;
      const Tensor memory =
          tenon::empty_tensor({std::max(plan->scratch_bytes(), last->scratch_bytes())}, tenon::u8);
      for (int64_t i = begin; i < end; ++i) {
        // All pieces of one block of features, then the next: weights are larger than images.
        const int64_t piece = i % pieces.count(), place = i / pieces.count(),
                      first = place * block.features;
        const bool full = pieces.of(piece) == pieces.each;
        const int64_t at = pieces.begin(piece), element = (at * k.features + first) * k.positions();
        const Tensor& weights = (full ? packed : packed_last)[static_cast<size_t>(place)];
        (full ? plan : last)
            ->run(images + at * k.channels * k.input_plane(),
                  packed_images.defined()
                      ? bytes_at(packed_images, piece * plan->image.packed_bytes())
                      : nullptr,
                  static_cast<const char*>(weights.view_record().data),
                  bias == nullptr ? bias : bias + first, outputs + element,
                  tail.from(first, element), Scratch(memory));
      }
    });
  }
  // The packed images of a batch that is cut into samples.
  static Tensor pack_images(const ConvolutionPlan& plan, const Convolution& k,
                            const float* images) {
    const Side& side = plan.image;
    if (side.is_plain()) return {};
    const Tensor packed = tenon::empty_tensor({k.batch, side.packed_bytes()}, tenon::u8);
    tenon::parallel_for(0, k.batch, 1, [&](int64_t begin, int64_t end) {
      const OneOpenmpThread serial;
      const Tensor scratch = tenon::empty_tensor({side.scratch_bytes()}, tenon::u8);
      for (int64_t n = begin; n < end; ++n) {
        side.run(images + n * k.channels * k.input_plane(),
                 bytes_at(packed, n * side.packed_bytes()), bytes_at(scratch, 0));
      }
    });
    return packed;
  }
  static char* bytes_at(const Tensor& memory, int64_t offset) {
    return static_cast<char*>(memory.view_record().data) + offset;
  }
  static std::vector<Tensor> pack(const ConvolutionPlan& plan, const Convolution& block,
                                  const Tensor& weight, int64_t blocks) {
    if (blocks == 1) return {onednn::packed_weights(plan, plan.weight, weight)};
    const Tensor rows = whole(weight);
    Shape shape(rows.shape());
    shape[0] = block.features;
    std::vector<Tensor> packed;
    for (int64_t i = 0; i < blocks; ++i) {
      const Tensor part =
          tenon::alias_tensor(rows, shape, rows.strides(), i * block.features * rows.strides()[0]);
      packed.push_back(onednn::packed_weights(plan, plan.weight, part));
    }
    return packed;
  }
  // All pieces have one layout of sums: a batch that cannot be divided evenly is cut less often.
  static Samples even_sums(const Convolution& k) {
    int64_t count = sums_of(k);
    while (k.batch % count != 0) --count;
    return {k.batch, count};
  }
};

// ---- ops ----

// Arguments that are not valid throw, which declines as well: the next provider refuses them.
constexpr auto not_f32 = "a dtype other than f32";

template <class Op>
struct Forward : ConvRules<Op, Primitives> {
  static const char* declines(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              IntList stride, const Argument& padding, IntList dilation,
                              int64_t groups) {
    if (input.dtype() != tenon::f32) return not_f32;
    return onednn::declined_convolution(
        conv(Op::name, input, weight, bias, stride, padding, dilation, groups), Task::output);
  }
};
template <class Op>
struct Input : ConvInputRules<Op, Primitives> {
  static const char* declines(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                              IntList stride, const Argument& padding, IntList dilation,
                              int64_t groups) {
    if (weight.dtype() != tenon::f32) return not_f32;
    return onednn::declined_convolution(
        conv_input(Op::name, input_size, weight, grad_output, stride, padding, dilation, groups),
        Task::input);
  }
};
template <class Op>
struct Weight : ConvWeightRules<Op, Primitives> {
  static const char* declines(const Tensor& input, IntList weight_size, const Tensor& grad_output,
                              IntList stride, const Argument& padding, IntList dilation,
                              int64_t groups) {
    if (input.dtype() != tenon::f32) return not_f32;
    return onednn::declined_convolution(
        conv_weight(Op::name, input, weight_size, grad_output, stride, padding, dilation, groups),
        Task::weight);
  }
};

// Samples are large enough that f32 ones are taken; `tenon check` compares these with f64 ones, of the
// next provider.
template <int d>
struct Conv : ConvDeclaration<d>, Forward<Conv<d>> {
  static constexpr auto samples = family_choice<d>(
      R"([{"input": {"shape": [2, 16, 60]}, "weight": {"shape": [16, 16, 5]}, "bias": {"shape": [16]}, "check": {"fast_mode": true}}])",
      R"([{"input": {"shape": [2, 8, 14, 14]}, "weight": {"shape": [8, 8, 3, 3]}, "bias": {"shape": [8]}, "check": {"fast_mode": true}}])",
      R"([{"input": {"shape": [2, 8, 6, 6, 6]}, "weight": {"shape": [8, 8, 3, 3, 3]}, "bias": {"shape": [8]}, "check": {"fast_mode": true}}])");
};
template <int d>
struct ConvInput : ConvInputDeclaration<d>, Input<ConvInput<d>> {
  static constexpr auto samples = family_choice<d>(
      R"([{"input_size": [2, 16, 60], "weight": {"shape": [16, 16, 5]}, "grad_output": {"shape": [2, 16, 56]}, "check": {"fast_mode": true}}])",
      R"([{"input_size": [2, 8, 14, 14], "weight": {"shape": [8, 8, 3, 3]}, "grad_output": {"shape": [2, 8, 12, 12]}, "check": {"fast_mode": true}}])",
      R"([{"input_size": [2, 8, 6, 6, 6], "weight": {"shape": [8, 8, 3, 3, 3]}, "grad_output": {"shape": [2, 8, 4, 4, 4]}, "check": {"fast_mode": true}}])");
};
template <int d>
struct ConvWeight : ConvWeightDeclaration<d>, Weight<ConvWeight<d>> {
  static constexpr auto samples = family_choice<d>(
      R"([{"input": {"shape": [2, 16, 60]}, "weight_size": [16, 16, 5], "grad_output": {"shape": [2, 16, 56]}, "check": {"fast_mode": true}}])",
      R"([{"input": {"shape": [2, 8, 14, 14]}, "weight_size": [8, 8, 3, 3], "grad_output": {"shape": [2, 8, 12, 12]}, "check": {"fast_mode": true}}])",
      R"([{"input": {"shape": [2, 8, 6, 6, 7]}, "weight_size": [8, 8, 2, 2, 2], "grad_output": {"shape": [2, 8, 5, 5, 6]}, "check": {"fast_mode": true}}])");
};
struct Conv2dTail : ConvTailRules<Conv2dTail, Primitives> {
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 8, 14, 14]}, "weight": {"shape": [16, 8, 3, 3]}, "bias": {"shape": [16]},
           "factor": {"shape": [16]}, "term": {"shape": [16]}, "addend": {"shape": [2, 16, 12, 12]}, "relu": true,
           "check": {"fast_mode": true}}])";
  static const char* declines(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              const Tensor& factor, const Tensor& term, const Tensor& addend,
                              bool relu, IntList stride, const Argument& padding, IntList dilation,
                              int64_t groups) {
    if (input.dtype() != tenon::f32) return not_f32;
    const nn::Convolution k = conv(name, input, weight, bias, stride, padding, dilation, groups);
    TailOperands{factor, term, addend, relu}.check(k, input);
    return onednn::declined_convolution(k, Task::output);
  }
};

}  // namespace
TENON_OP(Conv2dTail)
TENON_OPS_1D_TO_3D(Conv)
TENON_OPS_1D_TO_3D(ConvInput)
TENON_OPS_1D_TO_3D(ConvWeight)
