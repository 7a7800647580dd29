// linear by oneDNN's inner product: rows by weights that are packed before.
#include "shared_ops/linear.hpp"

#include <algorithm>
#include <memory>

#include "packed_weights.hpp"
#include "pieces.hpp"
#include "thresholds.hpp"

namespace {

using onednn::Samples, onednn::Scratch;
using tenon::Tensor;
using tenon::kernel::OneOpenmpThread;
using Description = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Primitive = dnnl::inner_product_forward;
constexpr auto kF32 = dnnl::memory::data_type::f32;

struct Sizes {
  int64_t rows, inputs, outputs;
  bool has_bias;
};

Description matrix(int64_t rows, int64_t columns, Tag layout = Tag::ab) {
  return {{rows, columns}, kF32, layout};
}
Primitive::primitive_desc describe(const Sizes& sizes, const Description& weights) {
  const Description input = matrix(sizes.rows, sizes.inputs),
                    output = matrix(sizes.rows, sizes.outputs), bias({sizes.outputs}, kF32, Tag::a);
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  const auto description = sizes.has_bias ? Primitive::desc(kind, input, weights, bias, output)
                                          : Primitive::desc(kind, input, weights, output);
  return {description, onednn::caller_scratchpad(), onednn::engine()};
}

// One layout of weights for any number of rows: that which is the fastest for a piece of rows.
struct WeightsPlan : onednn::Plan {
  const onednn::Side side;

  WeightsPlan(int64_t outputs, int64_t inputs)
      : side(matrix(outputs, inputs),
             describe({onednn::kRowsAtOnce, inputs, outputs, true},
                      matrix(outputs, inputs, Tag::any))
                 .weights_desc(),
             onednn::Side::Direction::in) {}
};

class RowsPlan : public onednn::Plan {
 public:
  RowsPlan(const Sizes& sizes, const Description& weights) {
    const auto made = describe(sizes, weights);
    primitive_ = Primitive(made);
    input_ = made.src_desc();
    weights_ = made.weights_desc();
    bias_ = made.bias_desc();
    output_ = made.dst_desc();
    scratchpad_ = made.scratchpad_desc();
  }
  int64_t scratch_bytes() const { return onednn::bytes_of(scratchpad_); }
  // `bias` is null where the plan has none.
  void run(const float* input, const void* weights, const float* bias, float* output,
           char* scratch) const {
    using onednn::memory_at;
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, memory_at(input_, input)},
        {DNNL_ARG_WEIGHTS, memory_at(weights_, weights)},
        {DNNL_ARG_DST, memory_at(output_, output)}};
    if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, memory_at(bias_, bias));
    onednn::execute(primitive_, scratchpad_, scratch, std::move(arguments));
  }

 private:
  Description input_, weights_, bias_, output_, scratchpad_;
  Primitive primitive_;
};

// Plans are made for one thread.
std::shared_ptr<const WeightsPlan> weights_plan(int64_t outputs, int64_t inputs) {
  return onednn::PlanCache::get().find<WeightsPlan>({onednn::kLinearWeights, outputs, inputs}, [&] {
    const OneOpenmpThread serial;
    return std::make_shared<const WeightsPlan>(outputs, inputs);
  });
}
std::shared_ptr<const RowsPlan> rows_plan(const Sizes& sizes, const Description& weights) {
  return onednn::PlanCache::get().find<RowsPlan>(
      {onednn::kLinear, sizes.rows, sizes.inputs, sizes.outputs, sizes.has_bias}, [&] {
        const OneOpenmpThread serial;
        return std::make_shared<const RowsPlan>(sizes, weights);
      });
}

// One of each output.
Tensor whole_bias(const Tensor& bias, int64_t outputs) {
  if (!bias.defined()) return bias;
  const int64_t stride = bias.numel() == 1 ? 0 : bias.strides()[0];
  return tenon::contiguous_as(tenon::alias_tensor(bias, {&outputs, 1}, {&stride, 1}, 0),
                              tenon::f32);
}

struct Linear : nn::LinearRules<Linear> {
  static constexpr auto samples =
      R"([{"input": {"shape": [40, 192], "requires_grad": false}, "weight": {"shape": [160, 192], "requires_grad": false},
           "bias": {"shape": [160], "requires_grad": false}, "check": {"fast_mode": true}},
          {"input": {"shape": [2, 260, 24]}, "weight": {"shape": [24, 24]}, "bias": {"shape": [24]},
           "check": {"fast_mode": true}}])";

  static const char* declines(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    if (!shapes_fit(input, weight, bias)) return "arguments that do not fit";
    const bool trained = tenon::GradMode::enabled() && weight.requires_grad();
    const int64_t outputs = weight.shape()[0], inputs = weight.shape()[1];
    // First what most small models are declined by.
    if (const char* reason = onednn::declined_linear(input.numel(), inputs, outputs, trained))
      return reason;
    const auto is_f32 = [](const Tensor& tensor) { return tensor.dtype() == tenon::f32; };
    if (!is_f32(input) || !is_f32(weight) || (bias.defined() && !is_f32(bias)))
      return "a dtype other than f32";
    if (!weight.is_contiguous()) return "weights that are not contiguous";
    if (input.numel() / inputs < onednn::kLeastRowsPacked && !onednn::can_be_kept(weight))
      return "fewer than 512 rows, by weights that cannot be kept";
    return nullptr;
  }

  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    Tensor result = shape_rule(input, weight, bias);
    const int64_t outputs = weight.shape()[0], inputs = weight.shape()[1],
                  rows = input.numel() / inputs;
    const auto weights = weights_plan(outputs, inputs);
    // An input with strides is copied: nn takes longer with it, unless the outputs are few.
    const Tensor packed = onednn::packed_weights(*weights, weights->side, weight),
                 from_tensor = tenon::contiguous_as(input, tenon::f32),
                 added = whole_bias(bias, outputs);
    const Samples pieces(rows, onednn::linear_pieces(rows, inputs, outputs));
    const auto plan_of = [&](int64_t count) {
      return rows_plan({count, inputs, outputs, bias.defined()}, weights->side.packed());
    };
    const auto plan = plan_of(pieces.each);
    const auto last = pieces.is_even() ? plan : plan_of(pieces.of(pieces.count() - 1));
    const auto* const from = from_tensor.data<const float>();
    const void* const matrix = packed.view_record().data;
    const float* const each_added = added.defined() ? added.data<const float>() : nullptr;
    auto* const to = result.data<float>();
    tenon::parallel_for(0, pieces.count(), 1, [&](int64_t begin, int64_t end) {
      const OneOpenmpThread serial;
      const int64_t bytes = std::max(plan->scratch_bytes(), last->scratch_bytes());
      Scratch scratch(bytes);
      char* const space = scratch.take(bytes);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = pieces.begin(i);
        (pieces.of(i) == pieces.each ? plan : last)
            ->run(from + row * inputs, matrix, each_added, to + row * outputs, space);
      }
    });
    return result;
  }
};

}  // namespace
TENON_OP(Linear)
