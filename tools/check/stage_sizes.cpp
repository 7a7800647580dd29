// Stage "sizes": what holds for a few copies of the inputs, side by side, holds for thousands.
//
// There is no second implementation to compare with, so the op is compared with its own results for
// small inputs: where f of two and three copies is the copies of f, or grows evenly with their
// number, as a sum does, it must for any number: vector loops, their tails, chunks of threads.
#include <algorithm>
#include <array>
#include <cmath>

#include <tenon/parallel.hpp>

#include "format.hpp"
#include "op_check.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

enum class Law { none, copies, even };

// Which operands are copied, along which dimension.
struct Along {
  // The dimension that a product sums over, as in mm and as in linear; or none of these.
  enum class Inner { none, crossed, both_last };
  bool all, last;
  Inner inner = Inner::none;
};

constexpr std::array<int64_t, 3> kCounts = {11, 23, 173};
constexpr int64_t kMany = 40000;  // elements: several chunks of any parallel_for
constexpr int32_t kThreads = 4;

// Calls with copies of tensors along a dimension.
class Copies {
 public:
  Copies(OpCheck& check, const Sample& sample, const Along& along, bool single)
      : check_(check),
        sample_(sample),
        call_(check.call_of(sample)),
        tensors_(single ? in_single(call_.tensors) : call_.tensors),
        along_(along),
        tolerance_(single ? kSingle : kExact) {}

  bool applies() const {
    if (tensors_.empty() || (!along_.all && tensors_.size() == 1)) return false;
    if (is_inner() && tensors_.size() < 2) return false;
    for (size_t t = 0; t < tensors_.size(); ++t) {
      if (is_copied(t) && (!tensors_[t].defined() || tensors_[t].dim() == 0)) return false;
      if (is_inner() && t < 2 && tensors_[t].dim() < 2) return false;
      if (is_copied(t) && along_.last && tensors_[t].dim() == 1) return false;  // as the first
    }
    return true;
  }
  int64_t elements() const { return tensors_[0].numel(); }

  std::optional<std::vector<Tensor>> run(int64_t count) {
    std::vector<Tensor> given = copied(tensors_);
    for (size_t t = 0; t < given.size(); ++t) {
      if (is_copied(t) && count != 1)
        given[t] = tiled(given[t], is_inner() ? place(t) : place(given[t]), count);
    }
    const auto pieces = check_.attempt(sample_, call_, given);
    if (!pieces) return std::nullopt;
    return readable(tensors_of(*pieces));
  }

  // The expected results for `count` copies, from those for one and two.
  std::string breach(Law law, int64_t count, const std::vector<Tensor>& one,
                     const std::vector<Tensor>& two, const std::vector<Tensor>& many) const {
    if (one.size() != many.size()) return "";  // a list whose length is another question
    for (size_t r = 0; r < one.size(); ++r) {
      if (!one[r].defined() || !many[r].defined()) {
        if (one[r].defined() != many[r].defined()) return " is missing in one of them";
        continue;
      }
      std::string found;
      if (law == Law::copies) {
        if (one[r].dim() == 0) return " has no dimensions";
        found = difference(tiled(one[r], place(one[r]), count), many[r], tolerance_);
      } else {
        found = uneven(count, one[r], two[r], many[r]);
      }
      if (!found.empty()) return found;
    }
    return "";
  }

  Law law(const std::vector<Tensor>& one, const std::vector<Tensor>& two,
          const std::vector<Tensor>& three) const {
    for (const Law candidate : {Law::copies, Law::even}) {
      if (breach(candidate, 2, one, two, two).empty() &&
          breach(candidate, 3, one, two, three).empty())
        return candidate;
    }
    return Law::none;
  }

