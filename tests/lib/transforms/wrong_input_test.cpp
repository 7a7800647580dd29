// Mistakes around vmap: what the error of each says.
#include <thread>

#include <tenon/mode.hpp>
#include <tenon/transforms/grad.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/support.hpp"

using namespace batching;

namespace {

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}
// Runs an op of the plugin with planted batch rules on a batch of samples.
Tensor planted(const char* op, const Tensor& rows) {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/planted/planted_batches.so"), true);
  static_cast<void>(loaded);
  const Op called("planted_batches." + std::string(op));
  return vmap([&](const Tensor& row) { return called.call<Tensor>(row); })(rows);
}
Tensor made(const char* type, const Tensor& data) {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/types/types.so"), true);
  static_cast<void>(loaded);
  return Op("tx.make").call<Tensor>(type, data);
}

}  // namespace

TEST_SUITE("lib/transforms/wrong_input") {
  TEST_CASE("a rule that returns wrong dimensions is named with its plugin, each time") {
    for (int i = 0; i < 2; ++i) {
      CHECK(refusal<ValueError>([] {
              planted("other_dim", randn({3, 2, 4}));
            }) ==
            "the batch rule of planted_batches.other_dim (plugin 'planted_batches') gives a result "
            "of "
            "size 2 at its batch dimension, expected 3; fix the rule");
      CHECK(
          refusal<ValueError>([] {
            planted("no_result", randn({3, 2, 4}));
          }) ==
          "the batch rule of planted_batches.no_result (plugin 'planted_batches') gives 0 results, "
          "expected 1; fix the rule");
    }
  }

  TEST_CASE("a rule as data that names what is not there is named with its plugin") {
    CHECK(says(refusal<ValueError>([] {
                 planted("other_parameter", randn({3, 2, 4}));
               }),
               "the batch rule 'planted_batches.other_parameter: dims(dim)' of plugin "
               "'planted_batches' names 'dim', which is not a parameter of "
               "planted_batches.other_parameter; fix the rule"));
    CHECK(says(refusal<Error>([] {
                 planted("no_such_op", randn({3, 2, 4}));
               }),
               "no op is named 'planted_batches.nowhere'"));
  }

  TEST_CASE("a rule that cannot be read is not used: the op runs for each sample") {
    const Tensor x = randn({3, 2, 4});
    CHECK(difference(planted("unreadable", x), sum(x, {-1})) < 1e-6);
  }

  TEST_CASE("operands of a type whose handler declines are refused as outside of vmap") {
    CHECK(says(
        refusal<TypeError>([] {
          vmap([](const Tensor& t) { return t + 1; })(made("S", randn({3, 2})));
        }),
        "no implementation found for 'tenon.add' on types that implement tenon_function: [S]"));
    CHECK(refusal<IndexError>([] {
            vmap([](const Tensor& t) { return t + 1; })(made("Bare", Tensor()));
          }) == "vmap: in_dims has 0 for argument 0, a tensor of 0 dimensions");
    const Tensor x = randn({3, 2});
    CHECK(type_name(vmap([](const Tensor& t) { return t + 1; })(made("S2", x))) == "S2");
  }

  TEST_CASE("a mode sees the calls of the function once for all samples") {
    CountMode count;
    {
      const ModeScope scope(count);
      vmap([](const Tensor& t) { return t + 1; })(randn({3, 2}));
    }
    CHECK(count.calls().at("add") == 1);
  }

  TEST_CASE(
      "gradients of a Function whose backward is differentiated once are those of each sample") {
    const Tensor x = randn({3, 2}).to(f64);
    planted("once_squared", x);
    const Op op("planted_batches.once_squared");
    const auto f = [&](const Tensor& t) { return sum(op.call<Tensor>(t)); };
    CHECK(difference(vmap(transforms::grad(f))(x), x * 2) < 1e-12);
  }

  TEST_CASE(
      "a second derivative of a Function that is differentiated once is never zero in silence") {
    const Tensor x = randn({2}).to(f64);
    planted("once_squared", x);
    const Op op("planted_batches.once_squared");
    const auto f = [&](const Tensor& t) { return sum(op.call<Tensor>(t)); };
    const auto slope = [&](const Tensor& t) { return sum(transforms::grad(f)(t)); };
    const char* const text =
        "trying to differentiate twice a function that was marked with once_differentiable";
    CHECK(says(refusal<Error>([&] { transforms::grad(slope)(x); }), text));
    CHECK(says(refusal<Error>([&] { transforms::jacrev(transforms::grad(f))(x); }), text));
    CHECK(says(refusal<Error>([&] {
                 vmap(transforms::grad(slope))(randn({3, 2}).to(f64));
               }),
               text));
  }

  TEST_CASE("another thread computes with batched tensors as long as their vmap runs") {
    const Tensor x = randn({3, 2});
    Tensor kept;
    const Tensor twice = vmap([&](const Tensor& t) {
      kept = t;
      Tensor result;
      std::thread([&] { result = t * 2; }).join();
      return result;
    })(x);
    CHECK(difference(twice, x * 2) == 0);
    std::string text;
    std::thread([&] { text = refusal<RuntimeError>([&] { kept * 2; }); }).join();
    CHECK(says(text, "mul(): a batched tensor is used after its vmap has returned"));
  }

  TEST_CASE("the plugin of vmap is not unloaded as long as plugins have batch rules as functions") {
    planted("right_sums", randn({3, 2}));
    const Tensor x = randn({3, 2});
    std::string text;
    const Tensor next = vmap([&](const Tensor& t) {
      text = refusal<PluginError>([] { unload("transforms", Unload::refuse); });
      return t + 1;
    })(x);
    CHECK(says(text, "plugins build on its tensor types: planted_batches"));
    CHECK(difference(next, x + 1) == 0);
  }
}
