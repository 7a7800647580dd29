// One step of an optimizer, and counts of n-grams.
#include <cmath>
#include <map>

#include "common.hpp"

namespace {

using namespace onnx;

[[noreturn]] void refuse(const char* op, const std::string& text) {
  throw tenon::ValueError(std::string("onnx.") + op + "(): " + text);
}

// The tensors of the operators of ai.onnx.preview.training: those of each kind in a row, as many as the first.
class Kinds {
 public:
  Kinds(const char* op, TensorList tensors, int64_t kinds)
      : tensors_(tensors), count_(tensors.size() / kinds) {
    if (tensors.size() % kinds != 0)
      refuse(op, std::to_string(tensors.size()) + " tensors are not " + std::to_string(kinds) +
                     " for each that is trained");
  }
  int64_t count() const { return count_; }
  const Tensor& of(int64_t kind, int64_t i) const { return tensors_[kind * count_ + i]; }

 private:
  TensorList tensors_;
  int64_t count_;
};

Tensor scalar_of(const Tensor& tensor) { return tensor.reshape(IntList()); }

// The results in the order of the operators: all first ones, then all second ones.
std::vector<Tensor> in_rows(const std::vector<std::vector<Tensor>>& each) {
  std::vector<Tensor> all;
  for (size_t kind = 0; !each.empty() && kind < each[0].size(); ++kind) {
    for (const std::vector<Tensor>& one : each) all.push_back(one[kind]);
  }
  return all;
}

struct Adagrad {
  static constexpr auto schema =
      "onnx.adagrad(Tensor R, Tensor T, Tensor[] inputs, *, float decay_factor=0, float "
      "epsilon=1e-6, float norm_coefficient=0) -> Tensor[]";
  static constexpr auto samples =
      R"([{"R": {"values": [0.1]}, "T": {"values": [3], "dtype": "i64"}, "decay_factor": 0.5, "norm_coefficient": 0.01,
           "inputs": [{"shape": [2]}, {"shape": [2]}, {"shape": [2], "low": 1, "high": 2}]}])";
  static constexpr auto doc =
      "A step of Adagrad with learning rate R and update count T over inputs: all tensors, their "
      "gradients, their squared gradients; the new tensors and squared gradients.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(const Tensor& r, const Tensor& t, TensorList inputs,
                                     double decay_factor, double epsilon, double norm_coefficient) {
    const Kinds kinds("adagrad", inputs, 3);
    const Tensor rate = scalar_of(r) / (scalar_of(t).to(r.dtype()) * decay_factor + 1);
    std::vector<std::vector<Tensor>> results;
    for (int64_t i = 0; i < kinds.count(); ++i) {
      const Tensor &x = kinds.of(0, i), gradient = x * norm_coefficient + kinds.of(1, i);
      const Tensor squares = kinds.of(2, i) + gradient * gradient;
      results.push_back({x - rate * gradient / (squares.sqrt() + epsilon), squares});
    }
    return in_rows(results);
  }
};

struct Momentum {
  static constexpr auto schema =
      "onnx.momentum(Tensor R, Tensor T, Tensor[] inputs, *, float alpha, float beta, str mode, "
      "float "
      "norm_coefficient) -> Tensor[]";
  static constexpr auto samples =
      R"([{"R": {"values": [0.1]}, "T": {"values": [0], "dtype": "i64"}, "alpha": 0.9, "beta": 0.5, "mode": "standard",
           "norm_coefficient": 0.01, "inputs": [{"shape": [2]}, {"shape": [2]}, {"shape": [2]}]},
          {"R": {"values": [0.1]}, "T": {"values": [4], "dtype": "i64"}, "alpha": 0.9, "beta": 0.5, "mode": "nesterov",
           "norm_coefficient": 0.01, "inputs": [{"shape": [2]}, {"shape": [2]}, {"shape": [2]}]}])";
  static constexpr auto doc =
      "A step of gradient descent with momentum, learning rate R and update count T over inputs: "
      "all "
      "tensors, their gradients, their momenta; the new tensors and momenta. mode: 'standard' or "
      "'nesterov'.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(const Tensor& r, const Tensor& t, TensorList inputs,
                                     double alpha, double beta, std::string_view mode,
                                     double norm_coefficient) {
    const bool nesterov = mode == "nesterov";
    if (!nesterov && mode != "standard")
      refuse("momentum", "mode must be 'standard' or 'nesterov', got '" + std::string(mode) + "'");
    const Kinds kinds("momentum", inputs, 3);
    const Tensor rate = scalar_of(r);
    const Tensor factor =
        tenon::where(tenon::gt(scalar_of(t), 0), number_like(r, beta), number_like(r, 1));
    std::vector<std::vector<Tensor>> results;
    for (int64_t i = 0; i < kinds.count(); ++i) {
      const Tensor &x = kinds.of(0, i), gradient = x * norm_coefficient + kinds.of(1, i);
      const Tensor velocity = kinds.of(2, i) * alpha + factor * gradient;
      const Tensor step = nesterov ? gradient + velocity * alpha : velocity;
      results.push_back({x - rate * step, velocity});
    }
    return in_rows(results);
  }
};

