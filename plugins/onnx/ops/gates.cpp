#include "gates.hpp"

namespace onnx {

namespace {

Activation activation_of(std::string_view name, std::optional<double> alpha,
                         std::optional<double> beta) {
  const double a = alpha.value_or(name == "LeakyRelu" ? 0.01 : name == "HardSigmoid" ? 0.2 : 1);
  const double b = beta.value_or(name == "HardSigmoid" ? 0.5 : name == "ScaledTanh" ? 1 : 0);
  if (name == "Sigmoid") return [](const Tensor& x) { return tenon::sigmoid(x); };
  if (name == "Tanh") return [](const Tensor& x) { return tenon::tanh(x); };
  if (name == "Relu") return [](const Tensor& x) { return tenon::relu(x); };
  if (name == "Affine") return [a, b](const Tensor& x) { return x * a + b; };
  if (name == "LeakyRelu") return [a](const Tensor& x) { return functional::leaky_relu(x, a); };
  if (name == "ThresholdedRelu")
    return [a](const Tensor& x) { return functional::threshold(x, a, 0); };
  if (name == "ScaledTanh") return [a, b](const Tensor& x) { return tenon::tanh(x * b) * a; };
  if (name == "HardSigmoid")
    return [a, b](const Tensor& x) { return tenon::clamp(x * a + b, 0, 1); };
  if (name == "Elu") return [a](const Tensor& x) { return functional::elu(x, a); };
  if (name == "Softsign") return [](const Tensor& x) { return functional::softsign(x); };
  if (name == "Softplus") return [](const Tensor& x) { return functional::softplus(x); };
  throw tenon::ValueError("there is no activation '" + std::string(name) + "'");
}

bool takes_beta(std::string_view activation) {
  return activation == "Affine" || activation == "ScaledTanh" || activation == "HardSigmoid";
}
bool takes_alpha(std::string_view activation) {
  return takes_beta(activation) || activation == "LeakyRelu" || activation == "ThresholdedRelu" ||
         activation == "Elu";
}

// Numbers of the activations, in their order: one that has a number takes the next.
class Numbers {
 public:
  explicit Numbers(FloatList list) : list_(list) {}
  std::optional<double> next(bool taken) {
    if (!taken || at_ >= list_.size()) return std::nullopt;
    return list_[at_++];
  }

 private:
  FloatList list_;
  int64_t at_ = 0;
};

std::vector<Activation> activations_of(const RecurrentAttributes& attributes,
                                       const std::vector<std::string_view>& usual,
                                       int64_t direction) {
  std::vector<Activation> list;
  if (attributes.activations.empty()) {
    for (const std::string_view name : usual) list.push_back(activation_of(name, {}, {}));
    return list;
  }
  const size_t first = static_cast<size_t>(direction) * usual.size(), end = first + usual.size();
  if (end > attributes.activations.size())
    throw tenon::ValueError("there are " + std::to_string(attributes.activations.size()) +
                            " activations, each direction has " + std::to_string(usual.size()));
  Numbers alphas(attributes.alphas), betas(attributes.betas);
  for (size_t i = 0; i < end; ++i) {
    const std::string_view name = attributes.activations[i];
    const std::optional<double> alpha = alphas.next(takes_alpha(name)),
                                beta = betas.next(takes_beta(name));
    if (i >= first) list.push_back(activation_of(name, alpha, beta));
  }
  return list;
}

// Each sequence in reverse, what is behind its length where it was.
Tensor reversed(const Tensor& x, const Tensor& lengths) {
  return lengths.defined() ? tenon::reverse_sequence(x, lengths) : tenon::flip(x, {0});
}

RecurrentResults run_direction(const RecurrentInputs& inputs, const Direction& direction,
                               Tensor hidden, Tensor cell, const RecurrentStep& step) {
  const Tensor x = direction.backward ? reversed(inputs.x, inputs.lengths) : inputs.x;
  const Tensor gates = functional::linear(x, direction.w, direction.input_bias);
  Tensor lengths;
  if (inputs.lengths.defined()) lengths = inputs.lengths.to(tenon::i64).reshape({-1, 1});
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < x.shape()[0]; ++t) {
    auto [next, next_cell] = step(direction, tenon::select(gates, 0, t), hidden, cell);
    if (!lengths.defined()) {
      outputs.push_back(next);
      hidden = next;
      cell = next_cell;
      continue;
    }
    const Tensor inside = tenon::gt(lengths, t);
    outputs.push_back(tenon::where(inside, next, number_like(next, 0)));
    hidden = tenon::where(inside, next, hidden);
    if (cell.defined()) cell = tenon::where(inside, next_cell, cell);
  }
  if (lengths.defined()) {
    // A sequence without steps has no state, not the initial one.
    const Tensor any = tenon::gt(lengths, 0);
    hidden = tenon::where(any, hidden, number_like(hidden, 0));
    if (cell.defined()) cell = tenon::where(any, cell, number_like(cell, 0));
  }
  Tensor output = outputs.empty()
                      ? tenon::zeros({0, x.shape()[1], direction.r.shape()[1]}, x.dtype())
                      : tenon::stack(outputs);
  if (direction.backward) output = reversed(output, inputs.lengths);
  return {output, hidden, cell};
}

}  // namespace

