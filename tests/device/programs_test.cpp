// Random programs on the device sim, whose kernels are delayed and fail at random, against the CPU.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "plugins/sim/control.h"

using namespace tenon;

namespace {

const sim_control_service& control() {
  static const Service<sim_control_service> service("sim.control", SIM_CONTROL_VERSION);
  return *service;
}

int64_t used_bytes(int64_t index) {
  const device::Device device("sim:" + std::to_string(index));
  int64_t used = 0, total = 0;
  call_slot(device.service()->memory, device.index(), &used, &total);
  return used;
}

// One value of a program, on the CPU and on the device.
struct Variable {
  Tensor here, there;         // `there` is undefined where its call was refused
  std::set<std::string> ops;  // by which it was made, its operands' too
  bool leaf = false;
};

// Failures by their numbers, as errors have named them.
class Failures {
 public:
  // False where the body has raised an error that is none of them.
  template <class Body>
  bool run(Body&& body) {
    try {
      body();
      return true;
    } catch (const RuntimeError& error) {
      const std::string text = error.what();
      const size_t number = text.find("(failure "), late = text.find("It arrived late, from ");
      if (number == std::string::npos || late == std::string::npos) {
        problems.push_back("another error: " + text);
        return false;
      }
      last_op = text.substr(late + 22, text.find('(', late) - late - 22);
      seen.insert(std::stoll(text.substr(number + 9)));
      return false;
    } catch (const std::exception& error) {
      problems.push_back(std::string("another error: ") + error.what());
      return false;
    }
  }

  std::set<int64_t> seen;
  std::string last_op;
  std::vector<std::string> problems;
};

bool close(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i] - y[i]) > 1e-5 * std::max(1., std::fabs(y[i]))) return false;
  }
  return true;
}

class Program {
 public:
  Program(uint64_t seed, Failures& failures) : random_(seed), failures_(failures) {}

  void run(int steps) {
    for (int i = 0; i < 3; ++i) add_leaf();
    for (int i = 0; i < steps; ++i) step();
    for (const Variable& one : variables_) compare(one.here, one.there, one.ops, "value");
    differentiate();
  }
  int compared = 0, refused = 0, gradients_compared = 0;

 private:
  int64_t draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  Tensor numbers(int64_t rows, int64_t columns) {
    Tensor made = empty_tensor({rows, columns}, f32);
    for (int64_t i = 0; i < made.numel(); ++i)
      made.data<float>()[i] = static_cast<float>(draw(2000) - 1000) / 1000;
    return made;
  }
  void add_leaf() {
    Variable one;
    one.here = numbers(3, 3);
    one.there = device::to(one.here, "sim:0");
    one.leaf = draw(2) == 0;
    if (one.leaf) {
      one.here.requires_grad_();
      one.there.requires_grad_();
    }
    variables_.push_back(one);
  }
  Variable& any() {
    return variables_[static_cast<size_t>(draw(static_cast<int64_t>(variables_.size())))];
  }

  // A call here and there; `operands` are variables.
  template <class Body>
  void make(const std::string& op, std::vector<const Variable*> operands, Body&& body) {
    std::vector<Tensor> here, there;
    Variable made;
    made.ops.insert(op);
    bool whole = true;
    for (const Variable* operand : operands) {
      here.push_back(operand->here);
      there.push_back(operand->there);
      whole &= operand->there.defined();
      made.ops.insert(operand->ops.begin(), operand->ops.end());
    }
    made.here = body(here);
    if (!whole) {
      ++refused;
    } else if (!failures_.run([&] { made.there = body(there); })) {
      check_op(made.ops);
      made.there = Tensor();
    }
    variables_.push_back(made);
  }

  void step() {
    using List = const std::vector<Tensor>&;
    const Variable a = any(), b = any();
    switch (draw(14)) {
      case 0:
        return make("add", {&a, &b}, [](List t) { return t[0] + t[1]; });
      case 1:
        return make("mul", {&a, &b}, [](List t) { return t[0] * t[1]; });
      case 2:
        return make("mm", {&a, &b}, [](List t) { return mm(t[0], t[1]); });
      case 3:
        return make("relu", {&a}, [](List t) { return relu(t[0]); });
      case 4:
        return make("sin", {&a}, [](List t) { return sin(t[0]); });
      case 5:
        return make("transpose", {&a}, [](List t) { return transpose(t[0], 0, 1); });
      case 6:
        return make("softmax", {&a}, [](List t) { return nn::functional::softmax(t[0], 1); });
      case 7:
        return make("cat", {&a, &b}, [](List t) {
          return cat({t[0][0], t[1][1], t[0][2]}, 0).reshape({3, 3});
        });
      case 8:
        return make("sum", {&a}, [](List t) { return t[0] - sum(t[0], IntList(&kOne, 1), true); });
      case 9:  // by way of the other instance
        return make("copy", {&a}, [](List t) {
          if (device::name_of(t[0]) == "cpu") return t[0] * 1;
          return device::to(device::to(t[0], "sim:1") * 1, "sim:0");
        });
      case 10: {  // a change in place of what no other variable shares, or its view
        make("mul", {&a}, [](List t) { return t[0] * 1; });
        const Variable fresh = variables_.back();
        const bool row = draw(2) == 0;
        const double factor = static_cast<double>(draw(5)) / 4;
        variables_.pop_back();
        return make("mul_", {&fresh}, [&](List t) {
          const Tensor part = row ? t[0][1] : t[0];
          part.mul_(tensor(factor));
          return t[0];
        });
      }
      case 11: {  // a number is read
        if (!a.there.defined()) return;
        const double here = sum(a.here).detach().item();
        double there = 0;
        if (!failures_.run([&] { there = sum(a.there).detach().item(); })) return;
        if (std::fabs(here - there) > 1e-4 * std::max(1., std::fabs(here)))
          failures_.problems.push_back("another number is read");
        return;
      }
      case 12:  // dropped while it may still be computed
        if (variables_.size() > 4) {
          const size_t place = static_cast<size_t>(draw(static_cast<int64_t>(variables_.size())));
          if (!variables_[place].leaf)
            variables_.erase(variables_.begin() + static_cast<int64_t>(place));
        }
        return;
      default:
        return make("clamp", {&a}, [](List t) { return clamp(t[0], -2., 2.); });
    }
  }