struct Adam {
  static constexpr auto schema =
      "onnx.adam(Tensor R, Tensor T, Tensor[] inputs, *, float alpha=0.9, float beta=0.999, float "
      "epsilon=1e-6, float norm_coefficient=0, float norm_coefficient_post=0) -> Tensor[]";
  static constexpr auto samples =
      R"([{"R": {"values": [0.1]}, "T": {"values": [2], "dtype": "i64"}, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1,
           "inputs": [{"shape": [2]}, {"shape": [2]}, {"shape": [2]}, {"shape": [2], "low": 1, "high": 2}]}])";
  static constexpr auto doc =
      "A step of Adam with learning rate R and update count T over inputs: all tensors, their "
      "gradients, the averages of gradients and of their squares; the new tensors and averages.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(const Tensor& r, const Tensor& t, TensorList inputs,
                                     double alpha, double beta, double epsilon,
                                     double norm_coefficient, double norm_coefficient_post) {
    const Kinds kinds("adam", inputs, 4);
    const Tensor count = scalar_of(t).to(r.dtype());
    const auto missing = [&](double part) { return 1 - tenon::pow(number_like(r, part), count); };
    // The first update has no averages to correct.
    const Tensor begun = tenon::gt(count, 0);
    const Tensor correction = tenon::where(begun, missing(beta).sqrt() / missing(alpha), 1);
    const Tensor rate = scalar_of(r) * correction;
    std::vector<std::vector<Tensor>> results;
    for (int64_t i = 0; i < kinds.count(); ++i) {
      const Tensor &x = kinds.of(0, i), gradient = x * norm_coefficient + kinds.of(1, i);
      const Tensor average = kinds.of(2, i) * alpha + gradient * (1 - alpha);
      const Tensor squares = kinds.of(3, i) * beta + gradient * gradient * (1 - beta);
      const Tensor moved = x - rate * average / (squares.sqrt() + epsilon);
      results.push_back({moved * (1 - norm_coefficient_post), average, squares});
    }
    return in_rows(results);
  }
};

// The n-grams of a pool, by their numbers.
struct Pool {
  std::map<std::vector<int64_t>, size_t> grams;
  size_t columns = 0;
};
Pool pool_of(IntList numbers, IntList starts, IntList columns) {
  constexpr auto op = "tfidf_vectorizer";
  Pool pool;
  size_t count = 0;
  for (int64_t n = 0; n < starts.size(); ++n) {
    const int64_t end = n + 1 < starts.size() ? starts[n + 1] : numbers.size();
    if (starts[n] < 0 || starts[n] > end || end > numbers.size() ||
        (end - starts[n]) % (n + 1) != 0)
      refuse(op, "ngram_counts[" + std::to_string(n) + "] is " + std::to_string(starts[n]) +
                     ", which does not begin whole n-grams of a pool of " +
                     std::to_string(numbers.size()) + " numbers");
    for (int64_t at = starts[n]; at < end; at += n + 1)
      pool.grams.emplace(std::vector<int64_t>(numbers.begin() + at, numbers.begin() + at + n + 1),
                         count++);
  }
  if (static_cast<size_t>(columns.size()) < count)
    refuse(op, "the pool has " + std::to_string(count) + " n-grams, ngram_indexes only " +
                   std::to_string(columns.size()));
  for (const int64_t column : columns) {
    if (column < 0) refuse(op, "ngram_indexes has the negative number " + std::to_string(column));
    pool.columns = std::max(pool.columns, static_cast<size_t>(column) + 1);
  }
  return pool;
}

