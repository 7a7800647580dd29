// Metrics of numbers: mean absolute error, root mean squared error, R2.
#include <cmath>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using tenon::Tensor;

struct Pairs {
  Pairs(const char* op, const Tensor& output, const Tensor& target) {
    if (output.sizes() != target.sizes())
      throw tenon::ValueError(std::string(op) + "(): 'output' and 'target' must have one shape");
    guessed = output.to_vector<double>();
    actual = target.to_vector<double>();
    if (actual.empty())
      throw tenon::ValueError(std::string(op) + "(): found no samples, expected at least one");
  }
  template <class Term>
  double mean(Term term) const {
    double sum = 0;
    for (size_t i = 0; i < actual.size(); ++i) sum += term(guessed[i], actual[i]);
    return sum / static_cast<double>(actual.size());
  }
  double squared_error() const {
    return mean([](double a, double b) { return (a - b) * (a - b); });
  }

  std::vector<double> guessed, actual;
};

constexpr auto paired_samples =
    R"([{"output": {"shape": [4, 1], "requires_grad": false},
         "target": {"shape": [4, 1], "requires_grad": false}}])";

struct MeanAbsoluteError {
  static constexpr auto schema =
      "metric.mean_absolute_error(Tensor output, Tensor target) -> float";
  static constexpr auto samples = paired_samples;
  static constexpr auto doc = "Mean of the differences without their sign.";
  static double forward(const Tensor& output, const Tensor& target) {
    return Pairs("mean_absolute_error", output, target).mean([](double a, double b) {
      return std::fabs(a - b);
    });
  }
};

struct RootMeanSquaredError {
  static constexpr auto schema =
      "metric.root_mean_squared_error(Tensor output, Tensor target) -> float";
  static constexpr auto samples = paired_samples;
  static constexpr auto doc = "Square root of the mean of the squared differences.";
  static double forward(const Tensor& output, const Tensor& target) {
    return std::sqrt(Pairs("root_mean_squared_error", output, target).squared_error());
  }
};

struct R2Score {
  static constexpr auto schema = "metric.r2_score(Tensor output, Tensor target) -> float";
  static constexpr auto samples = paired_samples;
  static constexpr auto doc =
      "Part of the targets' variance that the outputs explain; 1 at best, 0 for their mean. Of "
      "targets that are all equal 1 when the outputs are these, else 0.";
  static double forward(const Tensor& output, const Tensor& target) {
    const Pairs pairs("r2_score", output, target);
    const double center = pairs.mean([](double, double b) { return b; });
    const double variance =
        pairs.mean([&](double, double b) { return (b - center) * (b - center); });
    const double error = pairs.squared_error();
    if (variance == 0) return error == 0 ? 1 : 0;
    return 1 - error / variance;
  }
};

}  // namespace
TENON_OPS(MeanAbsoluteError, RootMeanSquaredError, R2Score)
