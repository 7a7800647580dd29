// Shapes without values, through the shipped plugins.
#include <tenon/shapes_only.hpp>
#include <tenon/state/module_file.hpp>

#include "tests/sdk/functions.hpp"
#include "tests/support/emulation.hpp"

using namespace functions;

namespace {

Module model(const std::string& layers) {
  return create_module(Json::parse(R"({"type": "Sequential", "layers": [)" + layers + "]}"));
}

}  // namespace

TEST_SUITE("sdk/shapes_only") {
  TEST_CASE("F-243 a model's shapes and multiply-adds are found without computing it") {
    const Module net = model(R"({"type": "Conv2d", "in_channels": 3, "out_channels": 8,
                                 "kernel_size": 3, "padding": 1},
                                {"type": "BatchNorm2d", "num_features": 8}, "ReLU",
                                {"type": "MaxPool2d", "kernel_size": 2}, "Flatten",
                                {"type": "Linear", "in_features": 512, "out_features": 10})");
    const Tensor mean = net.tensor("1.running_mean");
    const ShapesOnly shapes;
    const Tensor output = net(zeros({4, 3, 16, 16}));
    CHECK(output.sizes() == std::vector<int64_t>{4, 10});
    CHECK_FALSE(output.requires_grad());
    CHECK(shapes.multiply_adds() == 4 * (8 * 27 * 256 + 512 * 10));
    CHECK(mean.to_vector<float>() == std::vector<float>(8, 0));
  }

#if !defined(__SANITIZE_THREAD__)  // which has no room for such a mapping
  TEST_CASE("models larger than the memory") {
    if (tenon_test::cannot_emulate(tenon_test::kPageRecords)) return;
    const ShapesOnly shapes;
    const Module large =
        Module::create("Linear", arg("in_features") = 1 << 20, arg("out_features") = 1 << 22);
    CHECK(large.tensor("weight").numel() == int64_t{1} << 42);
    CHECK(large(zeros({2, 1 << 20})).sizes() == std::vector<int64_t>{2, 1 << 22});
    CHECK(shapes.multiply_adds() == int64_t{1} << 43);
  }
#endif

  TEST_CASE("a shape that does not fit is refused as a call refuses it") {
    const Module net = model(R"({"type": "Linear", "in_features": 4, "out_features": 3}, "Tanh",
                                {"type": "Linear", "in_features": 4, "out_features": 2})");
    const std::string called = refusal([&] { net(ones({5, 4})); }).text;
    const ShapesOnly shapes;
    const Refusal refused = refusal([&] { net(zeros({5, 4})); });
    CHECK(refused.kind == TENON_ERROR_VALUE);
    CHECK(refused.text == called);
    CHECK(has(refused.text, "[5, 3]"));
    CHECK(has(refused.text, "[2, 4]"));
    CHECK(has(refusal([&] { zeros({2, 3}) + zeros({2, 4}); }).text, "add()"));
  }

  TEST_CASE("data-dependent shapes are not known") {
    const ShapesOnly shapes;
    const Refusal refused = refusal([&] { nonzero(zeros({3})); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.text, "it is not known before the op runs"));
    CHECK(refusal([&] { masked_select(zeros({3}), zeros({3}, boolean)); }).kind ==
          TENON_ERROR_NOT_IMPLEMENTED);
  }

  TEST_CASE("scopes nest, half precision stays, and what is made stays valid") {
    Tensor kept;
    {
      const ShapesOnly outer;
      {
        const ShapesOnly inner;
        kept = zeros({1024, 1024}, bf16).mm(zeros({1024, 512}, bf16));
        CHECK(inner.multiply_adds() == 1024LL * 1024 * 512);
      }
      CHECK(outer.multiply_adds() == 0);
      CHECK((ones({2}) + ones({2})).to_vector<float>() == std::vector<float>{0, 0});
    }
    CHECK(kept.dtype() == bf16);
    CHECK((ones({2}) + ones({2})).to_vector<float>() == std::vector<float>{2, 2});
    CHECK((kept + 1).sum(none, false, f32).item() == 1024 * 512);
  }

  TEST_CASE("F-258 skip_init draws nothing and computes nothing; a state loads into it") {
    const TemporaryFile file;
    seed_generator(11);
    const Module trained =
        Module::create("Linear", arg("in_features") = 700, arg("out_features") = 500);
    state::save(trained, file.path);
    seed_generator(11);
    const Draws before = reserve_draws(0);
    const Module linear = skip_init("Linear", arg("in_features") = 700, arg("out_features") = 500);
    CHECK(reserve_draws(0).offset == before.offset);
    CHECK(linear.parameters().size() == 2);
    CHECK(linear.tensor("weight").requires_grad());
    CHECK(linear.training());
    state::load(linear, file.path);
    CHECK(linear.tensor("weight").detach().to_vector<float>() ==
          trained.tensor("weight").detach().to_vector<float>());
    const Tensor x = ones({2, 700});
    linear(x).sum().backward();
    CHECK(linear.tensor("weight").grad().defined());
  }
}
