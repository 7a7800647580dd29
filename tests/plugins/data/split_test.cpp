// Splits of samples, and normalisation that is fitted to a part of them.
#include <algorithm>
#include <limits>
#include <map>

#include "../compare.hpp"

using namespace compare;

namespace {

using Split = std::tuple<Tensor, Tensor, Tensor>;
using Indices = std::vector<int64_t>;

// All three, one after the other.
Indices joined(const Split& split) {
  Indices all;
  const auto add = [&](const Tensor& part) {
    CHECK(part.dtype() == tenon::i64);
    for (const int64_t index : part.to_vector<int64_t>()) all.push_back(index);
  };
  std::apply([&](const auto&... part) { (add(part), ...); }, split);
  return all;
}
bool is_permutation(Indices indices, int64_t count) {
  std::sort(indices.begin(), indices.end());
  for (int64_t i = 0; i < count; ++i) {
    if (indices.size() != static_cast<size_t>(count) || indices[static_cast<size_t>(i)] != i)
      return false;
  }
  return true;
}
Indices sizes(const Split& split) {
  return {std::get<0>(split).numel(), std::get<1>(split).numel(), std::get<2>(split).numel()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("a split has every index once, in parts of the sizes that were asked for") {
    using tenon::data::split;
    CHECK(sizes(split(10)) == Indices{8, 0, 2});
    CHECK(sizes(split(10, 0.3, 0.25)) == Indices{4, 3, 3});
    CHECK(sizes(split(1, 0, 0.2)) == Indices{1, 0, 0});
    CHECK(joined(split(5, 0.2, 0.4, false)) == Indices{0, 1, 2, 3, 4});
    const tenon::Draws draws{3, 0};
    for (int64_t i = 0; i < 200; ++i) {
      const auto count = static_cast<int64_t>(3 + draws.bits(2 * i) % 500);
      const auto seed = static_cast<int64_t>(draws.bits(2 * i + 1) % 1000);
      const Split parts = split(count, 0.15, 0.25, true, seed);
      CHECK(is_permutation(joined(parts), count));
      // The seed alone decides.
      tenon::rand({3});
      CHECK(joined(split(count, 0.15, 0.25, true, seed)) == joined(parts));
    }
    CHECK(joined(split(50, 0, 0.2, true, 1)) != joined(split(50, 0, 0.2, true, 2)));
  }

  TEST_CASE("a stratified split has the share of each class in each part") {
    using tenon::data::stratified_split;
    const tenon::Draws draws{9, 0};
    int64_t drawn = 0;
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const auto count = static_cast<int64_t>(30 + draws.bits(drawn++) % 200);
      const uint64_t classes = 1 + draws.bits(drawn++) % 5;
      std::vector<int64_t> labels;
      for (int64_t i = 0; i < count; ++i)
        labels.push_back(static_cast<int64_t>(draws.bits(drawn++) % classes * 10));
      const Tensor tensor = tenon::from_range(labels.begin(), labels.end());
      const double validation = 0.1 * static_cast<double>(round % 4), test = 0.25;
      const Split parts = stratified_split(tensor, validation, test, round);
      CHECK(is_permutation(joined(parts), count));
      CHECK(std::get<1>(parts).numel() == std::llround(validation * static_cast<double>(count)));
      CHECK(std::get<2>(parts).numel() == std::llround(test * static_cast<double>(count)));
      std::map<int64_t, int64_t> whole, tested, trained;
      for (const int64_t label : labels) ++whole[label];
      for (const int64_t i : std::get<2>(parts).to_vector<int64_t>())
        ++tested[labels[static_cast<size_t>(i)]];
      for (const int64_t i : std::get<0>(parts).to_vector<int64_t>())
        ++trained[labels[static_cast<size_t>(i)]];
      for (const auto& [label, all] : whole) {
        CHECK(trained[label] >= 1);
        const double exact = static_cast<double>(all) * test;
        if (all >= 5) CHECK(std::abs(static_cast<double>(tested[label]) - exact) < 2);
      }
    }
    // A class of one sample is trained.
    const Split rare = stratified_split(tenon::tensor({0, 0, 0, 7, 0, 0, 0, 0}), 0, 0.5);
    CHECK(sizes(rare) == Indices{4, 0, 4});
    const Indices trained = std::get<0>(rare).to_vector<int64_t>();
    CHECK(std::count(trained.begin(), trained.end(), 3) == 1);
    CHECK(sizes(stratified_split(tenon::tensor({0.5, 1.5, 0.5, 1.5}), 0, 0.5)) == Indices{2, 0, 2});
  }

  TEST_CASE("a split by parts has the indices of each") {
    const Split parts = tenon::data::split_by_parts(tenon::tensor({0, 2, 1, 0, 2}));
    CHECK(joined(parts) == Indices{0, 3, 2, 1, 4});
    CHECK(sizes(parts) == Indices{2, 1, 2});
  }

  TEST_CASE("splits refuse what they cannot divide") {
    using tenon::data::split;
    CHECK(refusal_of("split", [] { split(10, 0, 1); }) ==
          "test must be a fraction from 0 to less than 1, got 1.000000");
    CHECK(refusal_of("split", [] { split(10, -0.5, 0); }) ==
          "validation must be a fraction from 0 to less than 1, got -0.500000");
    CHECK(refusal_of("split", [] { split(0); }) ==
          "found no samples to split, expected at least one");
    CHECK(refusal_of("split", [] { split(2, 0.5, 0.5); }) ==
          "validation 1 and test 1 of 2 samples leave none for training");
    CHECK(refusal_of("stratified_split", [] {
            tenon::data::stratified_split(tenon::ones({2, 2}));
          }) == "labels must have one dimension, [samples], got 2");
    CHECK(refusal_of("stratified_split", [] {
            tenon::data::stratified_split(tenon::tensor({0.0, std::nan("")}));
          }) == "label 1 is nan");
    CHECK(refusal_of("split_by_parts", [] {
            tenon::data::split_by_parts(tenon::tensor({0, 3}));
          }) == "parts[1] is 3.000000; 0 (train), 1 (validation) and 2 (test) are parts");
  }

  TEST_CASE("fit_normalize finds what makes mean 0 and deviation 1") {
    const Tensor input = numbers({40, 5}) * 3 + 7;
    const auto [mean, deviation] = tenon::data::fit_normalize(input);
    CHECK(mean.sizes() == std::vector<int64_t>{1, 5});
    const Tensor normal = tenon::data::normalize(input, mean, deviation);
    check_close(normal.mean(Indices{0}), tenon::zeros({5}), 1e-5);
    check_close((normal * normal).mean(Indices{0}), tenon::ones({5}), 1e-5);
    check_close(tenon::data::denormalize(normal, mean, deviation), input, 1e-6);
    // Means and deviations of images, for each channel.
    const Tensor images = numbers({6, 3, 4, 4}, tenon::f64);
    const auto [means, deviations] = tenon::data::fit_normalize(images, {0, 2, -1});
    CHECK(means.sizes() == std::vector<int64_t>{1, 3, 1, 1});
    CHECK(means.dtype() == tenon::f64);
    check_close(means.reshape({3}), images.mean({0, 2, 3}), 1e-12);
    const Tensor distance = images - means;
    check_close(deviations.reshape({3}), (distance * distance).mean({0, 2, 3}).sqrt(), 1e-12);
    // Equal numbers stay finite, integers are numbers, NaN is left out.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto [a, b] =
        tenon::data::fit_normalize(tenon::tensor({{5.0, 1.0}, {5.0, nan}, {5.0, 3.0}}));
    check_values(a, {1, 2}, {5, 2});
    check_values(b, {1, 2}, {1, 1});
    check_values(tenon::data::normalize(tenon::tensor({{6.0, nan}}), a, b, true), {1, 2}, {1, 0});
    check_values(std::get<0>(tenon::data::fit_normalize(tenon::tensor({1, 2, 6}))), {1}, {3});
    CHECK(refusal_of("fit_normalize", [&] {
            tenon::data::fit_normalize(tenon::tensor({{1.0, nan}}));
          }) == "mean 1 has no numbers to be taken of, expected at least one");
    CHECK(refusal_of("fit_normalize", [&] { tenon::data::fit_normalize(tenon::tensor(1.0)); }) ==
          "input must have a dimension of samples");
  }

  TEST_CASE("labels that are large integers each are a class") {
    static const tenon::Op balanced("data.sample_balanced");
    const int64_t large = int64_t{1} << 53;
    const Indices labels = {large, large + 1, large, large, large, large};
    const std::vector<int64_t> order =
        balanced.call<Tensor>(tenon::from_range(labels.begin(), labels.end())).to_vector<int64_t>();
    CHECK(std::count(order.begin(), order.end(), 1) == 3);
  }

  TEST_CASE("samplers give each seed its order, and weights count classes") {
    static const tenon::Op shuffled("data.sample_shuffled"), weights("data.balanced_weights");
    const Tensor labels = tenon::zeros({50});
    const auto order = [&](int64_t seed) {
      return shuffled.call<Tensor>(labels, tenon::arg("seed") = seed).to_vector<int64_t>();
    };
    CHECK(is_permutation(order(1), 50));
    CHECK(order(1) == order(1));
    CHECK(order(1) != order(2));
    const Indices classes = {0, 2, 2, 2};
    const Tensor given = tenon::from_range(classes.begin(), classes.end());
    CHECK(contains(refusal_of("weights", [&] { weights.call<Tensor>(given); }),
                   "no label is of class 1"));
    const Indices both = {0, 1, 1, 1};
    const Tensor balanced = weights.call<Tensor>(tenon::from_range(both.begin(), both.end()));
    CHECK(balanced.dtype() == tenon::f64);
    CHECK(balanced.to_vector<double>() == std::vector<double>{2.0, 4.0 / 6});
    CHECK(contains(
        refusal_of("weights",
                   [&] { weights.call<Tensor>(given, tenon::arg("classes") = int64_t{2}); }),
        "label 1 is 2, expected a class from 0 to 1"));
  }

  TEST_CASE("weights of more classes than labels are refused without a count of each") {
    static const tenon::Op weights("data.balanced_weights");
    const Indices two = {0, 2'000'000'000};
    const Tensor labels = tenon::from_range(two.begin(), two.end());
    CHECK(contains(refusal_of("weights", [&] { weights.call<Tensor>(labels); }),
                   "no label is of class 1"));
    const auto refusal = [&](int64_t classes) {
      return refusal_of("weights", [&] {
        weights.call<Tensor>(tenon::zeros({3}), tenon::arg("classes") = classes);
      });
    };
    CHECK(contains(refusal(int64_t{1} << 60), "no label is of class 1"));
    CHECK(contains(refusal(2), "no label is of class 1"));
  }
}
