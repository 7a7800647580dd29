// Every differentiable op of nn against central differences: first order, second order, forward
// mode.
#include <limits>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;
namespace grad = tenon::nn::grad;

namespace {

using List = const std::vector<Tensor>&;
struct Case {
  std::string op;
  std::function<Tensor(List)> call;
  std::vector<Tensor> inputs;
};

Tensor labels(const std::vector<int64_t>& shape, int64_t classes) {
  const Tensor result =
      tenon::empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())), tenon::i64);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<int64_t>()[i] = (i * 7 + 3) % classes;
  return result;
}
// Numbers that are far enough from each other, and from zero, for differences of maxima and of
// kinks.
Tensor spread(const std::vector<int64_t>& shape) {
  Tensor result = numbers(shape, tenon::f64);
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.data<double>()[i] = static_cast<double>((i * 37) % 101) * 0.05 - 2.03;
  }
  return result.requires_grad_();
}

std::vector<Case> layers() {
  std::vector<Case> list = {
      {"linear",
       [](List in) { return functional::linear(in[0], in[1], in[2]); },
       {leaf({3, 2}), leaf({4, 2}, 2), leaf({4}, 3)}},
      {"linear",
       [](List in) { return functional::linear(in[0], in[1]); },
       {leaf({2, 2, 3}), leaf({2, 3}, 2)}},
      {"linear",
       [](List in) { return functional::linear(in[0], in[1], in[2]); },
       {leaf({3}), leaf({2, 3}, 2), leaf({2}, 3)}},
      {"linear",
       [](List in) { return functional::linear(in[0], in[1], in[2]); },
       {leaf({0, 3}), leaf({2, 3}, 2), leaf({2}, 3)}},
      {"conv2d",
       [](List in) { return functional::conv2d(in[0], in[1], in[2]); },
       {leaf({2, 2, 4, 3}), leaf({3, 2, 2, 2}, 2), leaf({3}, 3)}},
      {"conv2d",
       [](List in) {
         return functional::conv2d(in[0], in[1], in[2], {2, 1}, {1, 2}, {1, 2}, 2);
       },
       {leaf({1, 2, 5, 4}), leaf({4, 1, 3, 2}, 2), leaf({4}, 3)}},
      {"conv2d",
       [](List in) { return functional::conv2d(in[0], in[1], in[2]); },
       {leaf({2, 3, 2}), leaf({2, 2, 1, 1}, 2), leaf({2}, 3)}},
      {"conv1d",
       [](List in) {
         return functional::conv1d(in[0], in[1], in[2], 2, 1, 2);
       },
       {leaf({2, 2, 6}), leaf({3, 2, 2}, 2), leaf({3}, 3)}},
      {"conv3d",
       [](List in) {
         return functional::conv3d(in[0], in[1], in[2], {1, 2, 1}, {0, 1, 0}, 1, 2);
       },
       {leaf({2, 2, 3, 2}), leaf({2, 1, 2, 2, 1}, 2), leaf({2}, 3)}},
      {"conv1d_input",
       [](List in) {
         return functional::conv1d_input({2, 4}, in[0], in[1], 2, 1);
       },
       {leaf({3, 2, 2}), leaf({3, 3}, 2)}},
      {"conv1d_weight",
       [](List in) {
         return functional::conv1d_weight(in[0], {3, 2, 2}, in[1]);
       },
       {leaf({2, 2, 4}), leaf({2, 3, 3}, 2)}},
      {"conv3d_input",
       [](List in) {
         return functional::conv3d_input({1, 1, 2, 3, 2}, in[0], in[1]);
       },
       {leaf({2, 1, 2, 2, 1}), leaf({1, 2, 1, 2, 2}, 2)}},
      {"conv3d_weight",
       [](List in) {
         return functional::conv3d_weight(in[0], {2, 1, 2, 2, 1}, in[1]);
       },
       {leaf({1, 1, 2, 3, 2}), leaf({1, 2, 1, 2, 2}, 2)}},
      {"conv_transpose1d",
       [](List in) { return functional::conv_transpose1d(in[0], in[1], in[2], 2, 1, 1); },
       {leaf({2, 2, 3}), leaf({2, 2, 3}, 2), leaf({2}, 3)}},
      {"conv_transpose2d",
       [](List in) { return functional::conv_transpose2d(in[0], in[1], {}, 1, 0, 1, 2, 2); },
       {leaf({2, 2, 2}), leaf({2, 1, 2, 2}, 2)}},
      {"unfold",
       [](List in) {
         return functional::unfold(in[0], 2, {1, 2}, 1, {2, 1});
       },
       {leaf({1, 2, 3, 3})}},
      {"fold",
       [](List in) { return functional::fold(in[0], 3, 2); },
       {leaf({2, 8, 4})}},
      {"interpolate",
       [](List in) {
         return functional::interpolate(in[0], {3, 4}, tenon::none, "bicubic");
       },
       {leaf({1, 2, 2, 3})}},
      {"scaled_dot_product_attention",
       [](List in) {
         return functional::scaled_dot_product_attention(in[0], in[1], in[2], in[3]);
       },
       {leaf({2, 3, 2}), leaf({2, 4, 2}, 2), leaf({4, 2}, 3), leaf({3, 4}, 4)}},
      {"scaled_dot_product_attention",
       [](List in) {
         return functional::scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, true);
       },
       {leaf({3, 2}), leaf({3, 2}, 2), leaf({3, 2}, 3)}},
      {"flash_attention",
       [](List in) {
         return functional::flash_attention(in[0], in[1], in[2], {}, true,
                                            0.7);
       },
       {leaf({2, 3, 2}), leaf({2, 4, 2}, 2), leaf({2, 4, 3}, 3)}},
      {"flash_attention",
       [](List in) {
         return functional::flash_attention(in[0], in[1], in[2], in[3], false,
                                            0.7);
       },
       {leaf({2, 3, 2}), leaf({2, 4, 2}, 2), leaf({2, 4, 3}, 3), leaf({3, 1}, 4)}},
      {"conv2d_input",
       [](List in) {
         return functional::conv2d_input({1, 2, 4, 4}, in[0], in[1], 2, 1);
       },
       {leaf({3, 2, 3, 3}), leaf({1, 3, 2, 2}, 2)}},
      {"conv2d_weight",
       [](List in) {
         return functional::conv2d_weight(in[0], {2, 1, 2, 2}, in[1], 1, 0, 2, 2);
       },
       {leaf({2, 2, 4, 3}), leaf({2, 2, 2, 1}, 2)}},
      {"conv2d_tail",
       [](List in) {
         return functional::conv2d_tail(in[0], in[1], in[2], in[3], in[4], in[5]);
       },
       {leaf({2, 2, 4, 3}), leaf({3, 2, 2, 2}, 2), leaf({3}, 3), leaf({3}, 4), leaf({3}, 5),
        leaf({2, 3, 3, 2}, 6)}},
      {"conv2d_tail",
       [](List in) {
         return functional::conv2d_tail(in[0], in[1], tenon::none, in[2], in[3], tenon::none, true,
                                        {2, 1}, {1, 2}, {1, 1}, 2);
       },
       {leaf({2, 4, 3}), leaf({2, 1, 3, 2}, 2), leaf({2}, 3), leaf({2}, 4)}},
      {"gru_step",
       [](List in) { return functional::gru_step(in[0], in[1], in[2]); },
       {leaf({2, 9}), leaf({2, 9}, 2), leaf({2, 3}, 3)}},
      {"gru",
       [](List in) {
         const auto [output, last] = functional::gru(in[0], in[1], in[2], in[3], in[4], in[5]);
         return output.sum({0}) * last;
       },
       {leaf({2, 2, 3}), leaf({2, 2}, 2), leaf({6, 3}, 3), leaf({6, 2}, 4), leaf({6}, 5),
        leaf({6}, 6)}},
      {"lstm",
       [](List in) {
         const auto [output, hidden, cell] = functional::lstm(in[0], in[1], in[2], in[3], in[4],
                                                              in[5], tenon::none, true);
         return output.sum({0}) * hidden + cell * 0.5;
       },
       {leaf({2, 2, 3}), leaf({2, 2}, 2), leaf({2, 2}, 3), leaf({8, 3}, 4), leaf({8, 2}, 5),
        leaf({8}, 6)}},
      {"lstm_step",
       [](List in) {
         const auto [hidden, cell] = functional::lstm_step(in[0], in[1], in[2]);
         return hidden + cell * 0.5;
       },
       {leaf({2, 12}), leaf({2, 12}, 2), leaf({2, 3}, 3)}},
      {"max_pool2d_with_indices",
       [](List in) { return std::get<0>(functional::max_pool2d_with_indices(in[0], 2, 1, 1)); },
       {spread({1, 2, 3, 3})}},
      {"max_pool2d",
       [](List in) {
         return functional::max_pool2d(in[0], {2, 3});
       },
       {spread({2, 4, 6})}},
      {"max_pool2d",
       [](List in) { return functional::max_pool2d(in[0], 2, 2, 1, 2, true); },
       {spread({1, 1, 5, 5})}},
      {"max_pool1d",
       [](List in) { return functional::max_pool1d(in[0], 3, 2, 1); },
       {spread({2, 2, 7})}},
      {"max_pool3d",
       [](List in) { return functional::max_pool3d(in[0], 2, 1, 1); },
       {spread({1, 2, 3, 2})}},
      {"max_pool1d_with_indices",
       [](List in) { return std::get<0>(functional::max_pool1d_with_indices(in[0], 3, 2, 1)); },
       {spread({2, 2, 7})}},
      {"max_pool3d_with_indices",
       [](List in) { return std::get<0>(functional::max_pool3d_with_indices(in[0], 2, 1, 1)); },
       {spread({1, 2, 3, 2})}},
      {"avg_pool1d",
       [](List in) { return functional::avg_pool1d(in[0], 3, 2, 1, true, false); },
       {leaf({2, 2, 6})}},
      {"avg_pool3d",
       [](List in) {
         return functional::avg_pool3d(in[0], {2, 1, 2}, 1, {1, 0, 1}, true);
       },
       {leaf({1, 3, 2, 3})}},
      {"adaptive_max_pool2d_with_indices",
       [](List in) {
         return std::get<0>(functional::adaptive_max_pool2d_with_indices(in[0], {2, 3}));
       },
       {spread({2, 3, 5})}},
      {"adaptive_max_pool3d_with_indices",
       [](List in) { return std::get<0>(functional::adaptive_max_pool3d_with_indices(in[0], 2)); },
       {spread({1, 3, 2, 3})}},
      {"avg_pool2d",
       [](List in) { return functional::avg_pool2d(in[0], 2); },
       {leaf({2, 1, 4, 5})}},
      {"avg_pool2d",
       [](List in) { return functional::avg_pool2d(in[0], 3, 2, 1, true, false); },
       {leaf({1, 4, 5})}},
      {"adaptive_avg_pool1d",
       [](List in) { return functional::adaptive_avg_pool1d(in[0], 3); },
       {leaf({2, 7})}},
      {"adaptive_avg_pool2d",
       [](List in) {
         return functional::adaptive_avg_pool2d(in[0], {2, 3});
       },
       {leaf({1, 2, 3, 5})}},
      {"adaptive_avg_pool3d",
       [](List in) {
         return functional::adaptive_avg_pool3d(in[0], {2, 1, 2});
       },
       {leaf({1, 3, 2, 3})}},
      {"adaptive_max_pool1d",
       [](List in) { return functional::adaptive_max_pool1d(in[0], 3); },
       {spread({2, 2, 7})}},
      {"adaptive_max_pool1d_with_indices",
       [](List in) { return std::get<0>(functional::adaptive_max_pool1d_with_indices(in[0], 2)); },
       {spread({2, 5})}},
      {"embedding",
       [](List in) {
         return functional::embedding(labels({2, 3}, 4), in[0]);
       },
       {leaf({4, 2})}},
      {"layer_norm",
       [](List in) { return functional::layer_norm(in[0], {4}, in[1], in[2]); },
       {leaf({3, 4}), leaf({4}, 2), leaf({4}, 3)}},
      {"batch_norm",
       [](List in) {
         return functional::batch_norm(in[0], {}, {}, in[1], in[2], true);
       },
       {leaf({3, 2, 2}), leaf({2}, 2), leaf({2}, 3)}},
      {"batch_norm",
       [](List in) {
         return functional::batch_norm(in[0], tenon::tensor({0.5, -0.2}, tenon::f64),
                                       tenon::tensor({0.5, 2.0}, tenon::f64), in[1], in[2]);
       },
       {leaf({3, 2}), leaf({2}, 2), leaf({2}, 3)}},
      {"group_norm",
       [](List in) { return functional::group_norm(in[0], 2, in[1], in[2]); },
       {leaf({2, 4, 3}), leaf({4}, 2), leaf({4}, 3)}},
      {"instance_norm",
       [](List in) {
         return functional::instance_norm(in[0], {}, {}, in[1], in[2]);
       },
       {leaf({2, 2, 4}), leaf({2}, 2), leaf({2}, 3)}},
      {"rms_norm",
       [](List in) {
         return functional::rms_norm(in[0], {2, 2}, in[1], 0.1);
       },
       {leaf({3, 2, 2}), leaf({2, 2}, 2)}},
      {"layer_norm",
       [](List in) {
         return functional::layer_norm(in[0], {2, 3});
       },
       {leaf({2, 2, 3})}},
      {"layer_norm",
       [](List in) { return functional::layer_norm(in[0], {3}, {}, in[1], 0.1); },
       {leaf({3}), leaf({3}, 2)}},
      {"dropout", [](List in) { return functional::dropout(in[0], 0.4, false); }, {leaf({3, 2})}},
      {"dropout",
       [](List in) {
         tenon::seed_generator(5);
         return functional::dropout(in[0], 0.4);
       },
       {leaf({4, 3})}},
      {"gelu_erf", [](List in) { return functional::gelu(in[0]); }, {leaf({5})}},
      {"gelu", [](List in) { return tenon::Op("nn.functional.gelu").call<Tensor>(in[0], tenon::arg("approximate") = "tanh"); }, {leaf({5})}},
      {"gelu_tanh", [](List in) { return tenon::Op("nn.functional.gelu_tanh").call<Tensor>(in[0]); }, {leaf({5})}},
      {"silu", [](List in) { return functional::silu(in[0]); }, {leaf({5})}},
      {"softplus", [](List in) { return functional::softplus(in[0], 2, 1.5); }, {spread({3, 3})}},
      {"leaky_relu", [](List in) { return functional::leaky_relu(in[0], 0.2); }, {spread({3, 3})}},
      {"elu", [](List in) { return functional::elu(in[0], 1.5); }, {spread({3, 3})}},
      {"elu", [](List in) { return functional::elu(in[0], 1.5, 2, 0.5); }, {spread({3, 3})}},
      {"celu", [](List in) { return functional::celu(in[0], 1.5); }, {spread({3, 3})}},
      {"selu", [](List in) { return functional::selu(in[0]); }, {spread({3, 3})}},
      {"logsigmoid", [](List in) { return functional::logsigmoid(in[0]); }, {leaf({5})}},
      {"mish", [](List in) { return functional::mish(in[0]); }, {spread({3, 3})}},
      {"softsign", [](List in) { return functional::softsign(in[0]); }, {spread({3, 3})}},
      {"hardtanh", [](List in) { return functional::hardtanh(in[0], -0.7, 0.4); }, {leaf({7})}},
      {"relu6", [](List in) { return functional::relu6(in[0] * 5); }, {spread({5, 5})}},
      {"hardsigmoid", [](List in) { return functional::hardsigmoid(in[0] * 3); }, {leaf({9})}},
      {"hardswish", [](List in) { return functional::hardswish(in[0] * 3); }, {spread({5, 5})}},
      {"hardshrink", [](List in) { return functional::hardshrink(in[0]); }, {spread({5, 5})}},
      {"softshrink", [](List in) { return functional::softshrink(in[0]); }, {spread({5, 5})}},
      {"tanhshrink", [](List in) { return functional::tanhshrink(in[0]); }, {spread({3, 3})}},
      {"threshold", [](List in) { return functional::threshold(in[0], 0.2, 3); }, {spread({5, 5})}},
      {"glu", [](List in) { return functional::glu(in[0], 0); }, {leaf({4, 3})}},
      {"prelu",
       [](List in) { return functional::prelu(in[0], in[1]); },
       {spread({2, 3, 2}), leaf({3})}},
      {"softmin", [](List in) { return functional::softmin(in[0], 1); }, {leaf({2, 3})}},
  };
  for (const int64_t dim : {0, 1, -1}) {
    list.push_back(
        {"softmax", [dim](List in) { return functional::softmax(in[0], dim); }, {leaf({3, 2, 4})}});
    list.push_back({"log_softmax",
                    [dim](List in) { return functional::log_softmax(in[0], dim); },
                    {leaf({3, 2, 4})}});
  }
  return list;
}

