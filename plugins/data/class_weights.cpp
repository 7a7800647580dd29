// data.*_weights: weights of classes, from how often each is among the labels.
#include <algorithm>
#include <cmath>

#include <tenon/plugin.hpp>

namespace {

using tenon::Tensor;

struct BalancedWeights {
  static constexpr auto schema =
      "data.balanced_weights(Tensor labels, *, int? classes=None, int? ignore_index=None) -> "
      "Tensor";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "A weight for each class, float64 [classes]: the number of labels, divided by the number of "
      "classes and by how many labels have this one, so that all classes together weigh the same. "
      "Labels of any shape are whole numbers from 0; classes counts those that may be there, up to "
      "the largest label when left out; a label that is ignore_index does not count. A class "
      "without "
      "labels is a ValueError.";
  static constexpr auto samples =
      R"([{"labels": {"values": [0, 1, 0, 0], "dtype": "i64"}, "classes": 2}])";

  static Tensor forward(const Tensor& labels, std::optional<int64_t> classes,
                        std::optional<int64_t> ignore_index) {
    const std::vector<double> values = labels.to_vector<double>();
    if (classes && *classes < 1)
      throw tenon::ValueError("classes must be 1 or more, found " + std::to_string(*classes));
    // More classes than labels: one of the first so many has none, and only these are counted.
    const size_t counted = values.size() + 1;
    auto present = static_cast<size_t>(classes.value_or(0));
    std::vector<int64_t> counts(std::min(present, counted));
    int64_t total = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double value = values[i];
      if (ignore_index && value == static_cast<double>(*ignore_index)) continue;
      const bool whole = value >= 0 && value == std::floor(value) && value < 0x1p31;
      if (!whole || (classes && value >= static_cast<double>(*classes))) {
        throw tenon::ValueError("label " + std::to_string(i) + " is " +
                                tenon::Scalar(value).text() + ", expected " +
                                (classes ? "a class from 0 to " + std::to_string(*classes - 1)
                                         : "a whole number from 0"));
      }
      const auto c = static_cast<size_t>(value);
      present = std::max(present, c + 1);
      if (c >= counts.size()) counts.resize(std::min(present, counted));
      if (c < counts.size()) ++counts[c];
      ++total;
    }
    std::vector<double> weights;
    for (size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0)
        throw tenon::ValueError("no label is of class " + std::to_string(c) +
                                ", which therefore has no balanced weight; write the weights as "
                                "numbers");
      weights.push_back(static_cast<double>(total) /
                        (static_cast<double>(counts.size()) * static_cast<double>(counts[c])));
    }
    return tenon::from_range(weights.begin(), weights.end());
  }
};

}  // namespace
TENON_OP(BalancedWeights)