  // The failure is that of an op which the variable depends on, or of one that such an op calls.
  void check_op(const std::set<std::string>& ops) {
    static const std::map<std::string, std::set<std::string>> called{
        {"cat", {"contiguous", "reshape", "clone"}}, {"sum", {"sub"}}, {"copy", {"mul"}}};
    for (const std::string& op : ops) {
      if (op == failures_.last_op) return;
      const auto inner = called.find(op);
      if (inner != called.end() && inner->second.count(failures_.last_op) > 0) return;
    }
    failures_.problems.push_back("a result has the failure of " + failures_.last_op);
  }

  void compare(const Tensor& here, const Tensor& there, const std::set<std::string>& ops,
               const char* what) {
    if (!there.defined()) return;
    Tensor found;
    if (!failures_.run([&] { found = device::to(there.detach(), "cpu"); })) {
      if (what == std::string("value")) check_op(ops);
      ++refused;
      return;
    }
    ++compared;
    if (!close(found, here.detach())) failures_.problems.push_back(std::string("another ") + what);
  }

  void differentiate() {
    Tensor here, there;
    bool whole = true;
    for (const Variable& one : variables_) {
      if (!one.here.requires_grad() || !one.there.defined()) continue;
      const Tensor part = sum(sin(one.here));
      here = here.defined() ? here + part : part;
      whole &= failures_.run([&] {
        const Tensor same = sum(sin(one.there));
        there = there.defined() ? there + same : same;
      });
    }
    if (!here.defined() || !whole) return;
    here.backward();
    if (!failures_.run([&] { there.backward(); })) return;
    for (const Variable& one : variables_) {
      if (!one.leaf || !one.here.grad().defined()) continue;
      compare(one.here.grad(), one.there.grad(), {}, "gradient");
      ++gradients_compared;
    }
  }

  static constexpr int64_t kOne = 1;
  std::mt19937_64 random_;
  Failures& failures_;
  std::vector<Variable> variables_;
};

struct Totals {
  int compared = 0, refused = 0, gradients = 0;
  int64_t failures = 0;
};

Totals run_programs(int count, double probability) {
  Totals totals;
  const int64_t before[] = {used_bytes(0), used_bytes(1)};
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(i) * 7 + 1;
    control().delay_kernels(300, seed);
    control().fail_kernels(probability, seed);
    const int64_t first = control().failures();
    Failures failures;
    {
      Program program(seed, failures);
      program.run(40);
      totals.compared += program.compared;
      totals.refused += program.refused;
      totals.gradients += program.gradients_compared;
    }
    // Failures that nothing has used: each once, and none that a use has raised.
    const std::set<int64_t> used = failures.seen;
    std::set<int64_t> all = used;
    for (const char* name : {"sim:0", "sim:1"}) {
      for (bool more = true; more;) {
        failures.seen.clear();
        more = !failures.run([&] { device::synchronize(device::Device(name)); });
        for (const int64_t number : failures.seen) {
          if (used.count(number) > 0) failures.problems.push_back("a failure is raised twice");
        }
        all.insert(failures.seen.begin(), failures.seen.end());
      }
    }

    for (int64_t number = first; number < control().failures(); ++number) {
      if (all.count(number) == 0) failures.problems.push_back("a failure is lost");
    }
    totals.failures += control().failures() - first;
    for (const std::string& problem : failures.problems) MESSAGE("program ", i, ": ", problem);
    CHECK(failures.problems.empty());
    CHECK(used_bytes(0) == before[0]);
    CHECK(used_bytes(1) == before[1]);
  }
  control().fail_kernels(0, 1);
  control().delay_kernels(200, 1);
  return totals;
}

}  // namespace

TEST_SUITE("device/programs") {
  TEST_CASE("random programs on a device with delays give the values and gradients of the CPU") {
    const Totals totals = run_programs(50, 0);
    MESSAGE(totals.compared, " values, ", totals.gradients, " gradients");
    CHECK(totals.refused == 0);
    CHECK(totals.compared > 1000);
    CHECK(totals.gradients > 50);
  }

  TEST_CASE("kernels that fail late are raised once each, named, where a result is used") {
    const Totals totals = run_programs(120, 0.02);
    MESSAGE(totals.failures, " failures, ", totals.refused, " values refused, ", totals.compared,
            " right, ", totals.gradients, " gradients");
    CHECK(totals.failures > 100);
    CHECK(totals.refused > 50);  // how many there are depends on when failures become known
    CHECK(totals.compared > 1000);
  }
}