std::vector<Case> losses() {
  std::vector<Case> list = {
      {"mse_loss",
       [](List in) { return functional::mse_loss(in[0], in[1]); },
       {leaf({3, 2}), leaf({3, 2}, 2)}},
      {"l1_loss",
       [](List in) { return functional::l1_loss(in[0], in[1], "sum"); },
       {leaf({3, 2}), leaf({3, 2}, 2)}},
      {"cross_entropy",
       [](List in) { return functional::cross_entropy(in[0], labels({}, 4)); },
       {leaf({4})}},
      {"cross_entropy",
       [](List in) {
         return functional::cross_entropy(in[0], labels({2, 2}, 3), {}, 0, "mean", 0.1);
       },
       {leaf({2, 3, 2})}},
      {"nll_loss",
       [](List in) {
         return functional::nll_loss(in[0], labels({2, 2}, 3));
       },
       {leaf({2, 3, 2})}},
  };
  const auto probabilities = [](const std::vector<int64_t>& shape, uint64_t seed) {
    return (numbers(shape, tenon::f64, seed) * 0.4 + 0.5).detach().requires_grad_();
  };
  const Tensor signs = tenon::tensor({1.0, -1.0, 1.0, -1.0}, tenon::f64);
  for (const char* reduction : {"none", "mean", "sum"}) {
    list.push_back(
        {"binary_cross_entropy",
         [=](List in) { return functional::binary_cross_entropy(in[0], in[1], in[2], reduction); },
         {probabilities({2, 3}, 1), probabilities({2, 3}, 2), leaf({3}, 3)}});
    list.push_back({"binary_cross_entropy_with_logits",
                    [=](List in) {
                      return functional::binary_cross_entropy_with_logits(in[0], in[1], in[2],
                                                                          reduction, in[3]);
                    },
                    {leaf({2, 3}), leaf({2, 3}, 2), leaf({2, 1}, 3), leaf({3}, 4)}});
    list.push_back({"huber_loss",
                    [=](List in) { return functional::huber_loss(in[0], in[1], reduction, 0.5); },
                    {leaf({3, 3}), leaf({3}, 2)}});
    list.push_back(
        {"smooth_l1_loss",
         [=](List in) { return functional::smooth_l1_loss(in[0], in[1], reduction, 0.5); },
         {leaf({3, 3}), leaf({3}, 2)}});
    for (const bool log_target : {false, true}) {
      list.push_back(
          {"kl_div",
           [=](List in) { return functional::kl_div(in[0], in[1], reduction, log_target); },
           {leaf({2, 3}), probabilities({2, 3}, 2)}});
    }
    list.push_back({"margin_ranking_loss",
                    [=](List in) {
                      return functional::margin_ranking_loss(in[0], in[1], signs, 0.3, reduction);
                    },
                    {leaf({4}), leaf({4}, 2)}});
    list.push_back(
        {"hinge_embedding_loss",
         [=](List in) { return functional::hinge_embedding_loss(in[0], signs, 0.5, reduction); },
         {leaf({3, 4})}});
    list.push_back({"soft_margin_loss",
                    [=](List in) { return functional::soft_margin_loss(in[0], signs, reduction); },
                    {leaf({3, 4})}});
    list.push_back({"cosine_embedding_loss",
                    [=](List in) {
                      return functional::cosine_embedding_loss(in[0], in[1], signs, -0.9,
                                                               reduction);
                    },
                    {leaf({4, 3}), leaf({4, 3}, 2)}});
    list.push_back({"triplet_margin_loss",
                    [=](List in) {
                      return functional::triplet_margin_loss(in[0], in[1], in[2], 3, 2, 1e-6, true,
                                                             reduction);
                    },
                    {leaf({4, 3}), leaf({4, 3}, 2), leaf({4, 3}, 3)}});
  }
  for (const double p : {1.0, 2.0, 2.5, std::numeric_limits<double>::infinity()}) {
    list.push_back(
        {"normalize", [=](List in) { return functional::normalize(in[0], p, 0); }, {leaf({3, 2})}});
    list.push_back({"pairwise_distance",
                    [=](List in) { return functional::pairwise_distance(in[0], in[1], p); },
                    {leaf({3, 4}), leaf({4}, 2)}});
    list.push_back({"cdist",
                    [=](List in) { return tenon::cdist(in[0], in[1], p); },
                    {leaf({2, 3, 4}), leaf({2, 4}, 2)}});
  }
  list.push_back({"cosine_similarity",
                  [](List in) { return functional::cosine_similarity(in[0], in[1]); },
                  {leaf({3, 4}), leaf({4}, 2)}});
  for (const char* reduction : {"none", "mean", "sum"}) {
    const Tensor weight = tenon::tensor({0.5, 2, 1.5}, tenon::f64);
    list.push_back(
        {"nll_loss",
         [=](List in) { return functional::nll_loss(in[0], labels({4}, 3), weight, 1, reduction); },
         {leaf({4, 3})}});
    for (const double smoothing : {0.0, 0.3}) {
      list.push_back({"cross_entropy",
                      [=](List in) {
                        return functional::cross_entropy(in[0], labels({4}, 3), weight, 1,
                                                         reduction, smoothing);
                      },
                      {leaf({4, 3})}});
      list.push_back({"cross_entropy",
                      [=](List in) {
                        return functional::cross_entropy(in[0], in[1], weight, -100, reduction,
                                                         smoothing);
                      },
                      {leaf({2, 3}), leaf({2, 3}, 2)}});
    }
    list.push_back({"mse_loss",
                    [=](List in) { return functional::mse_loss(in[0], in[1], reduction); },
                    {leaf({2, 2}), leaf({2, 1}, 2)}});
  }
  return list;
}

