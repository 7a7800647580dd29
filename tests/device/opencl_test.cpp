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

#include "tests/support/opencl_device.hpp"

using namespace tenon;

namespace {

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

// The largest difference, relative to the largest expected number: where sums cancel.
double apart(const Tensor& found, const Tensor& expected) {
  const std::vector<float> x = found.to_vector<float>(), y = expected.to_vector<float>();
  double largest = 1, most = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(y[i])));
    most = std::max(most, std::fabs(static_cast<double>(x[i]) - y[i]));
  }
  return most / largest;
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
    if (!needs_opencl()) return;
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

  TEST_CASE("a special number in one lane of a vector leaves the other lanes as they are") {
    if (!needs_opencl()) return;
    const std::vector<double> rest{0.3, 1.1,  0.2, 0.5, 17,  900, 0.11, 1e5,
                                   0.7, 0.02, 3,   8.5, 250, 0.9, 1.7,  42};
    const auto with = [&](size_t lane, float number, DType type) {
      std::vector<double> values = rest;
      if (lane < values.size()) values[lane] = number == 1e-40f && type == f64 ? 1e-310 : number;
      return from_range(values.begin(), values.end()).to(type);
    };
    const auto each_place = [&](const std::string& name, const Function& function) {
      for (const DType type : {f32, f64}) {
        for (const size_t lane : {0, 4, 11}) {
          for (const float number : special) {
            const Tensor other = with(rest.size(), 0, type);
            compare(name, {with(lane, number, type), other}, 16, function);
            compare(name, {other, with(lane, number, type)}, 16, function);
          }
        }
      }
    };
    for (const char* name : {"sqrt",  "rsqrt", "exp",   "exp2",  "expm1", "log",  "log2",   "log10",
                             "log1p", "sin",   "cos",   "tan",   "sinh",  "cosh", "tanh",   "asin",
                             "acos",  "atan",  "asinh", "acosh", "atanh", "erf",  "sigmoid"}) {
      const Op op(name);
      each_place(name, [&](const std::vector<Tensor>& x) { return op.call<Tensor>(x[0]); });
    }
    for (const char* name : {"div", "pow", "atan2", "fmod", "maximum", "hypot", "logaddexp"}) {
      const Op op(name);
      each_place(name, [&](const std::vector<Tensor>& x) { return op.call<Tensor>(x[0], x[1]); });
    }
  }

  TEST_CASE("functions of two operands are those of the CPU, rows and numbers repeat") {
    if (!needs_opencl()) return;
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
    if (!needs_opencl()) return;
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
    if (!needs_opencl()) return;
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
    if (!needs_opencl()) return;
    for (const auto& numbers :
         {std::vector<float>{INFINITY, 1, 2}, {3e38f, 3e38f, 1}, {NAN, INFINITY}})
      compare("sum", {from_range(numbers.begin(), numbers.end())}, 0,
              [](const std::vector<Tensor>& t) { return sum(t[0]); });
    for (const auto& numbers : {std::vector<float>{10000, 9990}, {1e8f, 1e8f}})
      compare("log_softmax", {from_range(numbers.begin(), numbers.end())}, 16,
              [](const std::vector<Tensor>& t) { return nn::functional::log_softmax(t[0], 0); });
  }

  TEST_CASE("products are those of the CPU for any size and for transposed operands") {
    if (!needs_opencl()) return;
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
    if (!needs_opencl()) return;
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

  TEST_CASE("functions of strided operands, and of f64, are those of the CPU") {
    if (!needs_opencl()) return;
    for (const char* name : {"exp", "sin", "tanh", "sigmoid", "relu", "neg", "square"}) {
      const Op op(name);
      for (const DType type : {f32, f64}) {
        const Tensor x = random({5, 6, 37}, -3, 3).to(type);
        compare(name, {x}, 16, [&](const std::vector<Tensor>& t) {
          return op.call<Tensor>(transpose(t[0], 0, 2));
        });
        compare(name, {x}, 16, [&](const std::vector<Tensor>& t) {
          return op.call<Tensor>(narrow(t[0], 2, 3, 20));
        });
      }
    }
    const Tensor m = random({7, 1, 33}, -2, 2), n = random({4, 33}, 1, 2);
    for (const char* name : {"add", "div", "pow", "maximum", "atan2", "fmod"}) {
      const Op op(name);
      compare(name, {abs(m), n}, 32,
              [&](const std::vector<Tensor>& t) { return op.call<Tensor>(t[0], t[1]); });
      compare(name, {abs(m), n}, 32, [&](const std::vector<Tensor>& t) {
        return op.call<Tensor>(expand(t[0], {7, 4, 33}), transpose(transpose(t[1], 0, 1), 0, 1));
      });
    }
  }

  TEST_CASE(
      "comparisons, choices and conversions are those of the CPU, special values among them") {
    if (!needs_opencl()) return;
    const Tensor x = from_range(special.begin(), special.end());
    for (const float a : special) {
      const Tensor y = full({10}, a);
      for (const char* name :
           {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"}) {
        const Op op(name);
        const auto truth = [&](const char* device) {
          return op.call<Tensor>(device::to(x, device), device::to(y, device)).to_vector<bool>();
        };
        CHECK_MESSAGE(truth("opencl") == truth("cpu"), name);
      }
    }
    for (const char* name : {"isnan", "isinf", "isfinite", "logical_not"}) {
      const Op op(name);
      CHECK(op.call<Tensor>(device::to(x, "opencl")).to_vector<bool>() ==
            op.call<Tensor>(x).to_vector<bool>());
    }
    compare("where", {x, random({3, 10}, 0, 1)}, 0, [](const std::vector<Tensor>& t) {
      return where(t[0] > 0, t[0], where(t[1] < 0.5, t[1], -1));
    });
    const Tensor n = random({50}, -100, 100);
    for (const DType type : {f64, i64, i32, u8, boolean}) {
      const auto through = [&](const char* device) {
        return device::to(abs(n), device).to(type).to(f32).to_vector<float>();
      };
      CHECK(through("opencl") == through("cpu"));
    }
  }

  TEST_CASE("calls that follow each other are one pass, whose results are those of each call") {
    if (!needs_opencl()) return;
    const int64_t count = int64_t{1} << 20;
    const Tensor start = random({count}, -1, 1), other = random({count}, -1, 1);
    const auto computed = [&](const Tensor& x, const Tensor& y) {
      Tensor a = exp(x) * 2 + 1;
      const Tensor kept = a * y;
      a.mul_(kept);
      a.sub_(x, 0.5);
      const Tensor b = maximum(a, kept) / (abs(y) + 1);
      return std::vector<Tensor>{a, kept, b,
                                 narrow(b, 0, 0, count - 1) + narrow(b, 0, 1, count - 1)};
    };
    const Tensor x = device::to(start, "opencl"), y = device::to(other, "opencl");
    const std::vector<Tensor> expected = computed(start, other);
    // The pass is compiled after some of them.
    for (int i = 0; i < 60; ++i) {
      const std::vector<Tensor> found = computed(x, y);
      if (i % 20 != 0 && i != 59) {
        device::synchronize(device::Device("opencl"));
        continue;
      }
      for (size_t k = 0; k < found.size(); ++k) {
        CAPTURE(i);
        CAPTURE(k);
        CHECK(apart(found[k], expected[k]) <= 1e-6);
      }
    }
  }

  TEST_CASE(
      "sizes that no group divides, empty ones and single elements pass through every layer") {
    if (!needs_opencl()) return;
    for (const auto& [n, c, h, w] :
         {std::tuple(1, 1, 1, 1), {2, 3, 5, 7}, {3, 4, 9, 8}, {1, 6, 13, 11}}) {
      const Tensor image = random({n, c, h, w}, -1, 1);
      for (const int64_t groups : {int64_t{1}, int64_t{c}}) {
        const Tensor weight = random({2 * c, c / groups, 3, 3}, -1, 1),
                     bias = random({2 * c}, -1, 1);
        for (const int64_t stride : {1, 2}) {
          compare("conv2d", {image, weight, bias}, 4000, [&](const std::vector<Tensor>& t) {
            return nn::functional::conv2d(t[0], t[1], t[2], {stride, 1}, 1, {1, 1}, groups);
          });
        }
        for (const int which : {0, 1}) {
          compare("gradient of conv2d", {image, weight}, 40000, [&](const std::vector<Tensor>& t) {
            const Tensor x = t[0].detach().requires_grad_(), k = t[1].detach().requires_grad_();
            const Tensor y = nn::functional::conv2d(x, k, Tensor(), {2, 1}, 1, {1, 1}, groups);
            return gradients({sum(y * y)}, {which == 0 ? x : k})[0];
          });
        }
      }
      if (h < 3) continue;
      compare("max_pool2d", {image}, 0, [](const std::vector<Tensor>& t) {
        return nn::functional::max_pool2d(t[0], {3, 2}, std::vector<int64_t>{2, 1}, {1, 1});
      });
      compare("avg_pool2d", {image}, 100, [](const std::vector<Tensor>& t) {
        return nn::functional::avg_pool2d(t[0], {3, 2}, std::vector<int64_t>{2, 2}, {1, 1});
      });
      compare("gradient of pools", {image}, 200, [](const std::vector<Tensor>& t) {
        const Tensor x = t[0].detach().requires_grad_();
        const Tensor y = nn::functional::max_pool2d(x, {3, 3}, std::vector<int64_t>{1, 1}),
                     z = nn::functional::avg_pool2d(x, {2, 2}, std::vector<int64_t>{1, 2});
        return gradients({sum(y * y) + sum(z * z)}, {x})[0];
      });
    }
    for (const auto& [rows, columns] : {std::pair(1, 1), {3, 17}, {70, 5}, {2, 1000}}) {
      const Tensor x = random({rows, columns}, -3, 3), w = random({columns}, 0.5, 1.5),
                   b = random({columns}, -1, 1);
      compare("softmax", {x}, 64, [](const std::vector<Tensor>& t) {
        return nn::functional::softmax(t[0], 0) + nn::functional::log_softmax(t[0], 1);
      });
      compare("layer_norm", {x, w, b}, 4000, [&](const std::vector<Tensor>& t) {
        return nn::functional::layer_norm(t[0], {columns}, t[1], t[2]);
      });
      compare("rms_norm", {x, w}, 4000, [&](const std::vector<Tensor>& t) {
        return nn::functional::rms_norm(t[0], {columns}, t[1]);
      });
      for (const size_t which : {0, 1, 2}) {
        if (columns == 1) continue;
        const auto gradient = [&](const char* device) {
          std::vector<Tensor> leaves;
          for (const Tensor& one : {x, w, b})
            leaves.push_back(device::to(one, device).detach().requires_grad_());
          const Tensor y = nn::functional::layer_norm(leaves[0], {columns}, leaves[1], leaves[2]);
          return gradients({sum(sin(y))}, {leaves[which]})[0];
        };
        CHECK(apart(gradient("opencl"), gradient("cpu")) <= 1e-5);
      }
      compare("var", {x}, 4000, [](const std::vector<Tensor>& t) {
        return var(t[0], std::vector<int64_t>{0, 1}, true, 0) +
               amax(t[0], std::vector<int64_t>{1}, true);
      });
    }
    compare("sum of many", {random({100003}, 0, 1)}, 8,
            [](const std::vector<Tensor>& t) { return sum(t[0]); });
    compare("bmm", {random({3, 5, 7}, 0, 1), random({3, 7, 40}, 0, 1)}, 40,
            [](const std::vector<Tensor>& t) { return bmm(t[0], t[1]); });
    compare("addmm", {random({40}, 0, 1), random({5, 7}, 0, 1), random({7, 40}, 0, 1)}, 40,
            [](const std::vector<Tensor>& t) { return addmm(t[0], t[1], t[2], 0.5, 2); });
    compare("cat", {random({3, 2}, 0, 1), random({3, 5}, 0, 1), random({3, 0}, 0, 1)}, 0,
            [](const std::vector<Tensor>& t) {
              return cat({t[0], t[1], t[2]}, 1);
            });
  }

  TEST_CASE("indices, their gradients and losses of classes are those of the CPU") {
    if (!needs_opencl()) return;
    const std::vector<int64_t> places{4, 0, 0, 2, 4, 1};
    const auto both = [&](const std::function<Tensor(const char*, const Tensor&)>& run) {
      const auto at = [&](const char* device) {
        return run(device, device::to(from_range(places.begin(), places.end()), device));
      };
      const Tensor found = at("opencl");
      CHECK(device::name_of(found) == "opencl:0");
      CHECK(units_apart(found, at("cpu")) <= 64);
    };
    const Tensor table = random({5, 33}, -1, 1), scores = random({6, 5}, -3, 3);
    both([&](const char* device, const Tensor& index) {
      const Tensor w = device::to(table, device).requires_grad_();
      const Tensor y = nn::functional::embedding(index, w);
      return gradients({sum(y * y * y)}, {w})[0];
    });
    both([&](const char* device, const Tensor& index) {
      return index_select(device::to(table, device), 0, index);
    });
    both([&](const char* device, const Tensor& index) {
      return gather(device::to(scores, device), 1, reshape(index, {6, 1}));
    });
    both([&](const char* device, const Tensor& index) {
      return index_add(device::to(table, device), 0, index, device::to(ones({6, 33}), device));
    });
    for (const char* reduction : {"mean", "sum", "none"}) {
      for (const double smoothing : {0.0, 0.1}) {
        both([&](const char* device, const Tensor& index) {
          const Tensor x = device::to(scores, device).requires_grad_();
          const Tensor loss =
              nn::functional::cross_entropy(x, index, Tensor(), 2, reduction, smoothing);
          return gradients({sum(loss)}, {x})[0] + sum(loss.detach());
        });
      }
    }
  }

  TEST_CASE("an index that is out of range is an error of the call that reads, once") {
    if (!needs_opencl()) return;
    const std::vector<int64_t> places{1, 7};
    const Tensor index = device::to(from_range(places.begin(), places.end()), "opencl"),
                 table = device::to(ones({5, 3}), "opencl");
    const Tensor rows = nn::functional::embedding(index, table);
    std::string text;
    try {
      rows.to_vector<float>();
    } catch (const IndexError& error) {
      text = error.what();
    }
    CHECK(text.find("embedding(): index 7 is out of range for a table of 5 rows") !=
          std::string::npos);
    CHECK(table.to_vector<float>() == std::vector<float>(15, 1));
  }

  TEST_CASE("gradients on the device are those of the CPU") {
    if (!needs_opencl()) return;
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

  TEST_CASE("numbers beyond the ends of an integer, and NaN, are converted as the CPU does") {
    if (!needs_opencl()) return;
    const std::vector<double> numbers{NAN,
                                      INFINITY,
                                      -INFINITY,
                                      0.9,
                                      -0.9,
                                      255.9,
                                      256,
                                      -1,
                                      2147483520.0,
                                      2147483648.0,
                                      -2147483648.0,
                                      -2147484000.0,
                                      3e9,
                                      9.2e18,
                                      9223372036854775808.0,
                                      -9223372036854775808.0,
                                      1e30,
                                      -1e30};
    for (const DType from : {f32, f64}) {
      const Tensor x = from_range(numbers.begin(), numbers.end()).to(from);
      for (const DType type : {i64, i32, u8, boolean}) {
        CAPTURE(dtype_text(from));
        CAPTURE(dtype_text(type));
        const auto through = [&](const char* device) {
          const Tensor given = device::to(x, device);
          Tensor copied = zeros({9, 2}, type);
          copied = device::to(copied, device);
          copied.copy_(transpose(given.reshape({2, 9}), 0, 1));
          std::vector<int64_t> all = given.to(type).to(i64).to_vector<int64_t>();
          for (const int64_t one : copied.to(i64).to_vector<int64_t>()) all.push_back(one);
          return all;
        };
        CHECK(through("opencl") == through("cpu"));
      }
    }
  }

  TEST_CASE("means are divided by divisors of 64 bits") {
    if (!needs_opencl()) return;
    const Tensor image = random({1, 2, 6, 6}, 1, 2) * 1e9;
    for (const int64_t divisor : {int64_t{1} << 32, (int64_t{1} << 32) + 4, int64_t{-3}}) {
      compare("avg_pool2d", {image}, 4, [&](const std::vector<Tensor>& t) {
        return nn::functional::avg_pool2d(t[0], {2, 2}, std::nullopt, 0, false, true, divisor);
      });
      compare("its gradient", {image}, 4, [&](const std::vector<Tensor>& t) {
        const Tensor x = t[0].detach().requires_grad_();
        return gradients(
            {sum(nn::functional::avg_pool2d(x, {2, 2}, std::nullopt, 0, false, true, divisor) *
                 1e9)},
            {x})[0];
      });
    }
  }

  TEST_CASE("convolutions with a group for each channel, and their gradients, are the CPU's") {
    if (!needs_opencl()) return;
    for (const auto& [c, times, h, w, step] :
         {std::tuple(3, 1, 9, 40, 1), {3, 2, 20, 33, 2}, {5, 1, 7, 16, 3}, {2, 3, 12, 70, 1}}) {
      const Tensor image = random({2, c, h, w}, -1, 1), bias = random({c * times}, -1, 1),
                   weight = random({c * times, 1, 3, 5}, -1, 1);
      const std::vector<int64_t> stride{1, step}, dilation{2, step == 3 ? 2 : 1};
      const auto run = [&](const Tensor& x, const Tensor& k, const Tensor& b) {
        return nn::functional::conv2d(x, k, b, stride, {2, 3}, dilation, c);
      };
      const Tensor there = device::to(image, "opencl"), kernel = device::to(weight, "opencl");
      CHECK(apart(run(there, kernel, device::to(bias, "opencl")), run(image, weight, bias)) <=
            1e-6);
      for (const size_t which : {0, 1}) {
        const auto gradient = [&](const char* device) {
          const std::vector<Tensor> leaves{device::to(image, device).detach().requires_grad_(),
                                           device::to(weight, device).detach().requires_grad_()};
          const Tensor y = run(leaves[0], leaves[1], Tensor());
          return gradients({sum(y * y)}, {leaves[which]})[0];
        };
        CHECK(apart(gradient("opencl"), gradient("cpu")) <= 1e-5);
      }
    }
    compare("conv1d", {random({1, 4, 50}, -1, 1), random({4, 1, 7}, -1, 1)}, 4000,
            [](const std::vector<Tensor>& t) {
              return nn::functional::conv1d(t[0], t[1], Tensor(), 2, 3, 1, 4);
            });
  }
}
