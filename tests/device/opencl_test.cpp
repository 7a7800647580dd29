// Kernels of the plugin opencl against those of the CPU, on the first device that a driver has.
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>
#include <tenon/trace.hpp>

using namespace tenon;

namespace {

// Whether a driver has a device.
bool is_there() {
  const Service<tenon_device_service> service("device.opencl", TENON_DEVICE_SERVICE_VERSION);
  return service->count() > 0;
}

std::mt19937_64 engine(3);
Tensor random(std::vector<int64_t> shape, double low, double high) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values)
    value = static_cast<float>(std::uniform_real_distribution<double>(low, high)(engine));
  return reshape(from_range(values.begin(), values.end()), shape);
}

// The largest difference in units of the last place of the expected number, or of 1e-6 where that is
// closer to 0.
double units_apart(const Tensor& found, const Tensor& expected) {
  const std::vector<float> x = found.to_vector<float>(), y = expected.to_vector<float>();
  if (x.size() != y.size()) return INFINITY;
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double unit = std::nextafter(std::max(std::fabs(y[i]), 1e-6f), INFINITY) -
                        std::max(std::fabs(y[i]), 1e-6f);
    most = std::max(most, std::fabs(static_cast<double>(x[i]) - y[i]) / unit);
  }
  return std::isnan(most) ? INFINITY : most;
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

void compare(const std::string& what, const std::vector<Tensor>& operands, double bound,
             const Function& function) {
  CAPTURE(what);
  std::vector<Tensor> there;
  for (const Tensor& operand : operands) there.push_back(device::to(operand, "opencl"));
  const Tensor expected = function(operands), found = function(there);
  CHECK(device::name_of(found) == "opencl:0");
  CHECK(found.sizes() == expected.sizes());
  CHECK(units_apart(found, expected) <= bound);
}

const std::vector<std::vector<int64_t>> shapes{{},     {1},    {7}, {64},     {65},
                                               {1009}, {3, 5}, {0}, {2, 0, 3}};
const std::vector<float> special{0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 0.5f};

}  // namespace

