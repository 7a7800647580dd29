// Optimizer steps: the documented updates, layouts, refusals.
#include "../compare.hpp"

using namespace compare;
using tenon::optim::adam_step_;
using tenon::optim::sgd_step_;

TEST_SUITE("nn") {
  TEST_CASE("sgd_step_ follows its update, element by element") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      for (const bool nesterov : {false, true}) {
        const int64_t n = 37;
        Tensor p = numbers({n}, dtype), buffer = tenon::zeros({n}, dtype);
        std::vector<double> expected = p.to_vector<double>(), moved(static_cast<size_t>(n), 0.0);
        for (int64_t step = 0; step < 3; ++step) {
          const Tensor g = numbers({n}, dtype, static_cast<uint64_t>(10 + step));
          const std::vector<double> gradient = g.to_vector<double>();
          CHECK(sgd_step_(p, g, buffer, 0.1, 0.9, nesterov ? 0 : 0.25, 0.01, nesterov).is_same(p));
          for (size_t i = 0; i < expected.size(); ++i) {
            const double d = gradient[i] + 0.01 * expected[i];
            moved[i] = 0.9 * moved[i] + (nesterov ? 1 : 0.75) * d;
            expected[i] -= 0.1 * (nesterov ? d + 0.9 * moved[i] : moved[i]);
          }
        }
        check_values(p, {n}, expected, dtype == tenon::f32 ? 1e-6 : 1e-14);
        check_values(buffer, {n}, moved, dtype == tenon::f32 ? 1e-6 : 1e-14);
      }
    }
    const Tensor p = tenon::tensor({1.0, 2.0});
    sgd_step_(p, tenon::tensor({1.0, -1.0}), {}, 0.5);
    check_values(p, {2}, {0.5, 2.5});
  }

  TEST_CASE("adam_step_ follows its update, element by element") {
    const int64_t n = 33;
    Tensor p = numbers({n}, tenon::f64), first = tenon::zeros({n}, tenon::f64),
           second = tenon::zeros({n}, tenon::f64);
    std::vector<double> expected = p.to_vector<double>(), m(static_cast<size_t>(n), 0.0), v = m;
    for (int64_t step = 1; step <= 4; ++step) {
      const Tensor g = numbers({n}, tenon::f64, static_cast<uint64_t>(step));
      const std::vector<double> gradient = g.to_vector<double>();
      adam_step_(p, g, first, second, step, 0.01, 0.8, 0.95, 1e-6, 0.02);
      for (size_t i = 0; i < expected.size(); ++i) {
        const double d = gradient[i] + 0.02 * expected[i];
        m[i] = 0.8 * m[i] + 0.2 * d;
        v[i] = 0.95 * v[i] + 0.05 * d * d;
        const double t = static_cast<double>(step);
        expected[i] -= 0.01 / (1 - std::pow(0.8, t)) * m[i] /
                       (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-6);
      }
    }
    check_values(p, {n}, expected, 1e-12);
  }

  TEST_CASE("steps change parameters in place, of any layout, and versions show it") {
    const Tensor base = numbers({4, 6}), view = base.t(), g = numbers({6, 4}, tenon::f32, 2);
    const Tensor expected = view - g * 0.5;
    const int64_t version = base.version();
    sgd_step_(view, g, {}, 0.5);
    check_close(base.t(), expected);
    CHECK(base.version() > version);
    const Tensor parameter = numbers({3}).requires_grad_();
    parameter.sum().backward();
    {
      const tenon::NoGrad no_grad;
      adam_step_(parameter, parameter.grad(), tenon::zeros({3}), tenon::zeros({3}), 1, 0.1);
    }
    check_close(parameter.detach(), numbers({3}) - 0.1, 1e-5);
    CHECK(parameter.is_leaf());
    CHECK_THROWS_AS(sgd_step_(parameter, parameter.grad(), {}, 0.1), tenon::Error);
  }

  TEST_CASE("steps refuse what does not fit") {
    const Tensor p = tenon::zeros({2, 3}), g = tenon::zeros({2, 3});
    CHECK(refusal([&] { sgd_step_(p, tenon::zeros({3}), {}, 0.1); }) ==
          "sgd_step_(): 'gradient' of shape [3] does not fit 'parameter' of shape [2, 3]");
    CHECK(refusal([&] { sgd_step_(p, g, {}, 0.1, 0.9); }) ==
          "sgd_step_(): momentum needs 'momentum_buffer', zeros at the first step");
    CHECK(refusal([&] { sgd_step_(p, g, {}, -1); }) ==
          "sgd_step_(): learning_rate must be zero or more, got -1.000000");
    CHECK_THROWS_AS(sgd_step_(p, g, tenon::zeros({2, 3}), 0.1, 0.9, 0.5, 0, true),
                    tenon::ValueError);
    CHECK_THROWS_AS(sgd_step_(p, g.to(tenon::f64), {}, 0.1), tenon::TypeError);
    CHECK_THROWS_AS(sgd_step_(p.to(tenon::i64), g.to(tenon::i64), {}, 0.1), tenon::TypeError);
    CHECK_THROWS_AS(adam_step_(p, g, g, g, 0, 0.1), tenon::ValueError);
    CHECK_THROWS_AS(adam_step_(p, g, g.clone(), g.clone(), 1, 0.1, 1.0), tenon::ValueError);
  }
}
