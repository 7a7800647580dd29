// linear: values, shapes, gradients of the note's example, refusals.
#include "../compare.hpp"

using namespace compare;
using tenon::nn::functional::linear;

TEST_SUITE("nn") {
  TEST_CASE("linear computes the note's example, with and without bias") {
    const Tensor x = tenon::tensor({{1, 2}, {3, 4}}, tenon::f32).requires_grad_();
    const Tensor w = tenon::tensor({{1, 0}, {0, 1}, {1, 1}}, tenon::f32).requires_grad_();
    const Tensor b = tenon::tensor({1, 2, 3}, tenon::f32).requires_grad_();
    const Tensor y = linear(x, w, b);
    check_values(y, {2, 3}, {2, 4, 6, 4, 6, 10});
    y.sum().backward();
    check_values(x.grad(), {2, 2}, {2, 2, 2, 2});
    check_values(w.grad(), {3, 2}, {4, 6, 4, 6, 4, 6});
    check_values(b.grad(), {3}, {2, 2, 2});
    const Tensor plain = linear(x, w);
    check_values(plain, {2, 3}, {1, 2, 3, 3, 4, 7});
    plain.sum().backward();
    check_values(x.grad(), {2, 2}, {4, 4, 4, 4});
  }

  TEST_CASE("linear takes inputs of any rank and layout") {
    const Tensor w = numbers({5, 3}, tenon::f32, 2), b = numbers({5}, tenon::f32, 3);
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
             {3}, {1, 3}, {4, 3}, {2, 4, 3}, {2, 1, 2, 3}, {0, 3}, {2, 0, 3}}) {
      const Tensor x = numbers(shape);
      const Tensor expected = (x.unsqueeze(-2) * w).sum({-1}) + b;
      check_close(linear(x, w, b), expected);
      if (shape.size() > 1)
        check_close(linear(x.transpose(0, -1).clone().transpose(0, -1), w.t().clone().t(), b),
                    expected);
    }
    check_values(linear(tenon::zeros({2, 0}), tenon::zeros({3, 0}), tenon::ones({3})), {2, 3},
                 {1, 1, 1, 1, 1, 1});
  }

  TEST_CASE("one row has the numbers of many, whatever its length, layout and threads") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      for (const int64_t in : {1, 3, 8, 15, 16, 33, 64, 257}) {
        for (const int64_t out : {1, 2, 4, 7, 64, 301}) {
          const Tensor w = numbers({out, in}, dtype, 2), b = numbers({out}, dtype, 3);
          const Tensor x = numbers({1, in}, dtype), both = tenon::cat({x, x}, 0);
          for (const Tensor& bias : {b, Tensor(), numbers({1}, dtype, 4)}) {
            const Tensor expected = linear(both, w, bias).select(0, 0);
            check_close(linear(x, w, bias).select(0, 0), expected);
            check_close(linear(x.select(0, 0), w, bias), expected);
            check_close(linear(x, w.t().clone().t(), bias).select(0, 0), expected);
          }
        }
      }
    }
    const Tensor w = numbers({3001, 600}, tenon::f32, 2), x = numbers({1, 600});
    const std::vector<float> expected = linear(x, w).to_vector<float>();
    for (const int threads : {1, 2, 3, 8}) {
      tenon::set_thread_count(threads);
      CHECK(linear(x, w).to_vector<float>() == expected);
    }
    tenon::set_thread_count(0);
  }

  TEST_CASE("linear computes only the gradients that are needed") {
    const Tensor x = numbers({4, 3}), w = numbers({2, 3}, tenon::f32, 2).requires_grad_();
    linear(x, w).sum().backward();
    CHECK(!x.grad().defined());
    CHECK(w.grad().sizes() == std::vector<int64_t>{2, 3});
    const Tensor y = numbers({4, 3}).requires_grad_();
    linear(y, w.detach(), tenon::zeros({2})).sum().backward();
    CHECK(y.grad().sizes() == std::vector<int64_t>{4, 3});
  }

  TEST_CASE("a bias of one element is added to every feature") {
    const Tensor x = numbers({2, 3}, tenon::f64), w = numbers({4, 3}, tenon::f64, 2);
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1}, std::vector<int64_t>{}}) {
      const Tensor b = tenon::full(shape, 2.5, tenon::f64).requires_grad_();
      const Tensor y = linear(x, w, b);
      check_close(y.detach(), linear(x, w) + 2.5);
      y.sum().backward();
      check_values(b.grad(), shape, {8});
      const tenon::DualLevel level;
      const Tensor dual = make_dual(b.detach(), tenon::ones_like(b.detach()));
      check_values(unpack_dual(linear(x, w, dual)).tangent, {2, 4}, std::vector<double>(8, 1));
    }
  }

  TEST_CASE("linear refuses what does not fit") {
    CHECK(refusal([] {
            linear(tenon::zeros({2, 3}), tenon::zeros({4, 5}));
          }) ==
          "linear(): 'input' of shape [2, 3] does not fit 'weight' of shape [4, 5]: its last "
          "dimension must be 5");
    CHECK(refusal([] {
            linear(tenon::zeros({2, 3}), tenon::zeros({3}));
          }) == "linear(): 'weight' must have shape [out_features, in_features], got [3]");
    CHECK(refusal([] {
            linear(tenon::zeros({2, 3}), tenon::zeros({4, 3}), tenon::zeros({3}));
          }) == "linear(): 'bias' must have shape [4] or one element, got [3]");
    CHECK(refusal([] {
            linear(tenon::zeros({2, 3}), tenon::zeros({4, 3}, tenon::f64));
          }) == "linear(): 'input' is f32 but 'weight' is f64; convert one with to()");
    CHECK_THROWS_AS(linear(tenon::zeros({}), tenon::zeros({4, 3})), tenon::ValueError);
    CHECK_THROWS_AS(
        linear(tenon::zeros({2, 3}), tenon::zeros({4, 3}), tenon::zeros({4}, tenon::f64)),
        tenon::TypeError);
  }
}
