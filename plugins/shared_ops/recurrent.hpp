// lstm and gru: one layer over a whole sequence, in one direction. Their schemas, and what their
// arguments may be.
#pragma once

#include <initializer_list>
#include <string>
#include <tuple>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>

namespace nn {

using tenon::Tensor;
namespace kernel = tenon::kernel;

// The operands of a recurrent layer; a GRU has no cell state.
struct Recurrence {
  const Tensor &input, &hidden, &cell, &weight_ih, &weight_hh, &bias_ih, &bias_hh;
  bool reverse;

  int64_t steps() const { return input.shape()[0]; }
  int64_t batch() const { return input.shape()[1]; }
  int64_t features() const { return input.shape()[2]; }
  int64_t width() const { return weight_hh.shape()[1]; }

  void check(const char* op, int64_t gates) const {
    kernel::check_floating(op, "input", input);
    if (input.dim() != 3 || input.shape()[0] == 0) {
      throw tenon::ValueError(std::string(op) +
                              "(): 'input' must have shape [time, batch, features] and at least "
                              "one step, got shape " +
                              kernel::shape_text(input));
    }
    if (weight_hh.dim() != 2 || weight_hh.shape()[0] / gates != weight_hh.shape()[1] ||
        weight_hh.shape()[0] % gates != 0) {
      throw tenon::ValueError(std::string(op) + "(): 'weight_hh' must have shape [" +
                              std::to_string(gates) + " n, n], got shape " +
                              kernel::shape_text(weight_hh));
    }
    const int64_t rows = weight_hh.shape()[0];
    expect(op, "weight_ih", weight_ih, {rows, features()});
    expect(op, "weight_hh", weight_hh, {rows, width()});
    expect(op, "hidden", hidden, {batch(), width()});
    expect(op, "cell", cell, {batch(), width()});
    expect(op, "bias_ih", bias_ih, {rows});
    expect(op, "bias_hh", bias_hh, {rows});
  }
  int64_t multiply_adds() const {
    return steps() * batch() * (weight_ih.numel() + weight_hh.numel());
  }
  std::tuple<Tensor, Tensor, Tensor> results() const {
    return {tenon::empty_tensor({steps(), batch(), width()}, input.dtype()),
            tenon::empty_tensor(hidden.shape(), input.dtype()),
            cell.defined() ? tenon::empty_tensor(hidden.shape(), input.dtype()) : Tensor()};
  }

 private:
  void expect(const char* op, const char* name, const Tensor& found,
              std::initializer_list<int64_t> shape) const {
    if (!found.defined()) return;
    kernel::check_shape(op, name, found, {shape.begin(), static_cast<int64_t>(shape.size())});
    kernel::check_same_dtype(op, "input", input, name, found);
  }
};

struct LstmDeclaration {
  static constexpr auto name = "lstm";
  static constexpr int64_t gates = 4;
  static constexpr auto schema =
      "nn.functional.lstm(Tensor input, Tensor hidden, Tensor cell, Tensor weight_ih, Tensor "
      "weight_hh, Tensor? bias_ih=None, Tensor? bias_hh=None, bool reverse=False) -> (Tensor "
      "output, Tensor last_hidden, Tensor last_cell)";
  static constexpr auto doc =
      "One layer of a long short-term memory over input [time, batch, features]: lstm_step of each "
      "step's linear(input, weight_ih, bias_ih) and linear(hidden, weight_hh, bias_hh), from the "
      "states hidden and cell [batch, n] on, with reverse from the last step to the first. output "
      "has the hidden state of each step.";
};
struct GruDeclaration {
  static constexpr auto name = "gru";
  static constexpr int64_t gates = 3;
  static constexpr auto schema =
      "nn.functional.gru(Tensor input, Tensor hidden, Tensor weight_ih, Tensor weight_hh, Tensor? "
      "bias_ih=None, Tensor? bias_hh=None, bool reverse=False) -> (Tensor output, Tensor "
      "last_hidden)";
  static constexpr auto doc =
      "One layer of gated recurrent units over input [time, batch, features]: gru_step of each "
      "step's linear(input, weight_ih, bias_ih) and linear(hidden, weight_hh, bias_hh), from the "
      "state hidden [batch, n] on, with reverse from the last step to the first. output has the "
      "hidden state of each step.";
};

}  // namespace nn
