// data.split, data.stratified_split, data.split_by_parts: which samples are for training,
// validation and testing, as indices.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include <tenon/plugin.hpp>

#include "class_labels.hpp"

namespace {

using tenon::Tensor;

enum Part : size_t { train, validation, test, parts };
using Split = std::tuple<Tensor, Tensor, Tensor>;
using Counts = std::array<int64_t, parts>;

Split tensors(const std::array<std::vector<int64_t>, parts>& indices) {
  const auto one = [&](Part part) {
    return tenon::from_range(indices[part].begin(), indices[part].end());
  };
  return {one(train), one(validation), one(test)};
}

// The sizes of the parts; at least one sample is for training.
Counts part_sizes(int64_t count, double validation_part, double test_part) {
  const auto check = [](const char* name, double fraction) {
    if (!(fraction >= 0 && fraction < 1))
      throw tenon::ValueError(std::string(name) +
                              " must be a fraction from 0 to less than 1, got " +
                              std::to_string(fraction));
  };
  check("validation", validation_part);
  check("test", test_part);
  if (count < 1) throw tenon::ValueError("found no samples to split, expected at least one");
  const auto of = [&](double fraction) {
    return static_cast<int64_t>(std::llround(fraction * static_cast<double>(count)));
  };
  const Counts sizes = {count - of(validation_part) - of(test_part), of(validation_part),
                        of(test_part)};
  if (sizes[train] < 1) {
    throw tenon::ValueError("validation " + std::to_string(sizes[validation]) + " and test " +
                            std::to_string(sizes[test]) + " of " + std::to_string(count) +
                            " samples leave none for training");
  }
  return sizes;
}

struct SplitByFraction {
  static constexpr auto schema =
      "data.split(int count, *, float validation=0.0, float test=0.2, bool shuffle=True, "
      "int seed=0) -> (Tensor train, Tensor validation, Tensor test)";
  static constexpr auto doc =
      "Divides the indices 0 to count - 1; test and validation are at the end of the order. The "
      "seed alone decides the order.";
  static constexpr auto samples =
      R"([{"count": 10, "validation": 0.2}, {"count": 3, "shuffle": false}])";

  static Split forward(int64_t count, double validation_part, double test_part, bool shuffle,
                       int64_t seed) {
    const Counts sizes = part_sizes(count, validation_part, test_part);
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (shuffle) order = data::permutation(count, seed);
    std::array<std::vector<int64_t>, parts> indices;
    auto at = order.begin();
    for (const Part part : {train, validation, test}) {
      indices[part].assign(at, at + sizes[part]);
      at += sizes[part];
    }
    return tensors(indices);
  }
};

// How many of each class are in a part: its fraction of the class, rounded so that the sum is
// `total`; the classes with the largest remainders get one more. Every class keeps one sample.
std::vector<int64_t> class_shares(const std::vector<int64_t>& left,
                                  const std::vector<int64_t>& whole, int64_t total, int64_t count) {
  std::vector<int64_t> shares(whole.size());
  std::vector<std::pair<double, size_t>> remainders;
  int64_t given = 0;
  for (size_t c = 0; c < whole.size(); ++c) {
    const double exact =
        static_cast<double>(whole[c]) * static_cast<double>(total) / static_cast<double>(count);
    shares[c] = std::min(static_cast<int64_t>(exact), left[c] - 1);
    remainders.emplace_back(static_cast<double>(shares[c]) - exact, c);  // most first
    given += shares[c];
  }
  std::sort(remainders.begin(), remainders.end());
  // Small classes may have nothing to give, so that others give more than one.
  for (bool moved = true; given < total && moved;) {
    moved = false;
    for (const auto& [remainder, c] : remainders) {
      if (given == total) break;
      if (shares[c] >= left[c] - 1) continue;
      ++shares[c];
      ++given;
      moved = true;
    }
  }
  return shares;
}

struct StratifiedSplit {
  static constexpr auto schema =
      "data.stratified_split(Tensor labels, *, float validation=0.0, float test=0.2, int seed=0) "
      "-> (Tensor train, Tensor validation, Tensor test)";
  static constexpr auto doc =
      "Divides the indices of labels [samples] so that every part has its fraction of each class, "
      "as near as whole samples come; one of each class is for training. The seed alone decides.";
  static constexpr auto samples =
      R"([{"labels": {"values": [0, 1, 0, 1, 2, 0, 1, 2], "requires_grad": false}, "test": 0.25}])";

  static Split forward(const Tensor& labels, double validation_part, double test_part,
                       int64_t seed) {
    const std::vector<size_t> class_of = data::class_numbers(labels);
    const auto count = static_cast<int64_t>(class_of.size());
    const Counts sizes = part_sizes(count, validation_part, test_part);
    const std::vector<int64_t> whole = data::class_counts(class_of);

    std::array<std::vector<int64_t>, parts> shares;
    shares[train] = whole;
    for (const Part part : {validation, test}) {
      shares[part] = class_shares(shares[train], whole, sizes[part], count);
      for (size_t c = 0; c < whole.size(); ++c) shares[train][c] -= shares[part][c];
    }
    std::array<std::vector<int64_t>, parts> indices;
    for (const int64_t index : data::permutation(count, seed)) {
      const size_t c = class_of[static_cast<size_t>(index)];
      const Part part = shares[test][c] > 0 ? test : shares[validation][c] > 0 ? validation : train;
      --shares[part][c];
      indices[part].push_back(index);
    }
    return tensors(indices);
  }
};

struct SplitByParts {
  static constexpr auto schema =
      "data.split_by_parts(Tensor parts) -> (Tensor train, Tensor validation, Tensor test)";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The indices of each part, in order; parts [samples] has 0 for training, 1 for validation, 2 "
      "for testing, as readers return them.";
  static constexpr auto samples = R"([{"parts": {"values": [0, 2, 1, 0], "dtype": "i64"}}])";

  static Split forward(const Tensor& part_of) {
    if (part_of.dim() != 1)
      throw tenon::ValueError("parts must have one dimension, [samples], got " +
                              std::to_string(part_of.dim()));
    std::array<std::vector<int64_t>, parts> indices;
    const std::vector<double> values = part_of.to_vector<double>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0 && values[i] != 1 && values[i] != 2) {
        throw tenon::ValueError("parts[" + std::to_string(i) + "] is " + std::to_string(values[i]) +
                                "; 0 (train), 1 (validation) and 2 (test) are parts");
      }
      indices[static_cast<size_t>(values[i])].push_back(static_cast<int64_t>(i));
    }
    return tensors(indices);
  }
};

}  // namespace
TENON_OPS(SplitByFraction, StratifiedSplit, SplitByParts)
