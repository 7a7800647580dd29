// lstm and gru, forward, by oneDNN's primitives: some steps of some samples at a time.
#include "shared_ops/recurrent.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "packed_weights.hpp"
#include "pieces.hpp"
#include "thresholds.hpp"

namespace {

using nn::Recurrence, nn::Tensor;
using onednn::Samples, onednn::Scratch;
using tenon::kernel::OneOpenmpThread;
using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr auto float_bytes = static_cast<int64_t>(sizeof(float));

// ---- what oneDNN calls differently ----

// oneDNN has a GRU's update gate first, nn its reset gate.
struct LstmGates {
  static constexpr auto plan_kind = onednn::kLstm;
  static constexpr int64_t count = 4;
  static constexpr int64_t order[] = {0, 1, 2, 3};

  static dnnl::primitive_desc describe(const Description& source, const Description& state,
                                       const Description& input_weights,
                                       const Description& hidden_weights, const Description& bias,
                                       const Description& output, dnnl::rnn_direction direction,
                                       dnnl::primitive& made) {
    const dnnl::lstm_forward::primitive_desc description(
        {dnnl::prop_kind::forward_inference, direction, source, state, state, input_weights,
         hidden_weights, bias, output, state, state},
        onednn::caller_scratchpad(), onednn::engine());
    made = dnnl::lstm_forward(description);
    return description;
  }
};
struct GruGates {
  static constexpr auto plan_kind = onednn::kGru;
  static constexpr int64_t count = 3;
  static constexpr int64_t order[] = {1, 0, 2};

  // The variant of the GRU that resets the hidden state's share, not the state.
  static dnnl::primitive_desc describe(const Description& source, const Description& state,
                                       const Description& input_weights,
                                       const Description& hidden_weights, const Description& bias,
                                       const Description& output, dnnl::rnn_direction direction,
                                       dnnl::primitive& made) {
    const dnnl::lbr_gru_forward::primitive_desc description(
        {dnnl::prop_kind::forward_inference, direction, source, state, input_weights,
         hidden_weights, bias, output, state},
        onednn::caller_scratchpad(), onednn::engine());
    made = dnnl::lbr_gru_forward(description);
    return description;
  }
};
// Biases: one of each gate, and of a GRU that of the new gate's hidden share.
constexpr int64_t kBiases = 4;

// ---- weights ----

// Weights [gates * n, columns] become [columns, gates, n], the layout that is the fastest for some steps
// of a few samples, whatever their numbers are.
class GateWeights : public onednn::Plan {
 public:
  GateWeights(int64_t gates, int64_t n, int64_t columns)
      : size_(n * columns),
        bytes_(gates * size_ * float_bytes),
        n_(n),
        gate_({{n, columns}, kF32, Dims{columns, 1}}, {{n, columns}, kF32, Dims{1, gates * n}},
              onednn::Side::Direction::in) {}

  template <class Gates>
  Tensor of(const Tensor& weight) const {
    return onednn::packed_weights(*this, bytes_, weight, [&](const void* from, void* to) {
      Scratch scratch(gate_.scratch_bytes());
      char* const space = scratch.take(gate_.scratch_bytes());
      for (int64_t g = 0; g < Gates::count; ++g) {
        const float* const rows = static_cast<const float*>(from) + Gates::order[g] * size_;
        float* const place = static_cast<float*>(to) + g * n_;
        if (gate_.is_plain()) {
          std::copy_n(rows, size_, place);  // one column
        } else {
          gate_.run(rows, place, space);
        }
      }
    });
  }

