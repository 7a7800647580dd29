// The accuracy that each elementwise op states, against exact functions in MPFR.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>

#include "measure.hpp"

namespace {

using tenon::Json;
using tenon::Tensor;

// The accuracy that each op states, by its name.
std::map<std::string, std::string> stated() {
  std::map<std::string, std::string> list;
  const Json ops = tenon::listing::ops();
  for (int64_t i = 0; i < ops.size(); ++i) {
    const std::string name = ops[i]["name"].text();
    if (ops[i]["accuracy"].defined()) list[name] = ops[i]["accuracy"].text();
  }
  return list;
}

// The number of operands of a call with tensors alone, 0 where more is required.
size_t operands_of(const Json& parameters) {
  size_t count = 0;
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const std::string type = parameters[i]["type"].text();
    if (parameters[i]["mutates"].as_bool()) {
      if (parameters[i]["name"].text() != "out") return 0;
    } else if (type == "Tensor" || type == "Tensor|Scalar") {
      ++count;
    } else if (parameters[i]["default"].text("").empty()) {
      return 0;
    }
  }
  return count;
}
Tensor called(const std::string& name, const std::vector<Tensor>& operands) {
  const tenon::Op op(name);
  return (operands.size() == 1   ? op(operands[0])
          : operands.size() == 2 ? op(operands[0], operands[1])
                                 : op(operands[0], operands[1], operands[2]))
      .tensor();
}

// Whether an op computes each f32 of its result from one element of each operand, and does compute:
// it does not return an operand, or a number that is the same for all.
bool is_elementwise(const std::string& name, size_t count) {
  constexpr int64_t size = 16;
  std::vector<Tensor> operands;
  for (size_t k = 0; k < count; ++k) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < size; ++i)
      numbers.push_back(static_cast<float>((i * 5 + static_cast<int64_t>(k) * 3) % size * 2 + 1) /
                        40);
    operands.push_back(tenon::from_range(numbers.begin(), numbers.end()));
  }
  try {
    const Tensor whole = called(name, operands);
    if (whole.dtype() != tenon::f32 || whole.dim() != 1 || whole.size(0) != size) return false;
    const auto found = whole.to_vector<float>();
    if (std::set<float>(found.begin(), found.end()).size() == 1) return false;
    for (const Tensor& operand : operands)
      if (operand.to_vector<float>() == found) return false;
    for (int64_t i = 0; i < size; ++i) {
      std::vector<Tensor> single;
      for (const Tensor& operand : operands) single.push_back(operand.slice(0, i, i + 1).clone());
      const Tensor one = called(name, single);
      if (one.numel() != 1 || one.item<float>() != found[static_cast<size_t>(i)]) return false;
    }
    return true;
  } catch (const std::exception&) {
    return false;  // the op takes other operands
  }
}

void check(const std::string& op, const char* what, const accuracy::Error& error, double bound) {
  std::string operands;
  for (const double operand : error.operands) operands += " " + tenon::Scalar(operand).text();
  CHECK_MESSAGE(error.units <= bound, op, ", ", std::string(what), ": ", error.units, " ulp at",
                operands, ": found ", error.found, ", exact ", error.exact, ", stated ", bound);
}

}  // namespace

