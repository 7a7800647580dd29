// Optimizer steps: the documented updates, layouts, refusals.
#include <random>

#include "../compare.hpp"

using namespace compare;
using tenon::optim::adam_step_;
using tenon::optim::sgd_step_;

TEST_SUITE("optim") {
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
      adam_step_(p, g, first, second, step, 0.01, std::vector<double>{0.8, 0.95}, 1e-6, 0.02);
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

  // PyTorch's update of each optimizer, one element at a time in double.
  TEST_CASE("adamw_step_, rmsprop_step_ and adagrad_step_ follow their updates") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      const double tolerance = dtype == tenon::f32 ? 1e-5 : 1e-12;
      const int64_t n = 41;
      const auto zero = [&] { return tenon::zeros({n}, dtype); };
      Tensor adamw = numbers({n}, dtype), rms = adamw.clone(), plain = adamw.clone(),
             ada = adamw.clone();
      const Tensor m = zero(), v = zero(), square = zero(), average = zero(), buffer = zero(),
                   other = zero(), sum = zero();
      struct Element {
        double p, m = 0, v = 0;
      };
      std::vector<std::array<Element, 4>> expected;
      for (const double start : adamw.to_vector<double>())
        expected.push_back({Element{start}, Element{start}, Element{start}, Element{start}});
      std::vector<double> averages(static_cast<size_t>(n)), buffers(static_cast<size_t>(n));
      for (int64_t step = 1; step <= 5; ++step) {
        const Tensor g = numbers({n}, dtype, static_cast<uint64_t>(step + 20));
        const std::vector<double> gradient = g.to_vector<double>();
        tenon::optim::adamw_step_(adamw, g, m, v, step, 0.02, std::vector<double>{0.8, 0.95}, 1e-6,
                                  0.1);
        tenon::optim::rmsprop_step_(rms, g, square, average, buffer, 0.01, 0.9, 1e-6, 0.05, 0.8,
                                    true);
        tenon::optim::rmsprop_step_(plain, g, other, {}, {}, 0.01, 0.9, 1e-6, 0.05);
        tenon::optim::adagrad_step_(ada, g, sum, step, 0.1, 0.2, 0.05, 0.3, 1e-8);
        const double t = static_cast<double>(step);
        for (size_t i = 0; i < expected.size(); ++i) {
          auto& [w, r, q, a] = expected[i];
          w.p *= 1 - 0.02 * 0.1;
          w.m = 0.8 * w.m + 0.2 * gradient[i];
          w.v = 0.95 * w.v + 0.05 * gradient[i] * gradient[i];
          w.p -= 0.02 * (w.m / (1 - std::pow(0.8, t))) /
                 (std::sqrt(w.v / (1 - std::pow(0.95, t))) + 1e-6);
          const double d = gradient[i] + 0.05 * r.p;
          r.v = 0.9 * r.v + 0.1 * d * d;
          averages[i] = 0.9 * averages[i] + 0.1 * d;
          buffers[i] = 0.8 * buffers[i] + d / (std::sqrt(r.v - averages[i] * averages[i]) + 1e-6);
          r.p -= 0.01 * buffers[i];
          const double e = gradient[i] + 0.05 * q.p;
          q.v = 0.9 * q.v + 0.1 * e * e;
          q.p -= 0.01 * e / (std::sqrt(q.v) + 1e-6);
          const double h = gradient[i] + 0.05 * a.p;
          a.v += h * h;
          a.p -= 0.1 / (1 + (t - 1) * 0.2) * h / (std::sqrt(a.v + 0.3) + 1e-8);
        }
      }
      const Tensor* const results[] = {&adamw, &rms, &plain, &ada};
      for (size_t k = 0; k < 4; ++k) {
        CAPTURE(k);
        std::vector<double> values;
        for (const auto& element : expected) values.push_back(element[k].p);
        check_values(*results[k], {n}, values, tolerance);
      }
    }
  }

  TEST_CASE("a step is the same to the bit for any number of threads") {
    const int64_t n = 300001;
    const Tensor start = numbers({n}), g = numbers({n}, tenon::f32, 3);
    std::vector<std::vector<float>> results;
    for (const int32_t threads : {1, 2, 3}) {
      tenon::set_thread_count(threads);
      const Tensor p = start.clone(), buffer = tenon::zeros({n});
      sgd_step_(p, g, buffer, 0.1, 0.9, 0, 0.01);
      sgd_step_(p, g, {}, 0.1, 0, 0, 0.01);
      adam_step_(p, g, tenon::zeros({n}), tenon::zeros({n}), 1, 0.1);
      results.push_back(p.to_vector<float>());
    }
    tenon::set_thread_count(0);
    CHECK((results[0] == results[1]));
    CHECK((results[0] == results[2]));
  }

  // Lists of every kind of tensor, empty ones and views among them.
  TEST_CASE("steps of lists give the bits of steps of each, for any number of threads") {
    namespace optim = tenon::optim;
    using Tensors = std::vector<Tensor>;
    struct Operands {
      Tensors parameters, gradients, states[3];
    };
    std::mt19937_64 random(3);
    for (int round = 0; round < 30; ++round) {
      const uint64_t seed = random();
      const auto make = [&] {
        std::mt19937_64 own(seed);
        Operands all;
        const size_t count = own() % 12;
        for (size_t k = 0; k < count; ++k) {
          const DType dtype = own() % 3 == 0   ? tenon::f64
                              : own() % 5 == 0 ? tenon::bf16
                                               : tenon::f32;
          const auto rows = static_cast<int64_t>(own() % 40),
                     columns = static_cast<int64_t>(own() % (k % 4 == 0 ? 4000 : 40));
          const bool turned = own() % 4 == 0;
          const auto one = [&](double low) {
            const Tensor numbers = compare::numbers({rows, columns}, tenon::f32, own() % 1000);
            const Tensor shifted = (numbers * 0.4 + low).to(dtype);
            return turned ? shifted.t() : shifted;
          };
          all.parameters.push_back(one(0));
          all.gradients.push_back(one(0));
          all.states[0].push_back(one(0));
          all.states[1].push_back(one(0.5));
          all.states[2].push_back(one(0.9));
        }
        return all;
      };
      const auto compare_steps = [&](const auto& single, const auto& list) {
        const Operands expected = make();
        for (size_t k = 0; k < expected.parameters.size(); ++k) single(expected, k);
        for (const int32_t threads : {1, 2, 3}) {
          tenon::set_thread_count(threads);
          const Operands found = make();
          list(found);
          for (size_t k = 0; k < expected.parameters.size(); ++k) {
            CHECK(found.parameters[k].to_vector<double>() ==
                  expected.parameters[k].to_vector<double>());
            for (size_t s = 0; s < 3; ++s)
              CHECK(found.states[s][k].to_vector<double>() ==
                    expected.states[s][k].to_vector<double>());
          }
        }
        tenon::set_thread_count(0);
      };
      using O = Operands;
      compare_steps(
          [](const O& o, size_t k) {
            sgd_step_(o.parameters[k], o.gradients[k], {}, 0.1, 0, 0, 0.01);
          },
          [](const O& o) {
            optim::sgd_steps_(o.parameters, o.gradients, tenon::none, 0.1, 0, 0, 0.01);
          });
      for (const bool nesterov : {false, true}) {
        compare_steps(
            [&](const O& o, size_t k) {
              sgd_step_(o.parameters[k], o.gradients[k], o.states[0][k], 0.1, 0.9, 0, 0.01,
                        nesterov);
            },
            [&](const O& o) {
              optim::sgd_steps_(o.parameters, o.gradients, o.states[0], 0.1, 0.9, 0, 0.01,
                                nesterov);
            });
      }
      compare_steps(
          [](const O& o, size_t k) {
            adam_step_(o.parameters[k], o.gradients[k], o.states[0][k], o.states[1][k], 3, 0.1);
          },
          [](const O& o) {
            optim::adam_steps_(o.parameters, o.gradients, o.states[0], o.states[1], 3, 0.1);
          });
      compare_steps(
          [](const O& o, size_t k) {
            optim::adamw_step_(o.parameters[k], o.gradients[k], o.states[0][k], o.states[1][k], 3,
                               0.1);
          },
          [](const O& o) {
            optim::adamw_steps_(o.parameters, o.gradients, o.states[0], o.states[1], 3, 0.1);
          });
      compare_steps(
          [](const O& o, size_t k) {
            optim::rmsprop_step_(o.parameters[k], o.gradients[k], o.states[2][k], o.states[0][k],
                                 o.states[1][k], 0.1, 0.9, 1e-3, 0.01, 0.5, true);
          },
          [](const O& o) {
            optim::rmsprop_steps_(o.parameters, o.gradients, o.states[2], o.states[0], o.states[1],
                                  0.1, 0.9, 1e-3, 0.01, 0.5, true);
          });
      compare_steps(
          [](const O& o, size_t k) {
            optim::adagrad_step_(o.parameters[k], o.gradients[k], o.states[1][k], 2, 0.1, 0.1);
          },
          [](const O& o) {
            optim::adagrad_steps_(o.parameters, o.gradients, o.states[1], 2, 0.1, 0.1);
          });
    }
  }

  TEST_CASE("steps of lists refuse lists that do not fit, and name the entry") {
    using Tensors = std::vector<Tensor>;
    const Tensors p{tenon::zeros({2}), tenon::zeros({3})}, g{tenon::zeros({2}), tenon::zeros({3})};
    CHECK(refusal([&] { tenon::optim::sgd_steps_(p, Tensors{g[0]}, tenon::none, 0.1); }) ==
          "sgd_steps_(): 'gradients' has 1 tensors, but 'parameters' has 2");
    CHECK(refusal([&] {
            tenon::optim::sgd_steps_(p, Tensors{g[0], g[0]}, tenon::none, 0.1);
          }) ==
          "sgd_steps_(): 'gradients[1]' of shape [2] does not fit 'parameters[1]' of shape [3]");
    CHECK(refusal([&] { tenon::optim::sgd_steps_(p, g, tenon::none, 0.1, 0.9); }) ==
          "sgd_steps_(): momentum needs 'momentum_buffers', zeros at the first step");
    CHECK_THROWS_AS(tenon::optim::adam_steps_(p, g, g, Tensors{g[0], g[1].to(tenon::f64)}, 1, 0.1),
                    tenon::TypeError);
    tenon::optim::adam_steps_(Tensors{}, Tensors{}, Tensors{}, Tensors{}, 1, 0.1);
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
    CHECK_THROWS_AS(adam_step_(p, g, g.clone(), g.clone(), 1, 0.1, std::vector<double>{1.0, 0.9}),
                    tenon::ValueError);
  }
}