 private:
  const int64_t size_, bytes_, n_;
  const onednn::Side gate_;
};

template <class Gates>
Tensor gate_weights(const Tensor& weight) {
  const int64_t n = weight.shape()[0] / Gates::count, columns = weight.shape()[1];
  const auto plan = onednn::PlanCache::get().find<GateWeights>(
      {onednn::kGateWeights, Gates::count, n, columns},
      [&] { return std::make_shared<const GateWeights>(Gates::count, n, columns); });
  return plan->template of<Gates>(weight);
}

// [4, n], in oneDNN's order.
template <class Gates>
Tensor joined_bias(const Recurrence& r) {
  const int64_t n = r.width();
  Tensor joined = tenon::empty_tensor({kBiases, n});
  const auto whole = [](const Tensor& bias) {
    return bias.defined() ? tenon::contiguous_as(bias, tenon::f32) : bias;
  };
  const Tensor own = whole(r.bias_ih), before = whole(r.bias_hh);
  const auto value = [](const Tensor& bias, int64_t i) {
    return bias.defined() ? bias.data<const float>()[i] : 0.0F;
  };
  auto* to = joined.data<float>();
  for (int64_t g = 0; g < kBiases; ++g) {
    // The last gate of a GRU has its two biases apart.
    const bool apart = Gates::count < kBiases && g + 1 >= Gates::count;
    const int64_t first = (apart ? Gates::count - 1 : Gates::order[g]) * n;
    for (int64_t i = first; i < first + n; ++i) {
      *to++ = apart ? value(g < Gates::count ? own : before, i) : value(own, i) + value(before, i);
    }
  }
  return joined;
}

// ---- plans ----

// The properties of a layer that plans depend on, beside steps and samples.
struct Layer {
  int64_t features, width;
  bool reverse;
};
struct Pointers {
  const float *input, *hidden, *cell, *input_weights, *hidden_weights, *bias;
  float *output, *last_hidden, *last_cell;
};

// Some steps of some samples, which follow each other: one product for the input of all steps.
template <class Gates>
class StepsPlan : public onednn::Plan {
 public:
  StepsPlan(const Layer& layer, int64_t steps, int64_t samples)
      : source_({steps, samples, layer.features}, kF32, Tag::tnc),
        output_({steps, samples, layer.width}, kF32, Tag::tnc),
        state_({1, 1, samples, layer.width}, kF32, Tag::ldnc),
        input_weights_({1, 1, layer.features, Gates::count, layer.width}, kF32, Tag::ldigo),
        hidden_weights_({1, 1, layer.width, Gates::count, layer.width}, kF32, Tag::ldigo),
        bias_({1, 1, kBiases, layer.width}, kF32, Tag::ldgo) {
    const dnnl::primitive_desc made =
        Gates::describe(source_, state_, input_weights_, hidden_weights_, bias_, output_,
                        layer.reverse ? dnnl::rnn_direction::unidirectional_right2left
                                      : dnnl::rnn_direction::unidirectional_left2right,
                        primitive_);
    scratchpad_ = made.scratchpad_desc();
  }
  int64_t scratch_bytes() const { return onednn::bytes_of(scratchpad_); }
  void run(const Pointers& at, char* scratch) const {
    using onednn::memory_at;
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC_LAYER, memory_at(source_, at.input)},
        {DNNL_ARG_SRC_ITER, memory_at(state_, at.hidden)},
        {DNNL_ARG_WEIGHTS_LAYER, memory_at(input_weights_, at.input_weights)},
        {DNNL_ARG_WEIGHTS_ITER, memory_at(hidden_weights_, at.hidden_weights)},
        {DNNL_ARG_BIAS, memory_at(bias_, at.bias)},
        {DNNL_ARG_DST_LAYER, memory_at(output_, at.output)},
        {DNNL_ARG_DST_ITER, memory_at(state_, at.last_hidden)}};
    if (at.cell != nullptr) {
      arguments.emplace(DNNL_ARG_SRC_ITER_C, memory_at(state_, at.cell));
      arguments.emplace(DNNL_ARG_DST_ITER_C, memory_at(state_, at.last_cell));
    }
    onednn::execute(primitive_, scratchpad_, scratch, std::move(arguments));
  }

 private:
  Description source_, output_, state_, input_weights_, hidden_weights_, bias_, scratchpad_;
  dnnl::primitive primitive_;
};

template <class Gates>
std::shared_ptr<const StepsPlan<Gates>> plan_of(const Layer& layer, int64_t steps,
                                                int64_t samples) {
  if (steps == 0 || samples == 0) return nullptr;
  return onednn::PlanCache::get().find<StepsPlan<Gates>>(
      {Gates::plan_kind, layer.features, layer.width, layer.reverse, steps, samples}, [&] {
        const OneOpenmpThread serial;  // a primitive is made for a number of threads
        return std::make_shared<const StepsPlan<Gates>>(layer, steps, samples);
      });
}

// ---- a layer ----

template <class Gates>
class Sequences {
 public:
  explicit Sequences(const Recurrence& r)
      : r_(r),
        layer_{r.features(), r.width(), r.reverse},
        pieces_(r.batch(), piece_count(r)),
        at_once_(std::min(r.steps(), onednn::kStepsAtOnce)) {}

