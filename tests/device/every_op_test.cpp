// Every shipped op with samples on a device, against the CPU: results, what is changed in place, gradients
// and tangents. On sim they are the same bits but where a specialised provider or rule, which a device does not
// use, adds up in another order; kernels of opencl are within bounds.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "plugins/opencl/control.h"
#include "plugins/sim/control.h"
#include "tests/support/sample_calls.hpp"

using namespace sample_calls;

namespace {

// Elements of both, as bytes in row-major order.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const Tensor x = contiguous_as(a.detach(), a.dtype()), y = contiguous_as(b.detach(), b.dtype());
  return a.numel() == 0 ||
         std::memcmp(x.view_record().data, y.view_record().data,
                     static_cast<size_t>(a.numel() * element_size(a.dtype()))) == 0;
}

// The largest difference, relative to the largest element or 1; infinite where NaNs or infinities
// differ.
double difference(const Tensor& a, const Tensor& b) {
  const auto numbers = [](const Tensor& t) {
    const Tensor here = device::to(t.detach(), "cpu");
    return (is_complex(here.dtype()) ? view_as_real(here.contiguous()) : here).to_vector<double>();
  };
  const std::vector<double> x = numbers(a), y = numbers(b);
  double largest = 1, most = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isfinite(y[i])) largest = std::max(largest, std::fabs(y[i]));
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return INFINITY;
    most = std::max(most, std::fabs(x[i] - y[i]));
  }
  return most / largest;
}

// The device of a comparison, its kernels so far, and the largest difference, by the width of numbers.
struct Target {
  std::string device;
  std::function<int64_t()> kernels;
  double singles, doubles;
  bool as_singles = false;  // operands of f64 as f32
};
Target target;

std::set<std::string> rounded;  // ops whose bits differ
std::vector<std::string> problems;
void report(const Case& one, const std::string& what) {
  const std::string line = one.op + ": " + what;
  if (problems.empty() || problems.back() != line) problems.push_back(line);
}

// Copies of the operands, where they are expected.
std::vector<Tensor> copies(const std::vector<Tensor>& operands, bool there, bool leaves) {
  const device::Device other(target.device);
  std::vector<Tensor> list;
  for (const Tensor& given : operands) {
    const Tensor operand = target.as_singles && given.dtype() == f64 ? given.to(f32) : given;
    Tensor copy = there ? device::to(operand, other) : operand.clone();
    if (leaves && is_floating(copy.dtype())) copy.requires_grad_();
    list.push_back(copy);
  }
  return list;
}
bool is_there(const Tensor& tensor, bool there) {
  return device::name_of(tensor) == (there ? target.device : "cpu");
}

Tensor weighed(const std::vector<Tensor>& results, bool there) {
  Tensor total;
  for (const Tensor& result : results) {
    if (!is_floating(result.dtype()) || !result.requires_grad()) continue;
    Tensor weights = reshape(cos(arange(result.numel(), none, 1, result.dtype())), result.sizes());
    if (there) weights = device::to(weights, target.device);
    const Tensor part = sum(result * weights);
    total = total.defined() ? total + part : part;
  }
  return total;
}

