// Shared code of tests of plugins: numbers to try, comparison, refusals, coverage of gradient
// checks.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>
#include <tenon/tenon.hpp>

namespace compare {

using tenon::DType;
using tenon::IntList;
using tenon::Tensor;

// Repeatable numbers in (-1, 1); whole numbers in [-9, 9] for integers.
inline Tensor numbers(const std::vector<int64_t>& shape, DType dtype = tenon::f32,
                      uint64_t seed = 1) {
  const Tensor result =
      tenon::empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
  const tenon::Draws draws{seed * 7919, 0};
  tenon::visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* to = result.numel() == 0 ? nullptr : result.data<T>();
    for (int64_t i = 0; i < result.numel(); ++i) {
      const double value = draws.uniform(i) * 2 - 1;
      to[i] = static_cast<T>(tenon::is_floating(dtype) ? value : std::trunc(value * 9.99));
    }
  });
  return result;
}
// Numbers as an input of a gradient check.
inline Tensor leaf(const std::vector<int64_t>& shape, uint64_t seed = 1) {
  return numbers(shape, tenon::f64, seed).requires_grad_();
}

// Whether calls run on a device (on_device.cpp): not for what a mode keeps from being measured or prepared.
inline bool runs_on_device() { return std::getenv("TENON_TEST_DEVICE") != nullptr; }

// Without the place that a device adds to an error that arrives late.
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.substr(0, text.find("\n  It arrived late, from "));
  }
  return "nothing was refused";
}

// The refusal of a call of an op, without the op's name, with which it begins.
inline std::string refusal_of(const std::string& op, const std::function<void()>& call) {
  const std::string text = refusal(call);
  const std::string start = op + "(): ";
  return text.rfind(start, 0) == 0 ? text.substr(start.size()) : "does not name the op: " + text;
}

inline void check_close(const std::vector<double>& found, const std::vector<double>& expected,
                        double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(found[i]));
    } else if (std::isinf(expected[i])) {
      CHECK(found[i] == expected[i]);
    } else {
      CHECK(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
    }
  }
}
inline void check_close(const Tensor& found, const Tensor& expected, double tolerance = 1e-5) {
  REQUIRE(found.sizes() == expected.sizes());
  check_close(found.to_vector<double>(), expected.to_vector<double>(), tolerance);
}
inline void check_values(const Tensor& found, const std::vector<int64_t>& shape,
                         const std::vector<double>& expected, double tolerance = 1e-6) {
  CHECK(found.sizes() == shape);
  check_close(found.to_vector<double>(), expected, tolerance);
}

// Ops of a plugin whose declared differentiability is a formula, less those that were checked.
inline std::set<std::string> unchecked_formulas(const std::string& plugin,
                                                const std::set<std::string>& checked) {
  std::set<std::string> missing;
  const tenon::Json ops = tenon::listing::ops();
  for (int64_t i = 0; i < ops.size(); ++i) {
    const std::string name = ops[i]["name"].text();
    if (ops[i]["provider"].text() == plugin && ops[i]["differentiable"].text() == "formula" &&
        checked.count(name) == 0) {
      // any_call_test compares the gradients of in-place forms with those of their ops.
      const bool form = name.back() == '_' && checked.count(name.substr(0, name.size() - 1)) != 0;
      if (!form) missing.insert(name);
    }
  }
  return missing;
}

// Hessian-vector products by forward mode over backward, and by backward over forward mode, against
// backward over backward.
using Inputs = const std::vector<Tensor>&;
inline void check_mixed_order(const std::function<std::vector<Tensor>(Inputs)>& call,
                              Inputs inputs) {
  std::vector<Tensor> directions;
  for (size_t i = 0; i < inputs.size(); ++i)
    directions.push_back(numbers(inputs[i].sizes(), inputs[i].dtype(), 31 + i));
  const auto loss = [&](const std::vector<Tensor>& at) {
    Tensor total;
    for (const Tensor& result : call(at)) {
      const Tensor part = (result * numbers(result.sizes(), result.dtype(), 17)).sum();
      total = total.defined() ? total + part : part;
    }
    return total;
  };
  const auto along = [&](const std::vector<Tensor>& gradients) {
    Tensor total;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const Tensor part = (gradients[i] * directions[i]).sum();
      total = total.defined() ? total + part : part;
    }
    return total;
  };
  const auto numbers_of = [&](const std::vector<Tensor>& products) {
    std::vector<double> all;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor product = products[i].defined() ? products[i] : zeros_like(inputs[i].detach());
      for (const double value : product.to_vector<double>()) all.push_back(value);
    }
    return all;
  };
  tenon::GradientOptions unused;
  unused.allow_unused = true;
  tenon::GradientOptions graph = unused;
  graph.create_graph = true;
  tenon::GradientOptions kept = unused;
  kept.retain_graph = true;
  const auto differentiate = [&](const Tensor& root) {
    return root.defined() && root.requires_grad() ? gradients({root}, inputs, kept)
                                                  : std::vector<Tensor>(inputs.size());
  };
  const std::vector<double> expected =
      numbers_of(differentiate(along(gradients({loss(inputs)}, inputs, graph))));
  const tenon::DualLevel level;
  std::vector<Tensor> duals;
  for (size_t i = 0; i < inputs.size(); ++i) duals.push_back(make_dual(inputs[i], directions[i]));
  const Tensor value = loss(duals);
  {
    INFO("backward over forward mode");
    check_close(numbers_of(differentiate(unpack_dual(value).tangent)), expected, 1e-9);
  }
  {
    INFO("forward mode over backward");
    std::vector<Tensor> tangents;
    for (const Tensor& gradient : gradients({value}, inputs, unused))
      tangents.push_back(gradient.defined() ? unpack_dual(gradient).tangent : Tensor());
    check_close(numbers_of(tangents), expected, 1e-9);
  }
}
inline void check_mixed_order(const std::function<Tensor(Inputs)>& call, Inputs inputs) {
  const std::function<std::vector<Tensor>(Inputs)> several = [&](Inputs at) {
    return std::vector<Tensor>{call(at)};
  };
  check_mixed_order(several, inputs);
}

}  // namespace compare