  std::tuple<Tensor, Tensor, Tensor> run() const {
    auto results = r_.results();
    const auto& [output, last_hidden, last_cell] = results;
    const auto whole = [](const Tensor& tensor) {
      return tensor.defined() ? tenon::contiguous_as(tensor, tenon::f32) : tensor;
    };
    const Tensor input = whole(r_.input), hidden = whole(r_.hidden), cell = whole(r_.cell),
                 bias = joined_bias<Gates>(r_), input_weights = gate_weights<Gates>(r_.weight_ih),
                 hidden_weights = gate_weights<Gates>(r_.weight_hh);
    const auto packed = [](const Tensor& weights) {
      return static_cast<const float*>(weights.view_record().data);
    };
    const Pointers batch = {input.data<const float>(),
                            hidden.data<const float>(),
                            cell.defined() ? cell.data<const float>() : nullptr,
                            packed(input_weights),
                            packed(hidden_weights),
                            bias.data<const float>(),
                            output.data<float>(),
                            last_hidden.data<float>(),
                            last_cell.defined() ? last_cell.data<float>() : nullptr};
    const int64_t rest = r_.steps() % at_once_, last = pieces_.of(pieces_.count() - 1);
    const Plans plans{plan_of<Gates>(layer_, at_once_, pieces_.each),
                      plan_of<Gates>(layer_, rest, pieces_.each)},
        last_plans{plan_of<Gates>(layer_, at_once_, last), plan_of<Gates>(layer_, rest, last)};
    tenon::parallel_for(0, pieces_.count(), 1, [&](int64_t begin, int64_t end) {
      const OneOpenmpThread serial;
      for (int64_t i = begin; i < end; ++i)
        run_piece(i, pieces_.of(i) == pieces_.each ? plans : last_plans, batch);
    });
    return results;
  }

 private:
  struct Plans {
    std::shared_ptr<const StepsPlan<Gates>> full, rest;
  };
  static int64_t piece_count(const Recurrence& r) {
    return (r.batch() + onednn::kSequences - 1) / onednn::kSequences;
  }

  // The samples of a piece, some steps after the others.
  void run_piece(int64_t piece, const Plans& plans, const Pointers& batch) const {
    const int64_t first = pieces_.begin(piece), samples = pieces_.of(piece),
                  inputs = samples * layer_.features, states = samples * layer_.width;
    const int64_t plan_bytes =
        std::max(plans.full->scratch_bytes(), plans.rest ? plans.rest->scratch_bytes() : 0);
    const bool whole = pieces_.count() == 1;
    const std::array<int64_t, 5> sizes = {plan_bytes, states * float_bytes, states * float_bytes,
                                          whole ? 0 : at_once_ * inputs * float_bytes,
                                          whole ? 0 : at_once_ * states * float_bytes};
    int64_t bytes = 0;
    for (const int64_t size : sizes) bytes += Scratch::rounded(size);
    Scratch scratch(bytes);
    char* const space = scratch.take(sizes[0]);
    const auto floats = [&](size_t i) { return reinterpret_cast<float*>(scratch.take(sizes[i])); };
    float *const hidden = floats(1), *const cell = floats(2), *const input = floats(3),
                 *const output = floats(4);
    Pointers at = batch;
    at.hidden += first * layer_.width;
    at.last_hidden += first * layer_.width;
    if (at.cell != nullptr) {
      at.cell += first * layer_.width;
      at.last_cell += first * layer_.width;
    }
    for (int64_t done = 0; done < r_.steps();) {
      const auto& plan = r_.steps() - done >= at_once_ ? plans.full : plans.rest;
      const int64_t steps = std::min(at_once_, r_.steps() - done),
                    from = layer_.reverse ? r_.steps() - done - steps : done,
                    row = from * r_.batch() + first;
      const float* const inputs_here = batch.input + row * layer_.features;
      float* const outputs_here = batch.output + row * layer_.width;
      at.input = whole ? inputs_here : input;
      at.output = whole ? outputs_here : output;
      for (int64_t t = 0; t < steps && !whole; ++t)
        std::copy_n(inputs_here + t * r_.batch() * layer_.features, inputs, input + t * inputs);
      plan->run(at, space);
      for (int64_t t = 0; t < steps && !whole; ++t)
        std::copy_n(output + t * states, states, outputs_here + t * r_.batch() * layer_.width);
      done += steps;
      // The next steps begin with these states and write others to their place.
      std::copy_n(at.last_hidden, states, hidden);
      at.hidden = hidden;
      if (at.cell == nullptr) continue;
      std::copy_n(at.last_cell, states, cell);
      at.cell = cell;
    }
  }

  const Recurrence& r_;
  const Layer layer_;
  const Samples pieces_;
  const int64_t at_once_;
};

// ---- ops ----