struct TfIdfVectorizer {
  static constexpr auto schema =
      "onnx.tfidf_vectorizer(Tensor X, *, int max_gram_length, int max_skip_count, int "
      "min_gram_length, str mode, int[] ngram_counts, int[] ngram_indexes, int[] pool_int64s, "
      "float[]? "
      "weights=None) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"values": [[1, 2, 1, 2], [3, 3, 1, 1]], "dtype": "i64"}, "max_gram_length": 2, "max_skip_count": 1,
           "min_gram_length": 1, "mode": "TFIDF", "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 3, 2],
           "pool_int64s": [1, 3, 1, 2, 3, 1], "weights": [0.5, 2, 3, 1]}])";
  static constexpr auto doc =
      "How often each n-gram of a pool is in a row of integers X, in f32; up to max_skip_count "
      "tokens "
      "between two of an n-gram may be left out. mode: 'TF' counts, 'IDF' has the weight of each "
      "that "
      "is there, 'TFIDF' counts times weight. ngram_counts is where the n-grams of each length "
      "begin in "
      "pool_int64s, ngram_indexes the column of each.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x, int64_t max_length, int64_t max_skips, int64_t min_length,
                        std::string_view mode, IntList starts, IntList columns, IntList numbers,
                        std::optional<FloatList> weights) {
    constexpr auto op = "tfidf_vectorizer";
    if (x.dim() < 1 || x.dim() > 2) refuse(op, "'X' has 1 or 2 dimensions");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
      refuse(op, "mode must be 'TF', 'IDF' or 'TFIDF', got '" + std::string(mode) + "'");
    if (min_length < 1 || max_length < min_length || max_skips < 0)
      refuse(op, "lengths of n-grams must be 1 or more in order, and max_skip_count not negative");
    const Pool pool = pool_of(numbers, starts, columns);
    if (weights && weights->size() != columns.size())
      refuse(op, "weights must have one number for each of ngram_indexes");
    const int64_t rows = x.dim() == 2 ? x.shape()[0] : 1, size = x.shape()[x.dim() - 1];
    const Tensor tokens = tenon::contiguous_as(x, tenon::i64);
    std::vector<int64_t> shape{static_cast<int64_t>(pool.columns)};
    if (x.dim() == 2) shape.insert(shape.begin(), rows);
    const Tensor result = tenon::empty_tensor(list_of(shape), tenon::f32);
    tenon::fill_elements(result, 0);
    std::vector<int64_t> gram;
    for (int64_t row = 0; row < rows && size > 0; ++row) {
      const int64_t* of_row = tokens.data<const int64_t>() + row * size;
      float* counts = result.data<float>() + row * static_cast<int64_t>(pool.columns);
      const auto count = [&](int64_t start, int64_t distance, int64_t length) {
        gram.clear();
        for (int64_t i = 0; i < length; ++i) gram.push_back(of_row[start + i * distance]);
        const auto found = pool.grams.find(gram);
        if (found == pool.grams.end()) return;
        const auto number = static_cast<int64_t>(found->second);
        const double weight = weights && mode != "TF" ? (*weights)[number] : 1;
        float& place = counts[columns[number]];
        place = static_cast<float>(mode == "IDF" ? weight : static_cast<double>(place) + weight);
      };
      const int64_t longest = std::min(max_length, starts.size());
      for (int64_t length = min_length; length <= longest; ++length) {
        // A single token is the same with any distance.
        const int64_t distances = length == 1 ? 1
                                              : std::min((size - 1) / (length - 1),
                                                         max_skips < size ? max_skips + 1 : size);
        for (int64_t distance = 1; distance <= distances; ++distance) {
          for (int64_t start = 0; start + (length - 1) * distance < size; ++start)
            count(start, distance, length);
        }
      }
    }
    return result;
  }
};

}  // namespace
TENON_OPS(Adagrad, Momentum, Adam, TfIdfVectorizer)
