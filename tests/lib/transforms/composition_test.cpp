// Random compositions of at least three transforms: beside nested backward, and beside functorch where
// python3 has it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include <tenon/transforms/checkpoint.hpp>
#include <tenon/transforms/jacobian.hpp>
#include <tenon/transforms/vmap.hpp>

#include "tests/lib/transforms/derivative_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

using namespace transforming;
using Map = std::function<Tensor(const Tensor&)>;  // three numbers to three numbers

Tensor direction() { return row({0.5, -1.0, 0.25}); }
Tensor matrix() { return row({0.2, -0.3, 0.1, 0.4, 0.1, -0.2, -0.1, 0.3, 0.5}).view({3, 3}); }

constexpr int kBases = 8, kTransforms = 13;

Tensor apply_base(int index, const Tensor& x) {
  switch (index) {
    case 0:
      return sin(x);
    case 1:
      return tanh(x);
    case 2:
      return exp(x * 0.3);
    case 3:
      return x * x;
    case 4:
      return matmul(x, matrix());
    case 5:
      return x * sum(x);
    case 6:
      return x / (x * x + 1);
    default:
      return sigmoid(x);
  }
}

Map total(const Map& f) {
  return [f](const Tensor& y) { return sum(f(y)); };
}
Tensor contracted(const Tensor& jacobian) { return sum(jacobian * direction(), {-1}); }

// Three samples made of one, and their weights.
Tensor samples_of(const Tensor& x) { return stack({x, x * direction(), direction() - x}, 0); }
Tensor weights() { return row({1.0, 0.5, -0.25}); }
Tensor weighed(const Tensor& samples) { return matmul(weights(), samples); }

Map transformed(int index, const Map& f) {
  switch (index) {
    case 0:
      return [f](const Tensor& x) { return grad(total(f))(x); };
    case 1:
      return [f](const Tensor& x) { return jvp(f, x, direction()).second; };
    case 2:
      return [f](const Tensor& x) {
        const auto [value, pullback] = vjp(f, x);
        return pullback(value);
      };
    case 3:
      return [f](const Tensor& x) { return contracted(jacrev(f)(x)); };
    case 4:
      return [f](const Tensor& x) { return contracted(jacfwd(f)(x)); };
    case 5:
      return [f](const Tensor& x) { return contracted(hessian(total(f))(x)); };
    case 6:
      return [f](const Tensor& x) { return hvp(total(f), x, direction()); };
    case 7:
      return [f](const Tensor& x) { return linearize(f, x).second(direction()); };
    case 8:
      return [f](const Tensor& x) { return checkpoint(f, x); };
    case 9:
      return [f](const Tensor& x) {
        return x * grad([&](const Tensor& y) { return sum(f(y) * x); })(x);
      };
    case 11:
      return [f](const Tensor& x) { return weighed(vmap(f)(samples_of(x))); };
    case 12:
      return [f](const Tensor& x) {
        const auto slope = [&](const Tensor& w) {
          return grad([&](const Tensor& y) { return sum(f(y) * w); })(x);
        };
        return weighed(vmap(slope)(samples_of(x)));
      };
    default:
      return [f](const Tensor& x) {
        return x * jvp([&](const Tensor& y) { return f(y) * x; }, x, direction()).second;
      };
  }
}

// Compositions by backward alone: no level of forward mode, no recording but the engine's.
Tensor pulled(const Map& f, const Tensor& x, const std::function<Tensor(const Tensor&)>& seed_of) {
  Tensor y = x.requires_grad() ? x * 1 : x.detach().requires_grad_();
  const Tensor value = f(y);
  if (!value.requires_grad()) return zeros_like(x);
  return gradients({value}, {y}, {{seed_of(value)}, true, true, false, true})[0];
}
Tensor pushed(const Map& f, const Tensor& x) {
  Tensor u = zeros({3}, f64).requires_grad_();
  const Tensor transposed = pulled(f, x, [&](const Tensor&) { return u; });
  if (!transposed.requires_grad()) return zeros({3}, f64);
  return gradients({transposed}, {u}, {{direction()}, true, true, false, true})[0];
}
Map by_backward(int index, const Map& f) {
  const auto ones_of = [](const Tensor& value) { return ones_like(value.detach()); };
  const Map slope = [f, ones_of](const Tensor& x) { return pulled(f, x, ones_of); };
  switch (index) {
    case 0:
      return slope;
    case 2:
      return
          [f](const Tensor& x) { return pulled(f, x, [](const Tensor& value) { return value; }); };
    case 5:
    case 6:
      return [slope](const Tensor& x) { return pushed(slope, x); };
    case 8:
      return f;
    case 9:
      return [f, ones_of](const Tensor& x) {
        return x * pulled([&](const Tensor& y) { return f(y) * x; }, x, ones_of);
      };
    case 11:
      return [f](const Tensor& x) {
        const Tensor samples = samples_of(x);
        std::vector<Tensor> values;
        for (int64_t i = 0; i < 3; ++i) values.push_back(f(select(samples, 0, i)));
        return weighed(stack(values, 0));
      };
    case 12:
      return [f, ones_of](const Tensor& x) {
        const Tensor samples = samples_of(x);
        std::vector<Tensor> slopes;
        for (int64_t i = 0; i < 3; ++i)
          slopes.push_back(
              pulled([&](const Tensor& y) { return f(y) * select(samples, 0, i); }, x, ones_of));
        return weighed(stack(slopes, 0));
      };
    case 10:
      return
          [f](const Tensor& x) { return x * pushed([&](const Tensor& y) { return f(y) * x; }, x); };
    default:
      return [f](const Tensor& x) { return pushed(f, x); };
  }
}