Tensor Direction::bounded(const Tensor& gates) const {
  return clip > 0 ? tenon::clamp(gates, -clip, clip) : gates;
}

int64_t direction_count(std::string_view direction, const Tensor& weight) {
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    throw tenon::ValueError("'direction' is '" + std::string(direction) +
                            "'; there are forward, reverse and bidirectional");
  const int64_t count = direction == "bidirectional" ? 2 : 1;
  if (weight.dim() != 3 || weight.shape()[0] != count)
    throw tenon::ValueError("the weights are not of " + std::to_string(count) + " directions");
  return count;
}

RecurrentInputs in_usual_layout(RecurrentInputs inputs, int64_t layout) {
  if (inputs.x.dim() != 3)
    throw tenon::ValueError("the input has " + std::to_string(inputs.x.dim()) +
                            " dimensions, expected 3");
  if (layout == 0) return inputs;
  inputs.x = inputs.x.transpose(0, 1);
  if (inputs.hidden.defined()) inputs.hidden = inputs.hidden.transpose(0, 1);
  if (inputs.cell.defined()) inputs.cell = inputs.cell.transpose(0, 1);
  return inputs;
}
RecurrentResults in_layout(const RecurrentResults& results, int64_t layout) {
  if (layout == 0) return results;
  return {results.outputs.permute({2, 0, 1, 3}), results.hidden.transpose(0, 1),
          results.cell.defined() ? results.cell.transpose(0, 1) : results.cell};
}

bool is_usual(const RecurrentInputs& inputs, const RecurrentAttributes& attributes,
              const std::vector<std::string_view>& activations) {
  if (attributes.clip != 0 || inputs.peephole.defined()) return false;
  for (size_t i = 0; i < attributes.activations.size(); ++i) {
    if (attributes.activations[i] != activations[i % activations.size()]) return false;
  }
  if (!inputs.lengths.defined()) return true;
  const auto lengths = inputs.lengths.to_vector<int64_t>();
  return std::all_of(lengths.begin(), lengths.end(),
                     [&](int64_t length) { return length == inputs.x.shape()[0]; });
}

Tensor state_of(const Tensor& given, int64_t direction, const RecurrentInputs& inputs) {
  if (given.defined()) return tenon::select(given, 0, direction);
  return tenon::zeros({inputs.x.shape()[1], inputs.r.size(2)}, inputs.x.dtype());
}

Tensor bias_of(const Tensor& b, int64_t direction, int64_t half) {
  if (!b.defined()) return {};
  const int64_t size = b.size(1) / 2;
  return tenon::narrow(tenon::select(b, 0, direction), 0, half * size, size);
}

RecurrentResults run_steps(const RecurrentInputs& inputs, const RecurrentAttributes& attributes,
                           const std::vector<std::string_view>& activations,
                           const RecurrentStep& step) {
  const int64_t count = direction_count(attributes.direction, inputs.w);
  std::vector<Tensor> outputs, hiddens, cells;
  const bool has_cell = inputs.cell.defined();
  for (int64_t d = 0; d < count; ++d) {
    Direction direction;
    direction.w = tenon::select(inputs.w, 0, d);
    direction.r = tenon::select(inputs.r, 0, d);
    direction.input_bias = bias_of(inputs.b, d, 0);
    direction.recurrent_bias = bias_of(inputs.b, d, 1);
    if (inputs.peephole.defined()) direction.peephole = tenon::select(inputs.peephole, 0, d);
    direction.activations = activations_of(attributes, activations, d);
    direction.clip = attributes.clip;
    direction.backward = d == 1 || attributes.direction == "reverse";
    const RecurrentResults one =
        run_direction(inputs, direction, state_of(inputs.hidden, d, inputs),
                      has_cell ? tenon::select(inputs.cell, 0, d) : Tensor(), step);
    outputs.push_back(one.outputs);
    hiddens.push_back(one.hidden);
    if (has_cell) cells.push_back(one.cell);
  }
  return {tenon::stack(outputs, 1), tenon::stack(hiddens),
          has_cell ? tenon::stack(cells) : Tensor()};
}

}  // namespace onnx