TEST_SUITE("plugins/accuracy") {
  TEST_CASE("no result and no gradient is farther from the exact one than its op states") {
    const auto accuracies = stated();
    for (const accuracy::Function& function : accuracy::functions()) {
      CAPTURE(function.op);
      const auto found = accuracies.find(function.op);
      REQUIRE(found != accuracies.end());
      const accuracy::Bounds bounds = accuracy::parse_bounds(found->second);
      const accuracy::Errors f32 = measure(function, tenon::f32, 2000),
                             f64 = measure(function, tenon::f64, 1000);
      check(function.op, "f32", f32.result, bounds.f32);
      check(function.op, "gradient f32", f32.gradient, bounds.gradient_f32);
      check(function.op, "f64", f64.result, bounds.f64);
      check(function.op, "gradient f64", f64.gradient, bounds.gradient_f64);
    }
  }

  TEST_CASE("every elementwise op of a shipped plugin states its accuracy, and is measured") {
    // The neighbour of a number in its dtype is not a function of real numbers.
    std::set<std::string> measured = {"nextafter"};
    for (const accuracy::Function& function : accuracy::functions()) measured.insert(function.op);
    // One number for each feature, in steps that round: what rewrites write constants by.
    const std::set<std::string> of_features = {"nn.functional.batch_norm_factor",
                                               "nn.functional.batch_norm_term",
                                               "nn.functional.scale_features"};
    const auto accuracies = stated();
    for (const char* plugin : {"math", "blas", "nn", "optim", "metric", "data"}) {
      const Json ops = tenon::listing::declarations(plugin)["ops"];
      for (int64_t i = 0; i < ops.size(); ++i) {
        const std::string name = ops[i]["name"].text();
        const size_t operands = operands_of(ops[i]["parameters"]);
        if (of_features.count(name) != 0 || name.back() == '_' || operands == 0 || operands > 3)
          continue;
        const std::string doc = tenon::listing::op(name)["doc"].text();
        if (doc.rfind("Another name of ", 0) == 0 || !is_elementwise(name, operands)) continue;
        CHECK_MESSAGE(accuracies.count(name) == 1, name, " states no accuracy");
        CHECK_MESSAGE(measured.count(name) == 1, name, " has no exact function");
      }
    }
    for (const auto& entry : accuracies) {
      const std::string& name = entry.first;
      if (name.back() != '_') CHECK_MESSAGE(measured.count(name) == 1, name, " is not measured");
    }
  }

  TEST_CASE("no result depends on the place of its element in a row") {
    for (const accuracy::Function& function : accuracy::functions()) {
      CAPTURE(function.op);
      for (const tenon::DType dtype : {tenon::f32, tenon::f64}) {
        // Small and large numbers of both signs, and those that no quick form of a kernel is for.
        constexpr int64_t size = 37;
        std::vector<Tensor> operands;
        for (size_t k = 0; k < function.operands; ++k) {
          std::vector<double> numbers;
          for (int64_t i = 0; i < size; ++i)
            numbers.push_back(std::sin(static_cast<double>(i * 7 + 1) + static_cast<double>(k)) *
                              std::pow(10, (i * 5 + static_cast<int64_t>(k) * 3) % 9 - 5));
          operands.push_back(tenon::from_range(numbers.begin(), numbers.end()).to(dtype));
        }
        const auto whole = called(function.op, operands).to_vector<double>();
        for (const int64_t count : {1, 3, 13}) {
          for (int64_t from = 0; from + count <= size; from += count) {
            std::vector<Tensor> part;
            for (const Tensor& operand : operands)
              part.push_back(operand.narrow(0, from, count).clone());
            const auto found = called(function.op, part).to_vector<double>();
            for (int64_t i = 0; i < count; ++i) {
              const double expected = whole[static_cast<size_t>(from + i)],
                           one = found[static_cast<size_t>(i)];
              CHECK_MESSAGE((one == expected || (std::isnan(one) && std::isnan(expected))),
                            function.op, ", element ", from + i, ": ", one, ", within a row ",
                            expected);
            }
          }
        }
      }
    }
  }

  TEST_CASE("gradients are right where a factor of them leaves the range or cancels") {
    struct Row {
      const char* op;
      float operand;
      double slope;
    };
    const Row rows[] = {{"rsqrt", 2.0472105291922622e-26F, -1.7069713993681838e38},
                        {"log10", 1.4902889878547455e38F, 2.9141628599726413e-39},
                        {"log2", 3e38F, 4.808983469629878e-39},
                        {"nn.functional.gelu", -5.4385318756103516F, -7.9290779037184222e-07},
                        {"lgamma", -8.800956271382164e-25F, 1.1362401643235914e24}};
    for (const Row& row : rows) {
      CAPTURE(row.op);
      const Tensor x = tenon::full({}, row.operand, tenon::f32).requires_grad_();
      called(row.op, {x}).backward();
      CHECK(std::fabs(x.grad().item<float>() / row.slope - 1) < 1e-4);
    }
  }

  TEST_CASE("gradients of subnormal operands, and in a tail, keep their digits") {
    struct Row {
      const char* op;
      tenon::DType dtype;
      std::vector<double> operands;
      size_t side;
      double slope;
    };
    const double y = -1.6377787905673446e-39, x = 2.2019051184445435e-39;
    const Row rows[] = {
        {"atan2", tenon::f32, {y, x}, 1, 2.1748012675219895e+38},
        {"i1", tenon::f32, {-4.8098028359638589e-40}, 0, 0.5},
        {"nn.functional.gelu_tanh", tenon::f64, {-20.621374560924934}, 0, -1.7587902232748372e-283},
        {"lgamma", tenon::f64, {2.0327799057014047}, 0, 0.4437109560207659},
        {"pow", tenon::f64, {1e-300, 1.1}, 0, 1.0999999999999326031e-30},
    };
    for (const Row& row : rows) {
      CAPTURE(row.op);
      std::vector<Tensor> operands;
      for (const double operand : row.operands)
        operands.push_back(tenon::full({}, operand, row.dtype).requires_grad_());
      called(row.op, operands).backward();
      const double found = operands[row.side].grad().to(tenon::f64).item<double>();
      CHECK(std::fabs(found / row.slope - 1) < (row.dtype == tenon::f32 ? 2e-6 : 1e-15));
    }
  }

  TEST_CASE("an error is found where a result is one unit off") {
    // The function of another op: sin is nowhere near cos.
    accuracy::Function wrong = accuracy::functions().front();
    for (const accuracy::Function& each : accuracy::functions())
      if (each.op == "exp2") wrong = each;
    wrong.op = "exp";
    CHECK(measure(wrong, tenon::f32, 200).result.units > 1000);
  }

  TEST_CASE("quick numbers pass over operands, and the largest errors are those of MPFR alone") {
    int64_t count = 0, by_mpfr = 0;
    for (const accuracy::Function& function : accuracy::functions()) {
      if (function.share != 1) continue;
      CAPTURE(function.op);
      for (const tenon::DType dtype : {tenon::f32, tenon::f64}) {
        const accuracy::Errors all = measure(function, dtype, 400, false),
                               some = measure(function, dtype, 400);
        CHECK(some.result.units == all.result.units);
        CHECK(some.gradient.units == all.gradient.units);
        count += some.count;
        by_mpfr += some.by_mpfr;
      }
    }
    CHECK(by_mpfr < count / 2);
  }

  TEST_CASE("an accuracy is parsed, or refused") {
    const accuracy::Bounds bounds =
        accuracy::parse_bounds("f32 0.6, f64 1; gradient f32 2.5, f64 3; of normal numbers");
    CHECK(bounds.f32 == 0.6);
    CHECK(bounds.gradient_f64 == 3);
    CHECK(accuracy::parse_bounds("exact").f32 == 0);
    CHECK_THROWS_AS(accuracy::parse_bounds("f32 0.6"), std::invalid_argument);
  }
}