struct Composition {
  std::vector<int> base, transforms;
  Numbers point;

  std::string text() const {
    std::ostringstream line;
    line.precision(17);
    const auto list = [&](const auto& values) {
      for (size_t i = 0; i < values.size(); ++i) line << (i == 0 ? "" : ",") << values[i];
    };
    list(base);
    line << ";";
    list(transforms);
    line << ";";
    list(point);
    return line.str();
  }
  template <class Transform>
  Tensor value(const Transform& transform) const {
    Map f = [base = base](Tensor x) {
      for (const int index : base) x = apply_base(index, x);
      return x;
    };
    for (const int index : transforms) f = transform(index, f);
    return f(row(point));
  }
};

std::vector<Composition> compositions(int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) { return static_cast<int>(random() % unsigned(limit)); };
  std::vector<Composition> list;
  for (int i = 0; i < count; ++i) {
    Composition made;
    for (int k = 1 + below(3); k > 0; --k) made.base.push_back(below(kBases));
    int order = 0;
    bool checkpointed = false, left = false;  // a level around a checkpoint that has ended
    for (int k = 3 + below(2); k > 0; --k) {
      int index = below(kTransforms);
      if (order >= 4) index = 8;  // derivatives of a higher order are large numbers
      const bool forward = index == 1 || index == 4 || index == 5 || index == 6 || index == 10;
      if (forward && left) index = 0;  // a checkpoint opens one such level again, not two
      left = left || (forward && checkpointed);
      checkpointed = checkpointed || index == 8;
      order += index == 8 || index == 11 ? 0 : index == 5 || index == 6 ? 2 : 1;
      made.transforms.push_back(index);
    }
    for (int k = 0; k < 3; ++k) made.point.push_back((below(2000) - 1000) / 1000.0);
    list.push_back(made);
  }
  return list;
}

bool agree(const Numbers& a, const Numbers& b) {
  double largest = 1;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < b.size(); ++i)
    if (a.size() != b.size() || !(std::abs(a[i] - b[i]) <= 1e-9 * largest)) return false;
  return true;
}

}  // namespace

TEST_SUITE("lib/transforms/composition") {
  TEST_CASE("random compositions are those of nested backward") {
    for (const Composition& each : compositions(150, 40)) {
      CAPTURE(each.text());
      CHECK(agree(numbers(each.value(transformed)), numbers(each.value(by_backward))));
    }
  }

  TEST_CASE("500 random compositions agree with functorch, where it is") {
    // Debian's python3-torch, where another one is first on the path.
    std::string python;
    for (const char* each : {"python3", "/usr/bin/python3"}) {
      const std::string import = std::string(each) + " -c 'import functorch' >/dev/null 2>&1";
      if (std::system(import.c_str()) != 0) continue;
      python = each;
      break;
    }
    if (python.empty()) return;
    const tenon_test::TemporaryFolder folder;
    const std::vector<Composition> list = compositions(500, 13);
    {
      std::ofstream file(folder / "compositions");
      for (const Composition& each : list) file << each.text() << "\n";
    }
    const std::string command = python + " '" TENON_FUNCTORCH_ORACLE "' <'" +
                                (folder / "compositions") + "' >'" + (folder / "values") + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream values(folder / "values");
    for (const Composition& each : list) {
      std::string line;
      REQUIRE(std::getline(values, line));
      std::istringstream words(line);
      Numbers expected;
      for (double value = 0; words >> value;) expected.push_back(value);
      CAPTURE(each.text());
      CHECK(agree(numbers(each.value(transformed)), expected));
    }
  }
}