 private:
  bool is_inner() const { return along_.inner != Along::Inner::none; }
  bool is_copied(size_t t) const { return is_inner() ? t < 2 : along_.all || t == 0; }
  int64_t place(const Tensor& tensor) const { return along_.last ? tensor.dim() - 1 : 0; }
  int64_t place(size_t t) const {
    return tensors_[t].dim() - 1 - (t == 1 && along_.inner == Along::Inner::crossed ? 1 : 0);
  }
  std::string uneven(int64_t count, const Tensor& one, const Tensor& two,
                     const Tensor& many) const {
    if (one.sizes() != many.sizes() || one.sizes() != two.sizes())
      return format_text(" is {} in one and {} in the other", shape_dtype_text(one),
                         shape_dtype_text(many));
    const auto x = numbers_of(one), y = numbers_of(two), z = numbers_of(many);
    // Rounding goes by the terms of a sum, not by what is left of them: others show how large they are.
    const double usual = mean_magnitude(x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = x[i] + static_cast<double>(count - 1) * (y[i] - x[i]);
      const double scale =
          std::abs(x[i]) + std::abs(expected) +
          static_cast<double>(count) * (std::max(usual, std::abs(x[i])) + std::abs(y[i]));
      if (std::abs(z[i] - expected) > tolerance_.absolute + 10 * tolerance_.relative * scale)
        return format_text(" has {} in one and {} in the other at element {}",
                           short_number(expected), short_number(z[i]), i);
    }
    return "";
  }

  static double mean_magnitude(const std::vector<double>& numbers) {
    double sum = 0;
    for (const double number : numbers) sum += std::abs(number);
    return std::isfinite(sum) && !numbers.empty() ? sum / static_cast<double>(numbers.size()) : 0;
  }

  OpCheck& check_;
  const Sample& sample_;
  SampleCall call_;
  std::vector<Tensor> tensors_;
  Along along_;
  Tolerance tolerance_;
};

int64_t elements_of(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.defined() ? tensor.numel() : 0;
  return count;
}

// True where some law holds, so that the sizes were looked at.
bool check_copies(OpCheck& check, const Sample& sample, const Along& along, bool single,
                  bool many) {
  Copies copies(check, sample, along, single);
  if (!copies.applies()) return false;
  const auto one = copies.run(1), two = copies.run(2), three = copies.run(3);
  if (!one || !two || !three || one->empty() || one->size() != two->size()) return false;
  const Law law = copies.law(*one, *two, *three);
  if (law == Law::none) return false;
  std::vector<int64_t> counts(kCounts.begin(), kCounts.end());
  if (many) counts.push_back(kMany / std::max<int64_t>(1, copies.elements()) + 1);
  int64_t last_count = 1, last_elements = elements_of(*one);
  for (const int64_t count : counts) {
    // Results that grow faster than their inputs soon need all time there is.
    if (count > 200 && last_elements > 2 * last_count * elements_of(*one)) return true;
    const auto found = copies.run(count);
    if (!found) return true;
    last_count = count;
    last_elements = elements_of(*found);
    const std::string what = copies.breach(law, count, *one, *two, *found);
    if (what.empty()) continue;
    check.find("size",
               format_text("once as {} copies of a small call and once in one call of {} copies "
                           "along the {} dimension{}, the result{}",
                           count, count,
                           along.inner != Along::Inner::none ? "inner"
                           : along.last                      ? "last"
                                                             : "first",
                           single ? ", in f32" : "", what),
               &sample);
    return true;
  }
  return true;
}

}  // namespace

void check_sizes(OpCheck& check) {
  if (check.random) return;
  const int32_t threads = tenon::thread_count();
  tenon::set_thread_count(kThreads);
  bool many = true;  // once is enough
  size_t left = kMostSamples;
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic || left == 0) continue;
    --left;
    check.listener.trying(sample);
    for (const bool last : {false, true}) {
      for (const bool all : {true, false}) {
        if (!check_copies(check, sample, {all, last}, false, many)) continue;
        many = false;
        if (sample.precision) check_copies(check, sample, {all, last}, true, false);
        break;
      }
    }
    for (const Along::Inner inner : {Along::Inner::crossed, Along::Inner::both_last}) {
      for (const bool single : {false, true}) {
        if (!single || sample.precision)
          check_copies(check, sample, {true, true, inner}, single, false);
      }
    }
  }
  tenon::set_thread_count(threads);
}

}  // namespace cli
