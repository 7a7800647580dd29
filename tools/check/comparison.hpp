// Comparison of two providers of an op by the same calls: distances in ULP, the worst case, and
// what is beyond the bound.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/tensor.hpp>

namespace cli {

// The expected result in f64, and how far it moves when inputs are rounded.
struct ReferenceNumbers {
  std::vector<double> numbers;  // empty: not known
  std::vector<double> spread;   // the largest change for one relative change of each input
};

// The bound for one number: 8 sqrt(n) u (|r| + s), where u is half the distance of 1 to the next
// number, r the number in f64, s its spread, and n the length of the sum that it is.
struct Bound {
  double terms = 1;
  double unit = 0;
  double of(double reference, double spread) const;
};
double unit_of(tenon::DType dtype);      // half the distance of 1 to the next number
double smallest_of(tenon::DType dtype);  // the smallest number with all digits

class Comparison {
 public:
  Comparison(std::string provider, std::string plugin)
      : provider_(std::move(provider)), plugin_(std::move(plugin)) {}

  // ---- calls ----
  void add_call() { ++calls_; }
  void add_compared() { ++compared_; }
  void add_refused() { ++refused_; }
  int64_t compared() const { return compared_; }
  void add_declined(const std::string& op, const std::string& provider, const std::string& reason,
                    bool backward);

  // Compares two tensors of numbers, complex ones too, `what` by name: "has 3, from nn 4, ..." where
  // they differ by more than the bound, or are of another shape or dtype; empty: they agree. `call`
  // describes the call for the worst case.
  std::string compare(const std::string& what, bool gradient, const tenon::Tensor& found,
                      const tenon::Tensor& other, const ReferenceNumbers& reference, double terms,
                      const tenon::Json& call);

  tenon::Json json() const;

 private:
  struct Number {
    double found, other, reference, bound, share;
    int64_t ulp;
    size_t element;
  };
  void note_worst(const std::string& what, const Number& number, const tenon::Json& call);
  std::string text_of(const Number& number, double terms) const;

  const std::string provider_, plugin_;
  int64_t calls_ = 0, compared_ = 0, refused_ = 0;
  // (backward, op, provider, reason) and how often.
  std::map<std::pair<bool, std::vector<std::string>>, int64_t> declined_;
  // (dtype, gradient) to numbers by the largest distance of their class: 0, 1, 2, 4, 8...
  std::map<std::pair<std::string, bool>, std::map<int64_t, int64_t>> histograms_;
  double worst_share_ = 0;
  tenon::Json worst_;
};

// The comparison of an op, as a child process sent it, for people.
std::string comparison_text(const std::string& op, const tenon::Json& comparison);

}  // namespace cli