// The derivatives that other rules call are ops like any other.
std::vector<Case> derivatives() {
  const auto mean = [](const Tensor& x) { return x.detach().mean({-1}); };
  const auto rstd = [](const Tensor& x) { return (x.detach().var({-1}, false, 0) + 0.01).rsqrt(); };
  const auto norm = [=](int which) {
    return [=](List in) {
      // mean and rstd follow the input, as their gradient is part of the input's.
      const auto all = grad::layer_norm(in[0], in[1], mean(in[1]), rstd(in[1]), in[2], {4}, 0.01);
      return which == 0 ? std::get<0>(all) : which == 1 ? std::get<1>(all) : std::get<2>(all);
    };
  };
  std::vector<Case> list = {
      {"grad.gelu", [](List in) { return grad::gelu(in[0], in[1]); }, {leaf({5}), leaf({5}, 2)}},
      {"grad.gelu_tanh",
       [](List in) { return grad::gelu_tanh(in[0], in[1]); },
       {leaf({5}), leaf({5}, 2)}},
      {"grad.softsign",
       [](List in) { return grad::softsign(in[0], in[1]); },
       {leaf({5}), leaf({5}, 2)}},
      {"grad.mish", [](List in) { return grad::mish(in[0], in[1]); }, {leaf({5}), leaf({5}, 2)}},
      {"grad.silu", [](List in) { return grad::silu(in[0], in[1]); }, {leaf({5}), leaf({5}, 2)}},
      {"grad.max_pool",
       [](List in) {
         return grad::max_pool(in[0], labels({2, 2, 2}, 6), {2, 2, 3}, 2);
       },
       {leaf({2, 2, 2})}},
      {"grad.avg_pool",
       [](List in) {
         return grad::avg_pool(in[0], {1, 4, 4}, {2, 2}, {2, 2}, {1, 1});
       },
       {leaf({1, 3, 3})}},
      {"grad.avg_pool",
       [](List in) {
         return grad::avg_pool(in[0], {2, 5}, {2}, tenon::none, {0}, true, false);
       },
       {leaf({2, 3})}},
      {"grad.avg_pool",
       [](List in) {
         return grad::avg_pool(in[0], {1, 2, 3, 3}, {1, 2, 2}, tenon::none, {0, 1, 1});
       },
       {leaf({1, 2, 2, 2})}},
      {"grad.adaptive_avg_pool",
       [](List in) {
         return grad::adaptive_avg_pool(in[0], {2, 5}, 1);
       },
       {leaf({2, 3})}},
      {"grad.adaptive_avg_pool",
       [](List in) {
         return grad::adaptive_avg_pool(in[0], {1, 3, 4}, 2);
       },
       {leaf({1, 2, 2})}},
      {"grad.adaptive_avg_pool",
       [](List in) {
         return grad::adaptive_avg_pool(in[0], {1, 2, 3, 4}, 3);
       },
       {leaf({1, 2, 2, 2})}},
      {"grad.embedding",
       [](List in) {
         return grad::embedding(in[0], labels({2, 2}, 4), 4);
       },
       {leaf({2, 2, 3})}},
      {"grad.layer_norm", norm(0), {leaf({3, 4}), leaf({3, 4}, 2), leaf({4}, 3)}},
      {"grad.layer_norm", norm(1), {leaf({3, 4}), leaf({3, 4}, 2), leaf({4}, 3)}},
      {"grad.layer_norm", norm(2), {leaf({3, 4}), leaf({3, 4}, 2), leaf({4}, 3)}},
  };
  for (const int64_t dim : {0, 1}) {
    list.push_back({"grad.softmax",
                    [dim](List in) { return grad::softmax(in[0], in[1], dim); },
                    {leaf({3, 4}), leaf({3, 4}, 2)}});
    list.push_back({"grad.log_softmax",
                    [dim](List in) { return grad::log_softmax(in[0], in[1], dim); },
                    {leaf({3, 4}), leaf({3, 4}, 2)}});
  }
  for (const char* reduction : {"none", "mean"}) {
    const std::vector<int64_t> seeds =
        std::string(reduction) == "none" ? std::vector<int64_t>{4} : std::vector<int64_t>{};
    const Tensor weight = tenon::tensor({0.5, 2, 1.5}, tenon::f64);
    list.push_back(
        {"grad.nll_loss",
         [=](List in) {
           return grad::nll_loss(in[0], labels({4}, 3), weight, {4, 3}, 1, reduction, 0.2);
         },
         {leaf(seeds)}});
    list.push_back({"grad.smoothed_nll_loss",
                    [=](List in) {
                      return grad::smoothed_nll_loss(in[0], labels({4}, 3), weight, 1, reduction,
                                                     0.2);
                    },
                    {leaf({4, 3})}});
    list.push_back({"grad.cross_entropy",
                    [=](List in) {
                      return grad::cross_entropy(in[0], in[1], labels({4}, 3), weight, 1, reduction,
                                                 0.2);
                    },
                    {leaf(seeds), leaf({4, 3}, 2)}});
  }
  return list;
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.op);
    tenon::GradcheckOptions options;
    options.check_forward_ad = true;
    CHECK(tenon::gradcheck(c.call, c.inputs, options));
    CHECK(tenon::gradgradcheck(c.call, c.inputs));
    CHECK_NOTHROW(check_mixed_order(c.call, c.inputs));
  }
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("gradients of layers are right, of first and second order and in forward mode") {
    check(layers());
  }
  TEST_CASE("gradients of losses are right, of first and second order and in forward mode") {
    check(losses());
  }
  TEST_CASE("derivatives are differentiable in their turn") { check(derivatives()); }

  TEST_CASE("every formula of the plugin is in one of the tables") {
    std::set<std::string> checked;
    for (const auto& cases : {layers(), losses(), derivatives()}) {
      for (const Case& c : cases)
        checked.insert((c.op.rfind("grad.", 0) == 0 ? "nn." : "nn.functional.") + c.op);
    }
    CHECK(unchecked_formulas("nn", checked) == std::set<std::string>());
  }
}
