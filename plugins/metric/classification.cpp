// Metrics of classes: accuracy, top-k, confusion matrix, precision, recall, F1.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using tenon::Tensor;

// Scores of samples and their classes, checked: [samples, classes], or [samples, classes, ...] with
// a class at each of the places that follow.
struct Scores {
  Scores(const char* op, const Tensor& output, const Tensor& target) {
    const std::string start = std::string(op) + "(): ";
    if (output.dim() < 2 || output.size(1) < 2)
      throw tenon::ValueError(
          start + "'output' must have shape [samples, classes, ...], with 2 classes or more");
    std::vector<int64_t> places = output.sizes();
    places.erase(places.begin() + 1);
    if (target.sizes() != places || tenon::is_floating(target.dtype())) {
      int64_t each = 1;
      for (const int64_t size : places) each *= size;
      throw tenon::ValueError(start + "'target' must have the class of each of the " +
                              std::to_string(each) + " samples, as integers");
    }
    classes = output.size(1);
    values = classes_last(output);
    truth = target.to_vector<int64_t>();
    count = static_cast<int64_t>(truth.size());
    for (const int64_t label : truth) {
      if (label < 0 || label >= classes)
        throw tenon::IndexError(start + "the class " + std::to_string(label) +
                                " is not from 0 to " + std::to_string(classes - 1));
    }
  }
  const double* row(int64_t i) const { return values.data() + i * classes; }
  // The first of the highest scores.
  int64_t guess(int64_t i) const { return std::max_element(row(i), row(i) + classes) - row(i); }

  int64_t count, classes;
  std::vector<double> values;
  std::vector<int64_t> truth;

 private:
  static std::vector<double> classes_last(const Tensor& output) {
    std::vector<double> given = output.to_vector<double>();
    if (output.dim() == 2) return given;
    const int64_t samples = output.size(0), classes = output.size(1);
    const auto inner = samples == 0 ? 0 : static_cast<int64_t>(given.size()) / (samples * classes);
    std::vector<double> turned(given.size());
    for (int64_t i = 0; i < static_cast<int64_t>(given.size()); ++i) {
      const int64_t sample = i / (classes * inner), label = i / inner % classes, at = i % inner;
      turned[static_cast<size_t>((sample * inner + at) * classes + label)] =
          given[static_cast<size_t>(i)];
    }
    return turned;
  }
};

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

constexpr auto scored_samples =
    R"([{"output": {"shape": [4, 3], "requires_grad": false},
         "target": {"values": [0, 2, 1, 1], "dtype": "i64", "requires_grad": false}}])";

struct Accuracy {
  static constexpr auto schema = "metric.accuracy(Tensor output, Tensor target) -> float";
  static constexpr auto samples = scored_samples;
  static constexpr auto doc = "Part of the samples whose highest score is that of their class.";
  static double forward(const Tensor& output, const Tensor& target) {
    const Scores scores("accuracy", output, target);
    int64_t correct = 0;
    for (int64_t i = 0; i < scores.count; ++i)
      correct += scores.guess(i) == scores.truth[static_cast<size_t>(i)] ? 1 : 0;
    return ratio(static_cast<double>(correct), static_cast<double>(scores.count));
  }
};

struct TopK {
  static constexpr auto schema = "metric.top_k(Tensor output, Tensor target, *, int k=5) -> float";
  static constexpr auto samples =
      R"([{"output": {"shape": [4, 3], "requires_grad": false}, "k": 2,
           "target": {"values": [0, 2, 1, 1], "dtype": "i64", "requires_grad": false}}])";
  static constexpr auto doc = "Part of the samples whose class is among the k highest scores.";
  static double forward(const Tensor& output, const Tensor& target, int64_t k) {
    const Scores scores("top_k", output, target);
    if (k < 1) throw tenon::ValueError("top_k(): k must be at least 1, got " + std::to_string(k));
    int64_t correct = 0;
    for (int64_t i = 0; i < scores.count; ++i) {
      const double* row = scores.row(i);
      const int64_t label = scores.truth[static_cast<size_t>(i)];
      int64_t before = 0;  // equal scores rank by class
      for (int64_t c = 0; c < scores.classes; ++c)
        before += row[c] > row[label] || (row[c] == row[label] && c < label) ? 1 : 0;
      correct += before < k ? 1 : 0;
    }
    return ratio(static_cast<double>(correct), static_cast<double>(scores.count));
  }
};

