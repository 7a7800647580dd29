// Recurrent layers step by step: activations by name, sequences of different lengths.
#pragma once

#include <functional>

#include "common.hpp"

namespace onnx {

using Activation = std::function<Tensor(const Tensor&)>;

struct RecurrentAttributes {
  std::vector<std::string_view> activations;
  FloatList alphas, betas;
  double clip = 0;
  std::string_view direction;
  int64_t layout = 0;
};

// The inputs of a layer, in the layout [steps, batch, features]; states are [directions, batch, hidden].
struct RecurrentInputs {
  Tensor x, w, r, b, lengths, hidden, cell, peephole;
};

// Weights of one direction. `input` and `recurrent` biases are undefined where there are none.
struct Direction {
  Tensor w, r, input_bias, recurrent_bias, peephole;
  std::vector<Activation> activations;
  double clip = 0;
  bool backward = false;

  // Clipped, before an activation.
  Tensor bounded(const Tensor& gates) const;
};

// A step's new hidden and cell states; `gates` is x @ w^T with the input's bias.
using RecurrentStep = std::function<std::pair<Tensor, Tensor>(
    const Direction& direction, const Tensor& gates, const Tensor& hidden, const Tensor& cell)>;

struct RecurrentResults {
  Tensor outputs, hidden, cell;  // in the layer's layout
};

// How many directions there are. ValueError for an unknown one, and for weights of another number.
int64_t direction_count(std::string_view direction, const Tensor& weight);
// In the layout [steps, batch, features], and back.
RecurrentInputs in_usual_layout(RecurrentInputs inputs, int64_t layout);
RecurrentResults in_layout(const RecurrentResults& results, int64_t layout);
// Whether nothing asks for steps: the usual activations, no clip, no peepholes, one length.
bool is_usual(const RecurrentInputs& inputs, const RecurrentAttributes& attributes,
              const std::vector<std::string_view>& activations);
// The state of a direction, zeros where none is given.
Tensor state_of(const Tensor& given, int64_t direction, const RecurrentInputs& inputs);
// A half of the biases of a direction: the input's or the recurrence's.
Tensor bias_of(const Tensor& b, int64_t direction, int64_t half);
// Runs all directions step by step. `activations`: those of one direction by default.
RecurrentResults run_steps(const RecurrentInputs& inputs, const RecurrentAttributes& attributes,
                           const std::vector<std::string_view>& activations,
                           const RecurrentStep& step);

}  // namespace onnx
