// Reports about wrong derivatives of single ops, and about histories that are lost.
#include <limits>

#include <tenon/autograd.hpp>
#include <tenon/gradcheck.hpp>

#include "support.hpp"

using namespace reports;

TEST_SUITE("reports: derivatives") {
  TEST_CASE("scatter: an index smaller than its source leaves a gradient of the source's shape") {
    const Tensor index = codes({0, 1, 0, 2}).reshape({2, 2});
    const auto checked = [&](const char* name, const char* reduce) {
      CAPTURE(name);
      const Op op(name);
      const Tensor input = row({1, 2, 3, 4, 5, 6, 7, 8, 9}).reshape({3, 3}).requires_grad_();
      const Tensor source = row({0.5, 1.5, 2.5, 3.5, 4.5, 5.5}).reshape({2, 3}).requires_grad_();
      const auto call = [&](const Tensor& x, const Tensor& s) {
        return reduce[0] == '\0' ? op.call<Tensor>(x, 1, index, s)
                                 : op.call<Tensor>(x, 1, index, s, reduce);
      };
      const std::vector<Tensor> found = gradients({call(input, source).sum()}, {input, source});
      CHECK(found[0].sizes() == input.sizes());
      CHECK(found[1].sizes() == source.sizes());
      CHECK(gradcheck(call, {input, source}));
    };
    checked("scatter", "");
    checked("scatter_add", "");
    checked("scatter_reduce", "sum");
    checked("scatter_reduce", "mean");
    checked("scatter_reduce", "amax");
  }

  TEST_CASE("index_select of repeated rows adds their gradients") {
    const Tensor x = leaf({1, 2, 3});
    static const Op op("index_select");
    op.call<Tensor>(x, 0, codes({1, 1, 1, 0})).sum().backward();
    CHECK(numbers(x.grad()) == Numbers{1, 3, 0});
  }

  TEST_CASE("cross has the sign of both gradients, and cat keeps them apart where one has none") {
    const Tensor a = leaf({1, 2, 3}), b = leaf({-4, 5, 0.5});
    CHECK(gradcheck(Op("cross"), {a, b}));
    const Tensor x = leaf({1, 2}), constant = row({3, 4, 5}), y = leaf({6});
    (cat({constant, x, y}) * row({1, 2, 3, 4, 5, 6})).sum().backward();
    CHECK(numbers(x.grad()) == Numbers{4, 5});
    CHECK(numbers(y.grad()) == Numbers{6});
  }

  TEST_CASE("unfold and casts pass gradients on") {
    const Tensor x = leaf({1, 2, 3, 4});
    static const Op op("unfold");
    op.call<Tensor>(x, 0, 2, 1).sum().backward();
    CHECK(numbers(x.grad()) == Numbers{1, 2, 2, 1});
    const Tensor y = leaf({1, 2});
    (y.to(f32) * 3).sum().backward();
    CHECK(numbers(y.grad()) == Numbers{3, 3});
    CHECK(y.grad().dtype() == f64);
  }

  TEST_CASE("einsum of three operands has the gradients of each") {
    static const Op op("einsum");
    const Tensor a = leaf({1, 2, 3, 4}).reshape({2, 2}).detach().requires_grad_();
    const Tensor b = leaf({0.5, -1, 2, 1}).reshape({2, 2}).detach().requires_grad_();
    const Tensor c = leaf({3, 1}).detach().requires_grad_();
    CHECK(gradcheck(
        [&](const Tensor& x, const Tensor& y, const Tensor& z) {
          return op.call<Tensor>("ij,jk,k->i", std::vector<Tensor>{x, y, z});
        },
        {a, b, c}));
  }

  TEST_CASE("maximum takes the larger operand's gradient, half of each where they tie") {
    const Tensor x = leaf({1, 2, 3}), y = leaf({1, 5, -1});
    maximum(x, y).sum().backward();
    CHECK(numbers(x.grad()) == Numbers{0.5, 0, 1});
    CHECK(numbers(y.grad()) == Numbers{0.5, 1, 0});
  }

  TEST_CASE("an affine layer has a tangent as well as a gradient") {
    const Module layer = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 2);
    const DualLevel level;
    const Tensor x = make_dual(ones({1, 2}), ones({1, 2}));
    const Tensor tangent = unpack_dual(layer(x)).tangent;
    REQUIRE(tangent.defined());
    CHECK(numbers(tangent) == numbers(layer.tensor("weight").detach().sum({1})));
  }

  TEST_CASE("an operand that is changed through a view after the call is refused in backward") {
    static const Op op("einsum");
    const Tensor weight = leaf({1, 2, 3, 4}).reshape({2, 2}).detach().requires_grad_();
    // The product saves a view of x; of the sum over b it saves the values.
    const Tensor x = ones({2, 2, 2}, f64), other = x.clone();
    const Tensor saved = op.call<Tensor>("bij,jk->bik", std::vector<Tensor>{x, weight});
    const Tensor summed = op.call<Tensor>("ijb,jk->ik", std::vector<Tensor>{other, weight});
    x.view({8}).add_(1);
    other.view({8}).add_(1);
    CHECK(contains(refusal([&] { saved.sum().backward(); }), "modified by an inplace operation"));
    summed.sum().backward();
    CHECK(numbers(weight.grad()) == Numbers{4, 4, 4, 4});
  }

  TEST_CASE("a change in place of one of several views reaches its base and the gradient") {
    const Tensor start = leaf({1, 2, 3});
    const Tensor x = start.clone();
    static const Op op("unbind");
    const std::vector<Tensor> parts = op.call<std::vector<Tensor>>(x);
    parts[0].mul_(2);
    CHECK(numbers(x.detach()) == Numbers{2, 2, 3});
    (x * x).sum().backward();
    CHECK(numbers(start.grad()) == Numbers{8, 4, 6});
  }

  TEST_CASE("a gradient of minus infinity plus infinity is not made by where that masks it") {
    const Tensor x = leaf({0, 4});
    static const Op where("where");
    const Tensor safe = where.call<Tensor>(x > 0, x, ones_like(x));
    where.call<Tensor>(x > 0, safe.sqrt(), zeros_like(x)).sum().backward();
    CHECK(numbers(x.grad()) == Numbers{0, 0.25});
  }

  TEST_CASE("0 to the power of 0 has a gradient of its exponent that is a number") {
    const Tensor base = leaf({0, 2}), exponent = leaf({1, 3});
    pow(base, exponent).sum().backward();
    CHECK(numbers(exponent.grad())[0] == 0);
    CHECK(numbers(base.grad()) == Numbers{1, 12});
  }
}