// [class][guess]
std::vector<int64_t> confusion(const Scores& scores) {
  std::vector<int64_t> matrix(static_cast<size_t>(scores.classes * scores.classes));
  for (int64_t i = 0; i < scores.count; ++i) {
    const int64_t label = scores.truth[static_cast<size_t>(i)];
    ++matrix[static_cast<size_t>(label * scores.classes + scores.guess(i))];
  }
  return matrix;
}

struct ConfusionMatrix {
  static constexpr auto schema = "metric.confusion_matrix(Tensor output, Tensor target) -> Tensor";
  static constexpr auto samples = scored_samples;
  static constexpr auto doc =
      "How many samples of each class (row) have their highest score at each class (column).";
  static Tensor forward(const Tensor& output, const Tensor& target) {
    const Scores scores("confusion_matrix", output, target);
    const std::vector<int64_t> matrix = confusion(scores);
    return tenon::from_range(matrix.begin(), matrix.end())
        .reshape({scores.classes, scores.classes});
  }
};

// The counts behind precision, recall and F1, for one class or for all together.
struct Counts {
  double hits = 0, guessed = 0, actual = 0;
  double precision() const { return ratio(hits, guessed); }
  double recall() const { return ratio(hits, actual); }
  double f1() const { return ratio(2 * hits, guessed + actual); }
};

std::vector<Counts> counts_of(const Scores& scores) {
  const std::vector<int64_t> matrix = confusion(scores);
  std::vector<Counts> counts(static_cast<size_t>(scores.classes));
  for (size_t label = 0; label < counts.size(); ++label) {
    for (size_t guess = 0; guess < counts.size(); ++guess) {
      const auto n = static_cast<double>(matrix[label * counts.size() + guess]);
      counts[label].actual += n;
      counts[guess].guessed += n;
      if (label == guess) counts[label].hits += n;
    }
  }
  return counts;
}

// scikit-learn's averages over the classes; "macro" leaves out no class.
template <class Measure>
double averaged(const char* op, const Tensor& output, const Tensor& target,
                std::string_view average, Measure measure) {
  const Scores scores(op, output, target);
  const std::vector<Counts> counts = counts_of(scores);
  Counts all;
  double plain = 0, weighted = 0;
  for (const Counts& one : counts) {
    all.hits += one.hits;
    all.guessed += one.guessed;
    all.actual += one.actual;
    plain += measure(one);
    weighted += measure(one) * one.actual;
  }
  if (average == "macro") return plain / static_cast<double>(counts.size());
  if (average == "weighted") return ratio(weighted, all.actual);
  if (average == "micro") return measure(all);
  throw tenon::ValueError(std::string(op) + "(): average must be 'macro', 'micro' or 'weighted', " +
                          "got '" + std::string(average) + "'");
}

struct Precision {
  static constexpr auto schema =
      "metric.precision(Tensor output, Tensor target, *, str average='macro') -> float";
  static constexpr auto samples = scored_samples;
  static constexpr auto doc =
      "Part of the samples guessed to be of a class that are; averaged over the classes.";
  static double forward(const Tensor& output, const Tensor& target, std::string_view average) {
    return averaged("precision", output, target, average,
                    [](const Counts& counts) { return counts.precision(); });
  }
};

struct Recall {
  static constexpr auto schema =
      "metric.recall(Tensor output, Tensor target, *, str average='macro') -> float";
  static constexpr auto samples = scored_samples;
  static constexpr auto doc =
      "Part of the samples of a class that are guessed to be; averaged over the classes.";
  static double forward(const Tensor& output, const Tensor& target, std::string_view average) {
    return averaged("recall", output, target, average,
                    [](const Counts& counts) { return counts.recall(); });
  }
};

struct F1 {
  static constexpr auto schema =
      "metric.f1(Tensor output, Tensor target, *, str average='macro') -> float";
  static constexpr auto samples = scored_samples;
  static constexpr auto doc =
      "Harmonic mean of precision and recall of a class; averaged over the classes.";
  static double forward(const Tensor& output, const Tensor& target, std::string_view average) {
    return averaged("f1", output, target, average,
                    [](const Counts& counts) { return counts.f1(); });
  }
};

}  // namespace
TENON_OPS(Accuracy, TopK, ConfusionMatrix, Precision, Recall, F1)
