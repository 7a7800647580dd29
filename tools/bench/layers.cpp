// Layers: forward and backward with the gradients dropped, and the forward of recurrent layers and a pool.
#include <tuple>
#include <vector>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::arg;
using tenon::Module;
using tenon::Tensor;

// `call` gives an output for inputs whose gradients, and those of the model, are dropped.
template <class Call>
void forward_backward(State& state, const Tensor& gradient, std::vector<Tensor> leaves,
                      const Call& call) {
  for (auto _ : state) {
    call().backward(gradient);
    for (Tensor& leaf : leaves) leaf.set_grad({});
  }
}
std::vector<Tensor> leaves_of(const Module& model, const Tensor& input) {
  std::vector<Tensor> leaves = model.parameters();
  leaves.push_back(input);
  return leaves;
}

void layer_norm(State& state) {
  const Module model = Module::create("LayerNorm", arg("normalized_shape") = 256);
  const Tensor input = numbers({1024, 256}, true);
  forward_backward(state, numbers({1024, 256}), leaves_of(model, input),
                   [&] { return model(input); });
}
BENCHMARK(layer_norm)->UseRealTime();

void max_pool(State& state) {
  const Tensor input = numbers({64, 16, 26, 26}, true);
  const std::vector<int64_t> kernel = {2, 2};
  forward_backward(state, numbers({64, 16, 13, 13}), {input},
                   [&] { return tenon::nn::functional::max_pool2d(input, kernel); });
}
BENCHMARK(max_pool)->UseRealTime();

void embedding(State& state) {
  const Module model =
      Module::create("Embedding", arg("num_embeddings") = 10000, arg("embedding_dim") = 256);
  const Tensor rows = tenon::randint(0, 10000, {8, 128});
  forward_backward(state, numbers({8, 128, 256}), model.parameters(), [&] { return model(rows); });
}
BENCHMARK(embedding)->UseRealTime();

void softmax(State& state) {
  const Tensor input = numbers({64, 128, 128}, true);
  forward_backward(state, numbers({64, 128, 128}), {input},
                   [&] { return tenon::nn::functional::softmax(input, -1); });
}
BENCHMARK(softmax)->UseRealTime();

// 128 steps, batch 8, 256 features, 8 heads.
void attention(State& state) {
  const Module model =
      Module::create("MultiheadAttention", arg("embed_dim") = 256, arg("num_heads") = 8);
  const Tensor input = numbers({128, 8, 256}, true);
  forward_backward(state, numbers({128, 8, 256}), leaves_of(model, input),
                   [&] { return model(input); });
}
BENCHMARK(attention)->UseRealTime();

void attention_forward(State& state) {
  const tenon::NoGrad no_grad;
  const Module model =
      Module::create("MultiheadAttention", arg("embed_dim") = 256, arg("num_heads") = 8);
  const Tensor input = numbers({128, 8, 256});
  for (auto _ : state) keep(model(input));
}
BENCHMARK(attention_forward)->UseRealTime();

// 64 steps, 128 -> 256.
void lstm_steps(State& state, int64_t batch) {
  const tenon::NoGrad no_grad;
  const Module model = Module::create("LSTM", arg("input_size") = 128, arg("hidden_size") = 256);
  const Tensor input = numbers({64, batch, 128});
  for (auto _ : state) keep(std::get<0>(model.call<std::tuple<Tensor, Tensor, Tensor>>(input)));
}
void lstm_forward(State& state) { lstm_steps(state, 16); }
void lstm_row(State& state) { lstm_steps(state, 1); }
BENCHMARK(lstm_forward)->UseRealTime();
BENCHMARK(lstm_row)->UseRealTime();

void gru_forward(State& state) {
  const tenon::NoGrad no_grad;
  const Module model = Module::create("GRU", arg("input_size") = 128, arg("hidden_size") = 256);
  const Tensor input = numbers({64, 16, 128});
  for (auto _ : state) keep(std::get<0>(model.call<std::tuple<Tensor, Tensor>>(input)));
}
BENCHMARK(gru_forward)->UseRealTime();

void average_pool(State& state) {
  const tenon::NoGrad no_grad;
  const Tensor input = numbers({8, 64, 28, 28});
  const std::vector<int64_t> kernel = {3, 3}, one = {1, 1};
  for (auto _ : state) keep(tenon::nn::functional::avg_pool2d(input, kernel, one, one));
}
BENCHMARK(average_pool)->UseRealTime();

void lstm(State& state) {
  const Module model = Module::create("LSTM", arg("input_size") = 128, arg("hidden_size") = 256);
  const Tensor input = numbers({64, 16, 128}, true);
  forward_backward(state, numbers({64, 16, 256}), leaves_of(model, input), [&] {
    return std::get<0>(model.call<std::tuple<Tensor, Tensor, Tensor>>(input));
  });
}
BENCHMARK(lstm)->UseRealTime();

}  // namespace
