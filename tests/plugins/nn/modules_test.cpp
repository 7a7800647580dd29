// The shipped modules: parameters, initial values, forward, printing, training.
#include <tenon/state/module_file.hpp>
#include <tenon/state/module_state.hpp>

#include "../compare.hpp"

using namespace compare;
using tenon::arg;
using tenon::Module;

namespace {

Module from_json(const std::string& text) { return tenon::create_module(tenon::Json::parse(text)); }

void check_range(const Tensor& parameter, double bound) {
  for (const double value : parameter.to_vector<double>()) CHECK(std::abs(value) <= bound);
  CHECK(parameter.is_leaf());
  CHECK(parameter.requires_grad());
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE(
      "Linear has weight and bias, starts within 1 / sqrt(in_features), and computes x W^T + b") {
    const Module layer = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 3);
    const auto parameters = layer.named_parameters();
    REQUIRE(parameters.size() == 2);
    CHECK(parameters[0].first == "weight");
    CHECK(parameters[0].second.sizes() == std::vector<int64_t>{3, 2});
    CHECK(parameters[1].first == "bias");
    CHECK(parameters[1].second.sizes() == std::vector<int64_t>{3});
    check_range(parameters[0].second, 1 / std::sqrt(2.0));
    check_range(parameters[1].second, 1 / std::sqrt(2.0));
    CHECK(layer.text() == "Linear(in_features=2, out_features=3, bias=True)");
    {
      const tenon::NoGrad no_grad;
      layer.tensor("weight").copy_(tenon::tensor({{1, 0}, {0, 1}, {1, 1}}, tenon::f32));
      layer.tensor("bias").copy_(tenon::tensor({1, 2, 3}, tenon::f32));
    }
    const Tensor x = tenon::tensor({{1, 2}, {3, 4}}, tenon::f32).requires_grad_();
    const Tensor y = layer(x);
    check_values(y, {2, 3}, {2, 4, 6, 4, 6, 10});
    y.sum().backward();
    check_values(x.grad(), {2, 2}, {2, 2, 2, 2});
    check_values(layer.tensor("weight").grad(), {3, 2}, {4, 6, 4, 6, 4, 6});
    check_values(layer.tensor("bias").grad(), {3}, {2, 2, 2});
  }

  TEST_CASE("Linear without bias registers it as none") {
    const Module layer = Module::create("Linear", arg("in_features") = 4, arg("out_features") = 3,
                                        arg("bias") = false);
    CHECK(layer.parameters().size() == 1);
    CHECK(!layer.tensor("bias").defined());
    CHECK(layer.text() == "Linear(in_features=4, out_features=3, bias=False)");
    check_close(layer(tenon::ones({1, 4})).detach(),
                layer.tensor("weight").detach().sum({1}).unsqueeze(0));
    CHECK_THROWS_AS(Module::create("Linear", arg("in_features") = -1, arg("out_features") = 3),
                    tenon::ValueError);
  }

  TEST_CASE("the same seed makes the same parameters, also inside of a no-grad scope") {
    tenon::seed_generator(7);
    const Module a = Module::create("Linear", arg("in_features") = 4, arg("out_features") = 3);
    tenon::seed_generator(7);
    const tenon::NoGrad no_grad;
    const Module b = Module::create("Linear", arg("in_features") = 4, arg("out_features") = 3);
    CHECK(a.tensor("weight").to_vector<float>() == b.tensor("weight").to_vector<float>());
    CHECK(b.tensor("weight").requires_grad());
  }

