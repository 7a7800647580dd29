// Rows of the notes on extending that no other file has: forms of gradcheck, the place of a jvp in a
// call, parameters that come later, and the kinds of arguments.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include <tenon/autograd.hpp>
#include <tenon/configure.hpp>
#include <tenon/gradcheck.hpp>
#include <tenon/init.hpp>
#include <tenon/trace.hpp>

#include "functions.hpp"

using namespace functions;

TEST_SUITE("sdk/seeds") {
  TEST_CASE("F-008 no public header has a type of the name Variable") {
    const std::regex word(R"(\bVariable\b)");
    int count = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(TENON_SOURCE_DIR "/sdk/include")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      CAPTURE(entry.path().string());
      CHECK_FALSE(std::regex_search(text, word));
      ++count;
    }
    CHECK(count > 100);
  }

  TEST_CASE(
      "F-001 an op of another library is one node, and the chain around it passes gradcheck") {
    const Tensor a = randn({9, 12}, f64).requires_grad_(), b = randn({12, 10}, f64);
    const Tensor product = mm(sin(a), b);  // plugin blas calls CBLAS
    CHECK(product.grad_fn().name() == "MmBackward0");
    CHECK(product.grad_fn().provider() == "blas");
    CHECK(exp(product).grad_fn().next_edges()[0].node.name() == "MmBackward0");
    CHECK(product.grad_fn().next_edges()[0].node.name() == "SinBackward0");
    const auto chain = [](const Tensor& x, const Tensor& y) { return tanh(mm(sin(x), y)); };
    GradcheckOptions options;
    options.fast_mode = true;
    CHECK(gradcheck(chain, {a, b.clone().requires_grad_()}, options));
  }

  TEST_CASE("F-014 a handle is found once, and calls by it search nothing") {
    CHECK(fx("count_searches").call<int64_t>(row({1}), 1) == 2);  // by the handle, and by floor()
    CHECK(fx("count_searches").call<int64_t>(row({1}), 1000) == 1);  // by a new handle
  }

  TEST_CASE("F-035 results of integers require no grad, without being marked") {
    const Tensor x = leaf({1.5, 2});
    CHECK_FALSE(x.to(i64).requires_grad());
    CHECK(x.to(f32).requires_grad());
  }

  TEST_CASE("F-050 a gradient that was not asked for is dropped") {
    const Tensor x = leaf({3}), y = row({4});
    apply("mix", x, 2, y).backward();  // its rule gives both
    CHECK(numbers(x.grad()) == Numbers{5});
    CHECK_FALSE(y.grad().defined());
  }

  TEST_CASE("F-095 first values are set without recording: the weight stays a leaf") {
    const Module linear = Module::create("Linear", arg("in_features") = 5, arg("out_features") = 9);
    const Tensor weight = linear.tensor("weight");
    init::uniform_(weight, -0.1, 0.1);
    CHECK(weight.is_leaf());
    CHECK(weight.requires_grad());
    for (const float element : weight.detach().to_vector<float>())
      CHECK(std::fabs(element) <= 0.1F);
  }

  TEST_CASE("F-066 F-069 the note's gradcheck of a linear layer, with and without bias") {
    static const Op linear("nn.functional.linear");
    const Tensor input = randn({4, 5}, f64).requires_grad_();
    const Tensor weight = randn({3, 5}, f64).requires_grad_();
    const Tensor bias = randn({3}, f64).requires_grad_();
    GradcheckOptions options;
    options.eps = 1e-6;
    options.atol = 1e-4;
    CHECK(gradcheck(linear, {input, weight}, options));
    CHECK(gradcheck(linear, {input, weight, bias}, options));
  }

  TEST_CASE("F-068 a handle, a configured op and a callable are checked with the same result") {
    const Op add = styles("add_constant");
    const Tensor x = leaf({1, -2, 0.5});
    const auto callable = [&](const Tensor& input) {
      return add.call<Tensor>(input, arg("constant") = 3.0);
    };
    CHECK(gradcheck(callable, {x}));
    CHECK(gradcheck(configure("styles.add_constant", arg("constant") = 3.0), {x}));
    CHECK(gradcheck(fx("cube"), {x}));
    CHECK(gradcheck(configure("fx.cube"), {x}));
    CHECK(gradcheck([](const Tensor& input) { return apply("cube", input); }, {x}));
  }

  TEST_CASE("F-076 a jvp runs after forward, and before the call returns") {
    const DualLevel level;
    const Tensor x = make_dual(row({2}), row({1})), y = row({3});
    TraceScope trace;
    const Tensor product = apply("tangent_product", x, y, 2.0);
    exp(y);
    const std::string text = trace.text();
    const size_t call = text.find("call fx.tangent_product"),
                 jvp = text.find("  jvp fx.tangent_product"), forward = text.find("    call mul("),
                 next = text.find("\ncall exp(");
    REQUIRE(call != std::string::npos);
    REQUIRE(jvp != std::string::npos);
    REQUIRE(next != std::string::npos);
    CHECK(call < forward);
    CHECK(forward < jvp);
    CHECK(jvp < next);
    // The indentation says that it is inside of the call.
    CHECK(text.find("\njvp fx.tangent_product") == std::string::npos);
    CHECK(numbers(unpack_dual(product).tangent) == Numbers{6});
  }

  TEST_CASE("F-090 a parameter that is registered in no-grad mode requires grad") {
    Module module = Module::create("Sequential", arg("layers") = std::vector<Module>());
    {
      const NoGrad no_grad;
      module.register_parameter("weight", zeros({2}));
    }
    CHECK(module.tensor("weight").requires_grad());
  }

  TEST_CASE("F-093 a parameter registered as none is assigned later, by a parameter only") {
    Module module = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 2,
                                   arg("bias") = false);
    CHECK_FALSE(module.tensor("bias").defined());
    CHECK(module.named_parameters().size() == 1);
    const Module child = Module::create("ReLU");
    CHECK(has(refusal([&] { module.assign("bias", child); }).text,
              "cannot assign 'Module' as parameter 'bias' (Parameter or None expected)"));
    CHECK(has(refusal([&] {
                module.assign("bias", row({1, 2}));
              }).text,
              "cannot assign 'Tensor' as parameter 'bias' (Parameter or None expected)"));
    CHECK_FALSE(module.tensor("bias").defined());
    module.assign("bias", row({1, 2}).to(f32).requires_grad_());
    CHECK(module.tensor("bias").requires_grad());
    CHECK(module.named_parameters().size() == 2);
    CHECK(module(zeros({1, 2})).to_vector<float>() == std::vector<float>{1, 2});
  }
}