struct Outcome {
  bool ran = false;
  std::string error;
  std::vector<Tensor> tensors;
};
template <class Body>
Outcome outcome_of(Body&& body) {
  Outcome outcome;
  seed_generator(1);
  try {
    outcome.tensors = body();
    outcome.ran = true;
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// False where the CPU does not do it either.
template <class Body>
bool compare(const Case& one, const char* what, Body&& body) {
  const Outcome expected = outcome_of([&] { return body(false); });
  if (!expected.ran) return false;
  const Outcome found = outcome_of([&] { return body(true); });
  if (!found.ran) {
    report(one, std::string(what) + ": " + found.error);
    return true;
  }
  if (found.tensors.size() != expected.tensors.size()) report(one, std::string(what) + ": number");
  for (size_t i = 0; i < std::min(found.tensors.size(), expected.tensors.size()); ++i) {
    const Tensor &a = found.tensors[i], &b = expected.tensors[i];
    if (a.defined() != b.defined())
      report(one, std::string(what) + ": one is undefined");
    else if (a.defined() && !is_there(a, true))
      report(one, std::string(what) + " " + std::to_string(i) + " is on the CPU");
    else if (a.defined() && !same_bits(a, b)) {
      rounded.insert(one.op);
      if (a.dtype() != b.dtype() || a.sizes() != b.sizes() ||
          !(difference(a, b) <=
            (b.dtype() == f32 || b.dtype() == c64 ? target.singles : target.doubles)))
        report(one, std::string(what) + " " + std::to_string(i) + " differs by " +
                        std::to_string(difference(a, b)));
    }
  }
  return true;
}

// Results, then the operands as the call has left them.
std::vector<Tensor> called_with_operands(const Case& one, std::vector<Tensor> operands) {
  std::vector<Tensor> all = called(one, operands);
  all.insert(all.end(), operands.begin(), operands.end());
  return all;
}

struct Counts {
  int results = 0, gradients = 0, tangents = 0;
  std::set<std::string> ops,
      late;  // all that are compared, and those that kernels of the device ran
};

void compare_case(const Case& one, Counts& counts) {
  const std::vector<Tensor> operands = operands_of(one);
  if (operands.empty()) return;
  const int64_t kernels = target.kernels();
  const bool compared = compare(one, "result", [&](bool there) {
    return called_with_operands(one, copies(operands, there, false));
  });
  if (!compared) return;
  ++counts.results;
  counts.ops.insert(one.op);
  if (target.kernels() > kernels) counts.late.insert(one.op);
  if (one.op.back() == '_') return;
  counts.gradients += compare(one, "gradient", [&](bool there) {
    const std::vector<Tensor> given = copies(operands, there, true);
    std::vector<Tensor> leaves;
    for (const Tensor& tensor : given) {
      if (tensor.requires_grad()) leaves.push_back(tensor);
    }
    const Tensor loss = weighed(called(one, given), there);
    if (!loss.defined()) throw ValueError("not differentiable");
    GradientOptions options;
    options.allow_unused = true;
    return gradients({loss}, leaves, options);
  });
  counts.tangents += compare(one, "tangent", [&](bool there) {
    const DualLevel level;
    std::vector<Tensor> given;
    for (const Tensor& tensor : copies(operands, there, false)) {
      given.push_back(is_floating(tensor.dtype()) ? make_dual(tensor, tensor.clone()) : tensor);
    }
    std::vector<Tensor> list;
    // It has no derivative, and the ops that it calls carry tangents on the CPU.
    if (one.op == "dynamic_quantize") throw ValueError("not differentiable");
    for (const Tensor& result : called(one, given)) {
      if (is_floating(result.dtype())) list.push_back(unpack_dual(result).tangent);
    }
    return list;
  });
}

// Matrices that have an inverse, where it has two dimensions.
Tensor regular(const std::vector<int64_t>& shape, DType dtype) {
  if (shape.size() < 2) return ones(shape, dtype);
  return eye(shape[shape.size() - 2], shape.back()).to(dtype).expand(shape).clone();
}

// The operands with another size of one dimension of one of them, or a dimension more. Integers are 0, which
// is an index of most things.
std::vector<std::vector<Tensor>> misshapen(const std::vector<Tensor>& operands) {
  std::vector<std::vector<Tensor>> all;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& given = operands[i];
    for (int64_t d = 0; d <= given.dim(); ++d) {
      std::vector<int64_t> shape = given.sizes();
      if (d < given.dim())
        shape[static_cast<size_t>(d)] += 1;
      else
        shape.push_back(2);
      all.push_back(operands);
      all.back()[i] =
          is_floating(given.dtype()) ? regular(shape, given.dtype()) : zeros(shape, given.dtype());
    }
  }
  return all;
}

// Calls that the CPU refuses for a reason that is not an index: the device refuses them in the call.
int refused_late(const Case& one) {
  int refused = 0;
  for (const std::vector<Tensor>& operands : misshapen(operands_of(one))) {
    try {
      called(one, copies(operands, false, false));
      continue;
    } catch (const IndexError&) {
      continue;
    } catch (const std::exception&) {
      ++refused;
    }
    try {
      const std::vector<Tensor> there = copies(operands, true, false);
      const std::vector<Tensor> results = called(one, there);
      try {
        device::synchronize(device::Device(target.device));
        report(one, "shapes that the CPU refuses are taken");
      } catch (const std::exception& error) {
        report(one, std::string("late: ") + error.what());
      }
    } catch (const std::exception&) {
      // As it should be.
    }
  }
  return refused;
}

// How many ops kernels of the device ran.
size_t compare_every_op(const Target& chosen) {
  target = chosen;
  rounded.clear();
  problems.clear();
  Counts counts;
  const std::set<std::string> plugins{"math", "blas", "nn", "fft", "optim"};
  for_each_op(plugins, 6, [&](const std::string&, const std::vector<Case>& cases) {
    for (const Case& one : cases) compare_case(one, counts);
  });
  for (const std::string& problem : problems) MESSAGE(problem);
  CHECK(problems.empty());
  MESSAGE(counts.ops.size(), " ops, ", counts.late.size(), " on the device, ", counts.results,
          " calls, ", counts.gradients, " with gradients, ", counts.tangents, " with tangents");
  CHECK(counts.ops.size() > 200);
  CHECK(counts.gradients > 200);
  CHECK(counts.tangents > 200);
  return counts.late.size();
}

}  // namespace

TEST_SUITE("device/every_op") {
  TEST_CASE("every op with samples gives on a device the bits that it gives on the CPU") {
    const Service<sim_control_service> control("sim.control", SIM_CONTROL_VERSION);
    CHECK(compare_every_op({"sim:1", [&] { return control->kernels(); }, 1e-5, 1e-9}) > 190);
    for (const std::string& op : rounded) MESSAGE("other bits: ", op);
    CHECK(rounded.size() < 25);
  }

  TEST_CASE("operands that do not fit together are refused in the call, by every op") {
    target = {"sim:1", [] { return 0; }, 0, 0};
    problems.clear();
    int refused = 0;
    for_each_op({"math", "blas", "nn", "fft", "optim"}, 2,
                [&](const std::string&, const std::vector<Case>& cases) {
                  for (const Case& one : cases) refused += refused_late(one);
                });
    for (const std::string& problem : problems) MESSAGE(problem);
    CHECK(problems.empty());
    MESSAGE(refused, " refusals");
    CHECK(refused > 300);
  }

#ifdef TENON_TEST_OPENCL
  TEST_CASE("every op with samples gives on opencl what it gives on the CPU, within bounds") {
    const Service<tenon_device_service> service("device.opencl", TENON_DEVICE_SERVICE_VERSION);
    if (service->count() == 0) return;
    const Service<opencl_control_service> control("opencl.control", OPENCL_CONTROL_VERSION);
    const auto kernels = [&] { return control->kernels(0); };
    CHECK(compare_every_op({"opencl:0", kernels, 2e-5, 1e-9}) > 120);
    CHECK(compare_every_op({"opencl:0", kernels, 5e-5, 1e-9, true}) > 120);
  }
#endif
}
