// data.sample_*: the order of the samples of an epoch, as the row of each place. The seed alone
// decides it, together with the number of the epoch where a training passes no seed for each.
#include <algorithm>
#include <numeric>

#include <tenon/plugin.hpp>

#include "class_labels.hpp"

namespace {

using tenon::Tensor;

Tensor rows(const std::vector<int64_t>& order) {
  return tenon::from_range(order.begin(), order.end());
}

int64_t samples_of(const Tensor& labels) {
  if (labels.dim() < 1)
    throw tenon::ValueError("labels must have a first dimension, the samples; found a scalar");
  return labels.size(0);
}

struct SampleSequential {
  static constexpr auto schema = "data.sample_sequential(Tensor labels, *, int seed=0) -> Tensor";
  static constexpr auto doc =
      "The rows of labels [samples, ...] in their order, for a \"sampler\" that shuffles nothing.";
  static constexpr auto samples = R"([{"labels": {"values": [0, 1, 1], "requires_grad": false}}])";

  static Tensor forward(const Tensor& labels, int64_t /*seed*/) {
    std::vector<int64_t> order(static_cast<size_t>(samples_of(labels)));
    std::iota(order.begin(), order.end(), int64_t{0});
    return rows(order);
  }
};

struct SampleShuffled {
  static constexpr auto schema = "data.sample_shuffled(Tensor labels, *, int seed=0) -> Tensor";
  static constexpr auto doc =
      "The rows of labels [samples, ...] in an order that the seed alone decides.";
  static constexpr auto samples = R"([{"labels": {"values": [0, 1, 1], "requires_grad": false}}])";

  static Tensor forward(const Tensor& labels, int64_t seed) {
    return rows(data::permutation(samples_of(labels), seed));
  }
};

// Classes take turns at random within each round, so that any run of rows has about as many of each
// class; the rows of a class come again when all of them have been used.
struct SampleBalanced {
  static constexpr auto schema = "data.sample_balanced(Tensor labels, *, int seed=0) -> Tensor";
  static constexpr auto doc =
      "As many rows as labels [samples] has, with as many of each class, as near as whole samples "
      "come: rows of rare classes are repeated, and some of frequent ones left out. Every row of a "
      "class is used before one is used again. The seed alone decides.";
  static constexpr auto samples =
      R"([{"labels": {"values": [0, 1, 0, 0, 0, 1, 2], "requires_grad": false}}])";

  static Tensor forward(const Tensor& labels, int64_t seed) {
    const std::vector<size_t> class_of = data::class_numbers(labels);
    const auto count = static_cast<int64_t>(class_of.size());
    const size_t classes = data::class_counts(class_of).size();
    std::vector<std::vector<int64_t>> rows_of(classes);
    for (const int64_t row : data::permutation(count, seed))
      rows_of[class_of[static_cast<size_t>(row)]].push_back(row);
    std::vector<size_t> used(classes, 0);
    std::vector<int64_t> order;
    order.reserve(class_of.size());
    for (int64_t round = 1; order.size() < class_of.size(); ++round) {
      for (const int64_t c : data::permutation(static_cast<int64_t>(classes), seed ^ round)) {
        const std::vector<int64_t>& own = rows_of[static_cast<size_t>(c)];
        if (order.size() < class_of.size())
          order.push_back(own[used[static_cast<size_t>(c)]++ % own.size()]);
      }
    }
    return rows(order);
  }
};

}  // namespace
TENON_OPS(SampleSequential, SampleShuffled, SampleBalanced)
