// Results that the SDK writes for a definition: into `out`, and into the operand of an in-place form.
#include <string_view>

#include <tenon/in_place.hpp>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

struct Scaled {
  static constexpr auto schema =
      "my.scaled(Tensor|Scalar input, Tensor other, *, Scalar alpha=1, str mode='a, b', "
      "Tensor(a!)? out=None) -> Tensor";
  [[maybe_unused]] static constexpr auto element = [](auto x, auto y) { return x * y; };
};
struct Plain {
  static constexpr auto schema = "plain(Tensor input) -> Tensor";
  static Tensor forward(const Tensor& input) { return input; }
};
struct Keyed {
  static constexpr auto schema = "keyed(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static Tensor forward(const Tensor& input) { return input; }
};

using Pair = std::tuple<Tensor, Tensor>;
template <class Result = Tensor>
std::string refusal_of(const std::string& name, const Tensor& operand, const Argument& out) {
  try {
    fx(name).call<Result>(operand, arg("out") = out);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("sdk/written_result") {
  TEST_CASE("the schema of an in-place form follows from the op's") {
    CHECK(std::string_view(InPlace<Scaled>::schema) ==
          "my.scaled_(Tensor(a!) input, Tensor other, *, Scalar alpha=1, str mode='a, b') -> "
          "Tensor(a!)");
    CHECK(std::string_view(InPlace<Plain>::schema) == "plain_(Tensor(a!) input) -> Tensor(a!)");
    CHECK(std::string_view(InPlace<Keyed>::schema) == "keyed_(Tensor(a!) input) -> Tensor(a!)");
    CHECK(std::string_view(InPlace<Scaled>::doc) == "my.scaled, in place.");
  }

  TEST_CASE("a forward without out has its result written there, and returned") {
    const Tensor x = row({1, 2, 3});
    Tensor out = full({3}, 7, f64);
    const auto version = out.version();
    CHECK(apply("powered", x, arg("exponent") = 2.0, arg("out") = out).is_same(out));
    CHECK(numbers(out) == Numbers{1, 4, 9});
    CHECK(out.version() > version);
    // An `out` of another dtype of the same kind, strided, and in memory that is read.
    out = full({3, 2}, 7, f32).select(1, 1);
    fx("powered")(x, arg("out") = out);
    CHECK(numbers(out) == Numbers{1, 8, 27});
    CHECK(apply("powered", x, arg("out") = x).is_same(x));
    CHECK(numbers(x) == Numbers{1, 8, 27});
  }

  TEST_CASE("a composite without out, and several results") {
    const Tensor x = tensor({{1., 2.}, {3., 4.}}, f64);
    const Tensor out = zeros({2}, f64);
    CHECK(apply("summed", x, arg("out") = out).is_same(out));
    CHECK(numbers(out) == Numbers{4, 6});
    const std::vector<Tensor> outs{zeros(std::vector<int64_t>{}, f64),
                                   zeros(std::vector<int64_t>{}, f64)};
    const auto [low, high] = fx("bounds").call<Pair>(x, arg("out") = outs);
    CHECK(low.is_same(outs[0]));
    CHECK(high.is_same(outs[1]));
    CHECK(outs[0].item() == 1);
    CHECK(outs[1].item() == 4);
    const ShapesOnly shapes_only;
    CHECK(std::get<1>(fx("bounds").call<Pair>(x, arg("out") = outs)).is_same(outs[1]));
  }

  TEST_CASE("an out that does not fit is refused, and left as it was") {
    const Tensor x = tensor({{1., 2.}, {3., 4.}}, f64);
    CHECK(
        refusal_of("summed", x, zeros({3}, f64)) ==
        "summed(): 'out' has shape [3] but the result has shape [2]: pass a tensor of that shape");
    const Tensor whole = zeros({2}, i64);
    CHECK(refusal_of("summed", x, whole) ==
          "summed(): the result has dtype f64, which cannot be written into 'out' of i64: pass a "
          "tensor of the result's dtype");
    CHECK(whole.sum().item<int64_t>() == 0);
    CHECK_FALSE(refusal_of("summed", x, zeros({1}, f64).expand({2})).empty());
    const Tensor first = zeros(std::vector<int64_t>{}, f64);
    CHECK(refusal_of<Pair>("bounds", x, std::vector<Tensor>{first}) ==
          "bounds(): 'out' has 1 tensor but the op has 2 results: pass one tensor for each");
    CHECK_FALSE(refusal_of<Pair>("bounds", x, std::vector<Tensor>{first, zeros({2}, f64)}).empty());
    CHECK(first.item() == 0);
  }

  TEST_CASE("out is refused where something would be recorded, in composites too") {
    const Tensor out = zeros({2}, f64), x = tensor({{1., 2.}, {3., 4.}}, f64).requires_grad_();
    CHECK(refusal_of("summed", x, out)
              .find("summed(): functions with out=... arguments don't "
                    "support automatic differentiation") == 0);
    CHECK(refusal_of("summed", x.detach(), zeros({2}, f64).requires_grad_()).find("summed()") == 0);
    const std::vector<Tensor> outs{zeros(std::vector<int64_t>{}, f64),
                                   zeros(std::vector<int64_t>{}, f64)};
    CHECK_FALSE(refusal_of<Pair>("bounds", x, outs).empty());
    {
      const NoGrad no_grad;
      CHECK(refusal_of("summed", x, out).empty());
    }
    const DualLevel level;
    const Tensor dual = make_dual(x.detach(), x.detach());
    CHECK(refusal_of("summed", dual, out).find("don't support forward mode") != std::string::npos);
  }

  TEST_CASE("an in-place form copies the result into its operand, and is recorded") {
    const Tensor leaf = row({1, 2, 3}).requires_grad_(), x = leaf * 1;
    CHECK(apply("powered_", x, arg("exponent") = 2.0).is_same(x));
    CHECK(numbers(x) == Numbers{1, 4, 9});
    sum(x * x).backward();  // leaf^4
    CHECK(numbers(leaf.grad()) == Numbers{4, 32, 108});
    // A change of a part of a tensor, whose history continues.
    const Tensor other = row({1, 2, 3}).requires_grad_(), y = other * 1;
    fx("powered_")(y.narrow(0, 1, 2), arg("exponent") = 2.0);
    sum(y).backward();
    CHECK(numbers(other.grad()) == Numbers{1, 4, 6});
    CHECK_THROWS_AS(apply("powered_", leaf), Error);
  }

  TEST_CASE("an in-place form refuses a result that its operand cannot hold") {
    const Tensor x = tensor({{1., 2.}, {3., 4.}}, f64);
    try {
      fx("summed_")(x);
      CHECK(false);
    } catch (const ValueError& error) {
      CHECK(std::string(error.what()) ==
            "summed_(): the tensor changed in place has shape [2, 2] but the result has shape [2]: "
            "pass a tensor of that shape");
    }
    CHECK(x.sum().item() == 10);
  }
}
