// Recurrent layers with ONNX's order of gates.
#include "common.hpp"

namespace {

using namespace onnx;

// Blocks of rows in another order, one for each gate.
Tensor reordered(const Tensor& weight, const std::vector<int64_t>& order) {
  const auto gates = static_cast<int64_t>(order.size());
  const int64_t hidden = weight.shape()[0] / gates;
  std::vector<Tensor> blocks;
  for (const int64_t gate : order)
    blocks.push_back(tenon::narrow(weight, 0, gate * hidden, hidden));
  return tenon::cat(blocks, 0);
}

struct Directions {
  int64_t count = 1;
  bool first_backward = false;
};
Directions directions_of(std::string_view direction, const Tensor& weight) {
  const Directions directions{direction == "bidirectional" ? 2 : 1, direction == "reverse"};
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    throw tenon::ValueError("'direction' is '" + std::string(direction) +
                            "'; there are forward, reverse and bidirectional");
  if (weight.dim() != 3 || weight.shape()[0] != directions.count)
    throw tenon::ValueError("the weights are not of " + std::to_string(directions.count) +
                            " directions");
  return directions;
}

// Refuses sequences of different lengths, other activations than the usual ones, and clipping.
void check_usual(const Tensor& lengths, int64_t steps, const std::vector<std::string_view>& given,
                 const std::vector<std::string_view>& usual, int64_t directions, double clip) {
  std::vector<std::string_view> expected;
  for (int64_t i = 0; i < directions; ++i)
    expected.insert(expected.end(), usual.begin(), usual.end());
  if (!given.empty() && given != expected)
    throw tenon::NotImplementedError("it has other activations than the usual ones");
  if (clip != 0) throw tenon::NotImplementedError("it clips the gates");
  if (!lengths.defined()) return;
  for (const int64_t length : lengths.to_vector<int64_t>()) {
    if (length != steps) throw tenon::NotImplementedError("it has sequences of different lengths");
  }
}

Tensor initial(const Tensor& given, int64_t direction, const Tensor& x, int64_t hidden) {
  if (given.defined()) return tenon::select(given, 0, direction);
  return tenon::zeros({x.shape()[1], hidden}, x.dtype());
}
// A half of the biases of a direction: those of the input, or those of the recurrence.
Tensor bias_part(const Tensor& b, int64_t direction, int64_t half) {
  if (!b.defined()) return {};
  const int64_t size = b.shape()[1] / 2;
  return tenon::narrow(tenon::select(b, 0, direction), 0, half * size, size);
}

struct Lstm {
  static constexpr auto schema =
      "onnx.lstm(Tensor X, Tensor W, Tensor R, Tensor? B=None, Tensor? sequence_lens=None, Tensor? "
      "initial_h=None, Tensor? initial_c=None, *, str[] activations=[], float clip=0.0, str "
      "direction='forward', int layout=0) -> (Tensor Y, Tensor Y_h, Tensor Y_c)";
  static constexpr auto samples =
      R"([{"X": {"shape": [3, 2, 4]}, "W": {"shape": [1, 12, 4]}, "R": {"shape": [1, 12, 3]}}])";
  static constexpr auto doc = "An LSTM layer whose gates are in the order i, o, f, c.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor, Tensor> forward(
      const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& b, const Tensor& lengths,
      const Tensor& initial_h, const Tensor& initial_c,
      const std::vector<std::string_view>& activations, double clip, std::string_view direction,
      int64_t layout) {
    const Directions directions = directions_of(direction, w);
    const Tensor input = layout == 1 ? x.transpose(0, 1) : x;
    check_usual(lengths, input.size(0), activations, {"Sigmoid", "Tanh", "Tanh"}, directions.count,
                clip);
    const Tensor h = layout == 1 && initial_h.defined() ? initial_h.transpose(0, 1) : initial_h;
    const Tensor c = layout == 1 && initial_c.defined() ? initial_c.transpose(0, 1) : initial_c;
    const std::vector<int64_t> order{0, 2, 3, 1};
    const int64_t hidden = r.size(2);
    std::vector<Tensor> outputs, hiddens, cells;
    for (int64_t d = 0; d < directions.count; ++d) {
      const bool backward = d == 1 || directions.first_backward;
      const auto gates = [&](const Tensor& one) {
        return one.defined() ? reordered(one, order) : one;
      };
      auto [output, last, cell] =
          functional::lstm(input, initial(h, d, input, hidden), initial(c, d, input, hidden),
                           gates(tenon::select(w, 0, d)), gates(tenon::select(r, 0, d)),
                           gates(bias_part(b, d, 0)), gates(bias_part(b, d, 1)), backward);
      outputs.push_back(output);
      hiddens.push_back(last);
      cells.push_back(cell);
    }
    if (layout == 1)
      return {tenon::stack(outputs, 2).transpose(0, 1), tenon::stack(hiddens, 1),
              tenon::stack(cells, 1)};
    return {tenon::stack(outputs, 1), tenon::stack(hiddens), tenon::stack(cells)};
  }
};

}  // namespace
TENON_OP(Lstm)