  TEST_CASE("Sequential runs its parts in order") {
    const Module model = from_json(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 10, "out_features": 3},
        {"type": "Linear", "in_features": 3, "out_features": 5},
        {"type": "Linear", "in_features": 5, "out_features": 100}]})");
    CHECK(model.children().size() == 3);
    CHECK(model.parameters().size() == 6);
    const Tensor x = numbers({1000, 10});
    const Tensor y = model(x);
    CHECK(y.sizes() == std::vector<int64_t>{1000, 100});
    check_close(y.detach(), model.child("2")(model.child("1")(model.child("0")(x))).detach());
    CHECK(model.named_parameters()[2].first == "1.weight");
    const Module empty = from_json(R"({"type": "Sequential", "layers": []})");
    CHECK(refusal([&] { empty(x); }) ==
          "Sequential(): it has no layers to run, expected at least one\n  in Sequential at line "
          "1, "
          "column 1");
    CHECK(empty.text() == "Sequential()");
  }

  TEST_CASE("Conv2d, LayerNorm and Embedding start as PyTorch's do") {
    const Module conv =
        Module::create("Conv2d", arg("in_channels") = 2, arg("out_channels") = 4,
                       arg("kernel_size") = 3, arg("padding") = 1, arg("groups") = 2);
    CHECK(conv.tensor("weight").sizes() == std::vector<int64_t>{4, 1, 3, 3});
    check_range(conv.tensor("weight"), 1.0 / 3);
    check_range(conv.tensor("bias"), 1.0 / 3);
    CHECK(conv.text() ==
          "Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2)");
    CHECK(conv(tenon::ones({5, 2, 6, 6})).sizes() == std::vector<int64_t>{5, 4, 6, 6});
    CHECK_THROWS_AS(Module::create("Conv2d", arg("in_channels") = 3, arg("out_channels") = 4,
                                   arg("kernel_size") = 3, arg("groups") = 2),
                    tenon::ValueError);

    const Module norm = Module::create("LayerNorm", arg("normalized_shape") = 4);
    check_values(norm.tensor("weight").detach(), {4}, {1, 1, 1, 1});
    check_values(norm.tensor("bias").detach(), {4}, {0, 0, 0, 0});
    check_close(norm(numbers({3, 4})).detach(),
                tenon::nn::functional::layer_norm(numbers({3, 4}), {4}));
    const Module plain =
        Module::create("LayerNorm", arg("normalized_shape") = 4, arg("elementwise_affine") = false);
    CHECK(plain.parameters().empty());

    tenon::seed_generator(3);
    const Module table = Module::create("Embedding", arg("num_embeddings") = 300,
                                        arg("embedding_dim") = 20, arg("padding_idx") = 0);
    const Tensor weight = table.tensor("weight").detach();
    CHECK(weight.select(0, 0).abs().sum().item() == 0);
    CHECK(std::abs(weight.std().item() - 1) < 0.05);
    CHECK(table.text() == "Embedding(300, 20, padding_idx=0)");
    CHECK(table(tenon::tensor({1, 2})).sizes() == std::vector<int64_t>{2, 20});
  }

  TEST_CASE("sizes whose product cannot be addressed are refused before anything is computed") {
    const auto most = std::to_string(INT64_MAX);
    for (const std::string& description : std::vector<std::string>{
             R"({"type": "Conv2d", "in_channels": 4, "out_channels": 1,
                 "kernel_size": [2147483647, 2147483647]})",
             R"({"type": "Conv2d", "in_channels": )" + most +
                 R"(, "out_channels": 2, "kernel_size": 1})",
             R"({"type": "Conv2d", "in_channels": 4611686018427387904, "out_channels": 1,
                 "kernel_size": [4, 4]})",
             R"({"type": "Linear", "in_features": )" + most + R"(, "out_features": 3})",
             R"({"type": "Linear", "in_features": 4294967296, "out_features": 4294967296})",
             R"({"type": "Linear", "in_features": 0, "out_features": )" + most + "}",
             R"({"type": "Embedding", "num_embeddings": 4294967296, "embedding_dim": 4294967296})",
             R"({"type": "LayerNorm", "normalized_shape": [4294967296, 4294967296]})",
             R"({"type": "LSTM", "input_size": 1, "hidden_size": 4611686018427387904})",
             R"({"type": "GRU", "input_size": 1, "hidden_size": )" + most + "}",
             R"({"type": "RNN", "input_size": 4294967296, "hidden_size": 4294967296})",
             R"({"type": "LSTM", "input_size": 1, "hidden_size": 1, "num_layers": )" + most + "}",
             R"({"type": "MultiheadAttention", "num_heads": 1, "embed_dim": )" + most + "}",
             R"({"type": "MultiheadAttention", "num_heads": 1, "embed_dim": 4294967296})",
         }) {
      CAPTURE(description);
      const std::string text = refusal([&] { from_json(description); });
      CHECK((text.find("can be addressed") != std::string::npos ||
             text.find("cannot allocate") != std::string::npos ||
             text.find("must be from 1 to") != std::string::npos));
    }
  }

  TEST_CASE("modules without parameters run their op") {
    const Tensor x = numbers({2, 3, 4, 4});
    const auto run = [&](const std::string& json) { return from_json(json)(x); };
    check_close(run(R"({"type": "ReLU"})"), x.relu());
    check_close(run(R"({"type": "Tanh"})"), x.tanh());
    check_close(run(R"({"type": "Sigmoid"})"), x.sigmoid());
    check_close(run(R"({"type": "GELU"})"), tenon::nn::functional::gelu(x));
    check_close(run(R"({"type": "SiLU"})"), tenon::nn::functional::silu(x));
    check_close(run(R"({"type": "Softmax", "dim": 1})"), tenon::nn::functional::softmax(x, 1));
    check_close(run(R"({"type": "Flatten"})"), x.reshape({2, 48}));
    check_close(run(R"({"type": "MaxPool2d", "kernel_size": 2})"),
                tenon::nn::functional::max_pool2d(x, 2));
    check_close(run(R"({"type": "AvgPool2d", "kernel_size": [2, 1], "stride": 2})"),
                tenon::nn::functional::avg_pool2d(x, {2, 1}, 2));
    CHECK(from_json(R"({"type": "ReLU"})").text() == "ReLU()");
  }

  TEST_CASE("weights of losses are converted with the module, and are not part of its state") {
    const Tensor weight = tenon::tensor({1, 2, 4}, tenon::f32);
    const Tensor scores = tenon::tensor({{0.5, -1, 2}, {1, 0.25, -0.5}}, tenon::f64);
    const Tensor classes = tenon::tensor({2, 0}, tenon::i64);
    const Tensor truth = tenon::tensor({{0, 1, 1}, {1, 0, 1}}, tenon::f64);
    const auto check = [&](const Module& loss, const Tensor& input, const Tensor& target) {
      CAPTURE(loss.text());
      const Tensor before =
          loss(input.to(tenon::f32), target.dtype() == tenon::f64 ? target.to(tenon::f32) : target);
      CHECK(before.dtype() == tenon::f32);
      loss.to(tenon::f64);
      const Tensor after = loss(input, target);
      CHECK(after.dtype() == tenon::f64);
      CHECK(after.item<double>() == doctest::Approx(before.item<double>()));
      for (const auto& entry : loss.named_buffers()) {
        const auto& name = entry.first;
        const auto& buffer = entry.second;
        CAPTURE(name);
        CHECK(buffer.dtype() == tenon::f64);
      }
      CHECK(tenon::state::state_of(loss).empty());
    };
    check(Module::create("CrossEntropyLoss", arg("weight") = weight), scores, classes);
    check(Module::create("NLLLoss", arg("weight") = weight), scores, classes);
    check(Module::create("BCELoss", arg("weight") = weight), tenon::sigmoid(scores), truth);
    check(Module::create("BCEWithLogitsLoss", arg("weight") = weight, arg("pos_weight") = weight),
          scores, truth);
    CHECK(weight.dtype() == tenon::f32);
    CHECK(Module::create("BCELoss").named_buffers().empty());
  }

  TEST_CASE("Dropout follows the training flag") {
    Module drop = Module::create("Dropout", arg("p") = 0.5);
    const Tensor x = tenon::ones({1000});
    CHECK(drop.training());
    CHECK(drop(x).sum().item() != 1000);
    drop.eval();
    CHECK(drop(x).sum().item() == 1000);
    CHECK_THROWS_AS(Module::create("Dropout", arg("p") = 2.0), tenon::ValueError);
  }

  TEST_CASE(
      "lstm_step agrees with its ops, in rows longer than a register, and with its gradients") {
    for (const int64_t n : {1, 5, 64, 150}) {
      CAPTURE(n);
      Tensor gates = numbers({3, 4 * n}, tenon::f64),
             hidden_gates = numbers({3, 4 * n}, tenon::f64, 2),
             cell = numbers({3, n}, tenon::f64, 3);
      std::vector<Tensor> leaves{gates.requires_grad_(), hidden_gates.requires_grad_(),
                                 cell.requires_grad_()};
      const auto gradients = [&](const Tensor& hidden, const Tensor& next) {
        (hidden * 2 + next).sum().backward();
        std::vector<Tensor> all{hidden.detach(), next.detach()};
        for (Tensor& leaf : leaves) {
          all.push_back(leaf.grad());
          leaf.set_grad({});
        }
        return all;
      };
      const std::vector<Tensor> parts = tenon::chunk(gates + hidden_gates, 4, 1);
      const Tensor next = parts[1].sigmoid() * cell + parts[0].sigmoid() * parts[2].tanh();
      const std::vector<Tensor> expected = gradients(parts[3].sigmoid() * next.tanh(), next);
      const auto [hidden, found_next] = tenon::nn::functional::lstm_step(gates, hidden_gates, cell);
      const std::vector<Tensor> found = gradients(hidden, found_next);
      for (size_t i = 0; i < found.size(); ++i) check_close(found[i], expected[i], 1e-13);
    }
    CHECK_THROWS_AS(tenon::nn::functional::lstm_step(tenon::ones({2, 8}), tenon::ones({2, 8}),
                                                     tenon::ones({2, 3})),
                    tenon::ValueError);
  }

  TEST_CASE(
      "gru_step agrees with its ops, in rows longer than a register, and with its gradients") {
    for (const int64_t n : {1, 5, 64, 150}) {
      for (const tenon::DType dtype : {tenon::f64, tenon::f32}) {
        CAPTURE(n);
        Tensor gates = numbers({3, 3 * n}, dtype), hidden_gates = numbers({3, 3 * n}, dtype, 2),
               hidden = numbers({3, n}, dtype, 3);
        std::vector<Tensor> leaves{gates.requires_grad_(), hidden_gates.requires_grad_(),
                                   hidden.requires_grad_()};
        const auto gradients = [&](const Tensor& result) {
          (result * result).sum().backward();
          std::vector<Tensor> all{result.detach()};
          for (Tensor& leaf : leaves) {
            all.push_back(leaf.grad());
            leaf.set_grad({});
          }
          return all;
        };
        const std::vector<Tensor> own = tenon::chunk(gates, 3, 1),
                                  before = tenon::chunk(hidden_gates, 3, 1);
        const Tensor reset = (own[0] + before[0]).sigmoid(),
                     update = (own[1] + before[1]).sigmoid(),
                     fresh = (own[2] + reset * before[2]).tanh();
        const std::vector<Tensor> expected = gradients(fresh + update * (hidden - fresh));
        const std::vector<Tensor> found =
            gradients(tenon::nn::functional::gru_step(gates, hidden_gates, hidden));
        for (size_t i = 0; i < found.size(); ++i)
          check_close(found[i], expected[i], dtype == tenon::f64 ? 1e-13 : 2e-6);
      }
    }
    CHECK_THROWS_AS(tenon::nn::functional::gru_step(tenon::ones({2, 6}), tenon::ones({2, 6}),
                                                    tenon::ones({2, 3})),
                    tenon::ValueError);
  }

  TEST_CASE("recurrent modules compute the same with gradients recorded and without") {
    tenon::seed_generator(1);
    for (const std::string type : {"RNN", "LSTM", "GRU"}) {
      for (const bool two_ways : {false, true}) {
        for (const int64_t steps : {1, 5}) {
          CAPTURE(type);
          CAPTURE(two_ways);
          CAPTURE(steps);
          const Module module = Module::create(type, arg("input_size") = 3, arg("hidden_size") = 4,
                                               arg("bidirectional") = two_ways);
          const Tensor x = numbers({steps, 2, 3});
          const auto output = [&] {
            using Two = std::tuple<Tensor, Tensor>;
            using Three = std::tuple<Tensor, Tensor, Tensor>;
            return type == "LSTM" ? std::get<0>(module.call<Three>(x)).detach()
                                  : std::get<0>(module.call<Two>(x)).detach();
          };
          const Tensor recorded = output();
          const tenon::NoGrad no_grad;
          check_close(output(), recorded, 1e-6);
        }
      }
    }
  }

  TEST_CASE("recurrent modules of which one bias was removed add the other") {
    tenon::seed_generator(1);
    for (const std::string type : {"RNN", "LSTM", "GRU"}) {
      for (const char* name : {"bias_ih_l0", "bias_hh_l0"}) {
        CAPTURE(type);
        CAPTURE(name);
        Module module = Module::create(type, arg("input_size") = 3, arg("hidden_size") = 4);
        const tenon::NoGrad no_grad;
        const auto last = [&] {
          using Two = std::tuple<Tensor, Tensor>;
          using Three = std::tuple<Tensor, Tensor, Tensor>;
          const Tensor x = numbers({5, 2, 3});
          return type == "LSTM" ? std::get<1>(module.call<Three>(x))
                                : std::get<1>(module.call<Two>(x));
        };
        module.tensor(name).zero_();
        const Tensor expected = last();
        module.assign(name, Tensor());
        check_close(last(), expected, 1e-6);
      }
    }
  }

  TEST_CASE("a model from JSON trains, saves and loads") {
    tenon::seed_generator(1);
    const std::string description = R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 2, "out_features": 16}, {"type": "Tanh"},
        {"type": "Linear", "in_features": 16, "out_features": 2}]})";
    const Module model = from_json(description);
    const Tensor x = tenon::tensor({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, tenon::f32),
                 target = tenon::tensor({0, 1, 1, 0});
    std::vector<Tensor> first, second;
    for (const Tensor& p : model.parameters()) {
      first.push_back(tenon::zeros_like(p.detach()));
      second.push_back(tenon::zeros_like(p.detach()));
    }
    double loss = 0;
    for (int64_t step = 1; step <= 200; ++step) {
      const Tensor error = tenon::nn::functional::cross_entropy(model(x), target);
      error.backward();
      loss = error.item();
      const tenon::NoGrad no_grad;
      const auto parameters = model.parameters();
      for (size_t i = 0; i < parameters.size(); ++i) {
        tenon::optim::adam_step_(parameters[i], parameters[i].grad(), first[i], second[i], step,
                                 0.05);
      }
      model.zero_grad();
    }
    CHECK(loss < 0.05);
    const std::string path = "modules_test.safetensors";
    tenon::state::save(model, path);
    Module again = from_json(description);
    tenon::state::load(again, path);
    std::remove(path.c_str());
    CHECK(again(x).to_vector<float>() == model(x).to_vector<float>());
  }
}