// Null where oneDNN takes a layer: forward, without what a gradient or tangent would need.
const char* declined(const char* op, const Recurrence& r, int64_t gates) {
  if (r.input.dtype() != tenon::f32) return "a dtype other than f32";
  const bool records = tenon::GradMode::enabled();
  for (const Tensor* operand :
       {&r.input, &r.hidden, &r.cell, &r.weight_ih, &r.weight_hh, &r.bias_ih, &r.bias_hh}) {
    if (!operand->defined()) continue;
    const uint32_t flags = operand->view_record().flags;
    if (records && (flags & TENON_TENSOR_REQUIRES_GRAD) != 0) return "a gradient is needed";
    if ((flags & TENON_TENSOR_HAS_TANGENT) != 0) return "an operand has a tangent";
  }
  r.check(op, gates);
  return onednn::declined_recurrence(r);
}

struct Lstm : nn::LstmDeclaration {
  static constexpr auto samples =
      R"([{"input": {"shape": [9, 4, 32], "requires_grad": false}, "hidden": {"shape": [4, 32], "requires_grad": false},
           "cell": {"shape": [4, 32], "requires_grad": false}, "weight_ih": {"shape": [128, 32], "requires_grad": false},
           "weight_hh": {"shape": [128, 32], "requires_grad": false}, "bias_ih": {"shape": [128], "requires_grad": false},
           "bias_hh": {"shape": [128], "requires_grad": false}}])";

  static const char* declines(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                              const Tensor& weight_ih, const Tensor& weight_hh,
                              const Tensor& bias_ih, const Tensor& bias_hh, bool reverse) {
    return declined(name, {input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, reverse},
                    gates);
  }
  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden,
                                                    const Tensor& cell, const Tensor& weight_ih,
                                                    const Tensor& weight_hh, const Tensor& bias_ih,
                                                    const Tensor& bias_hh, bool reverse) {
    const Recurrence r{input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, reverse};
    r.check(name, gates);
    return Sequences<LstmGates>(r).run();
  }
  static std::tuple<Tensor, Tensor, Tensor> shape_rule(const Tensor& input, const Tensor& hidden,
                                                       const Tensor& cell, const Tensor& weight_ih,
                                                       const Tensor& weight_hh,
                                                       const Tensor& bias_ih, const Tensor& bias_hh,
                                                       bool reverse) {
    const Recurrence r{input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, reverse};
    r.check(name, gates);
    return r.results();
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                               const Tensor& weight_ih, const Tensor& weight_hh,
                               const Tensor& bias_ih, const Tensor& bias_hh, bool reverse) {
    return Recurrence{input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, reverse}
        .multiply_adds();
  }
};

struct Gru : nn::GruDeclaration {
  static constexpr auto samples =
      R"([{"input": {"shape": [9, 4, 32], "requires_grad": false}, "hidden": {"shape": [4, 32], "requires_grad": false},
           "weight_ih": {"shape": [96, 32], "requires_grad": false}, "weight_hh": {"shape": [96, 32], "requires_grad": false},
           "bias_ih": {"shape": [96], "requires_grad": false}, "bias_hh": {"shape": [96], "requires_grad": false}}])";

  static const char* declines(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih,
                              const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh,
                              bool reverse) {
    const Tensor none;
    return declined(name, {input, hidden, none, weight_ih, weight_hh, bias_ih, bias_hh, reverse},
                    gates);
  }
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden,
                                            const Tensor& weight_ih, const Tensor& weight_hh,
                                            const Tensor& bias_ih, const Tensor& bias_hh,
                                            bool reverse) {
    const Tensor none;
    const Recurrence r{input, hidden, none, weight_ih, weight_hh, bias_ih, bias_hh, reverse};
    r.check(name, gates);
    auto [output, last_hidden, cell] = Sequences<GruGates>(r).run();
    return {std::move(output), std::move(last_hidden)};
  }
  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& input, const Tensor& hidden,
                                               const Tensor& weight_ih, const Tensor& weight_hh,
                                               const Tensor& bias_ih, const Tensor& bias_hh,
                                               bool reverse) {
    const Tensor none;
    const Recurrence r{input, hidden, none, weight_ih, weight_hh, bias_ih, bias_hh, reverse};
    r.check(name, gates);
    auto [output, last_hidden, cell] = r.results();
    return {std::move(output), std::move(last_hidden)};
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih,
                               const Tensor& weight_hh, const Tensor& bias_ih,
                               const Tensor& bias_hh, bool reverse) {
    const Tensor none;
    return Recurrence{input, hidden, none, weight_ih, weight_hh, bias_ih, bias_hh, reverse}
        .multiply_adds();
  }
};

}  // namespace
TENON_OPS(Lstm, Gru)
