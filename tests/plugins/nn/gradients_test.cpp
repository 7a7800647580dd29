// Every differentiable op of nn against central differences: first order, second order, forward
// mode.
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
      {"gelu", [](List in) { return functional::gelu(in[0]); }, {leaf({5})}},
      {"silu", [](List in) { return functional::silu(in[0]); }, {leaf({5})}},
      {"softplus", [](List in) { return functional::softplus(in[0], 2, 1.5); }, {spread({3, 3})}},
      {"leaky_relu", [](List in) { return functional::leaky_relu(in[0], 0.2); }, {spread({3, 3})}},
      {"elu", [](List in) { return functional::elu(in[0], 1.5); }, {spread({3, 3})}},
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
      {"grad.silu", [](List in) { return grad::silu(in[0], in[1]); }, {leaf({5}), leaf({5}, 2)}},
      {"grad.max_pool",
       [](List in) {
         return grad::max_pool(in[0], labels({2, 2, 2}, 6), {2, 2, 3}, 2);
       },
       {leaf({2, 2, 2})}},
      {"grad.avg_pool2d",
       [](List in) {
         return grad::avg_pool2d(in[0], {1, 4, 4}, 2, 2, 1);
       },
       {leaf({1, 3, 3})}},
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