TEST_SUITE("device/opencl") {
  TEST_CASE("functions of one operand are those of the CPU, for every size and special value") {
    if (!is_there()) return;
    for (const char* name :
         {"neg",   "abs",  "sqrt",  "rsqrt", "reciprocal", "square",  "exp",   "exp2",
          "expm1", "log",  "log2",  "log10", "log1p",      "sin",     "cos",   "tan",
          "sinh",  "cosh", "tanh",  "asin",  "acos",       "atan",    "asinh", "acosh",
          "atanh", "erf",  "floor", "ceil",  "trunc",      "sigmoid", "relu"}) {
      const Op op(name);
      const Function function = [&](const std::vector<Tensor>& x) { return op.call<Tensor>(x[0]); };
      for (const auto& shape : shapes) compare(name, {random(shape, 0.1, 0.9)}, 16, function);
      compare(name, {random({100}, -20, 20)}, 16, function);
      compare(name, {from_range(special.begin(), special.end())}, 16, function);
    }
  }

  TEST_CASE("functions of two operands are those of the CPU, rows and numbers repeat") {
    if (!is_there()) return;
    for (const char* name : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
      const Op op(name);
      const Function function = [&](const std::vector<Tensor>& x) {
        return op.call<Tensor>(x[0], x[1]);
      };
      for (const auto& shape : shapes)
        compare(name, {random(shape, -2, 2), random(shape, 1, 2)}, 2, function);
      compare(name, {random({5, 7}, -2, 2), random({7}, 1, 2)}, 2, function);
      compare(name, {random({7}, -2, 2), random({5, 7}, 1, 2)}, 2, function);
      compare(name, {random({5, 7}, -2, 2), random({5, 1}, 1, 2)}, 2, function);
      compare(name, {random({5, 7}, -2, 2), random({1}, 1, 2)}, 2, function);
      for (const float a : special) {
        compare(name, {from_range(special.begin(), special.end()), full({10}, a)}, 2, function);
        compare(name, {from_range(special.begin(), special.end())}, 2,
                [&](const std::vector<Tensor>& x) { return op.call<Tensor>(x[0], a); });
      }
      compare(name, {random({7}, -2, 2)}, 2,
              [&](const std::vector<Tensor>& x) { return op.call<Tensor>(1.5, x[0]); });
    }
  }

  TEST_CASE("changes in place are seen by views") {
    if (!is_there()) return;
    const Tensor x = device::to(ones({4, 3}), "opencl");
    const Tensor row = x[2];
    row.add_(device::to(ones({3}), "opencl"));
    row.mul_(tensor(3.));
    x.sub_(tensor(1.));
    CHECK(x.to_vector<float>() == std::vector<float>{0, 0, 0, 0, 0, 0, 5, 5, 5, 0, 0, 0});
    x.zero_();
    CHECK(sum(row).item() == 0);
  }

  TEST_CASE("changes in place by an operand that overlaps are those of the CPU") {
    if (!is_there()) return;
    const auto changed = [](const char* device) {
      const Tensor x = device::to(arange(16, none, 1, f32), device);
      x.mul_(x[3]);
      const Tensor m = x.reshape({4, 4});
      m.add_(m[0]);
      narrow(x, 0, 1, 7).add_(narrow(x, 0, 0, 7));
      return x.to_vector<float>();
    };
    CHECK(changed("opencl") == changed("cpu"));
  }

  TEST_CASE("sums with infinities, and log-softmax of large numbers, are those of the CPU") {
    if (!is_there()) return;
    for (const auto& numbers :
         {std::vector<float>{INFINITY, 1, 2}, {3e38f, 3e38f, 1}, {NAN, INFINITY}})
      compare("sum", {from_range(numbers.begin(), numbers.end())}, 0,
              [](const std::vector<Tensor>& t) { return sum(t[0]); });
    for (const auto& numbers : {std::vector<float>{10000, 9990}, {1e8f, 1e8f}})
      compare("log_softmax", {from_range(numbers.begin(), numbers.end())}, 16,
              [](const std::vector<Tensor>& t) { return nn::functional::log_softmax(t[0], 0); });
  }

  TEST_CASE("products are those of the CPU for any size and for transposed operands") {
    if (!is_there()) return;
    for (const auto& [m, k, n] :
         {std::tuple(1, 1, 1), {16, 16, 16}, {17, 5, 33}, {3, 100, 2}, {40, 33, 1}}) {
      const Function plain = [](const std::vector<Tensor>& x) { return mm(x[0], x[1]); };
      compare("mm", {random({m, k}, 0, 1), random({k, n}, 0, 1)}, 40, plain);
      compare("mm transposed", {random({k, m}, 0, 1), random({n, k}, 0, 1)}, 40,
              [](const std::vector<Tensor>& x) {
                return mm(transpose(x[0], 0, 1), transpose(x[1], 0, 1));
              });
      compare(
          "linear", {random({m, k}, 0, 1), random({n, k}, 0, 1), random({n}, 0, 1)}, 40,
          [](const std::vector<Tensor>& x) { return nn::functional::linear(x[0], x[1], x[2]); });
    }
  }

  TEST_CASE("sums, means and softmax are those of the CPU") {
    if (!is_there()) return;
    const Tensor x = random({6, 5, 70}, 0, 1);
    const std::vector<std::vector<int64_t>> dims{{0},    {2},    {1},  {1, 2},
                                                 {0, 1}, {0, 2}, {-1}, {0, 1, 2}};
    for (const auto& dim : dims) {
      compare("sum", {x}, 8, [&](const std::vector<Tensor>& t) { return sum(t[0], dim, true); });
      compare("mean", {x}, 8, [&](const std::vector<Tensor>& t) { return mean(t[0], dim); });
    }
    compare("sum of all", {x}, 8, [](const std::vector<Tensor>& t) { return sum(t[0]); });
    compare("softmax", {x}, 64,
            [](const std::vector<Tensor>& t) { return nn::functional::softmax(t[0], -1); });
    compare("log_softmax", {x}, 64,
            [](const std::vector<Tensor>& t) { return nn::functional::log_softmax(t[0], 2); });
  }

  TEST_CASE("gradients on the device are those of the CPU") {
    if (!is_there()) return;
    const Tensor inputs = random({9, 5}, -1, 1), weights = random({4, 5}, -1, 1),
                 bias = random({4}, -1, 1);
    const auto gradient = [&](const char* device, int which) {
      Tensor w = device::to(weights.clone(), device), b = device::to(bias.clone(), device);
      w.requires_grad_();
      b.requires_grad_();
      const Tensor y = nn::functional::linear(device::to(inputs, device), w, b);
      mean(tanh(y) * sigmoid(y) - exp(y) / 3).backward();
      return which == 0 ? w.grad() : b.grad();
    };
    for (const int which : {0, 1})
      CHECK(units_apart(gradient("opencl", which), gradient("cpu", which)) < 200);
  }
}
