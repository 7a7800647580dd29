// data.fit_normalize, data.normalize, data.denormalize: mean 0 and standard deviation 1.
#include <cmath>
#include <numeric>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/kernel/visit.hpp>
#include <tenon/ops.hpp>

namespace {

using tenon::Tensor;

// For each element of a tensor, in row-major order, the place of its statistics.
class Places {
 public:
  Places(const Tensor& input, uint32_t reduced) : shape_(input.sizes()), strides_(shape_.size()) {
    int64_t stride = 1;
    sizes_ = shape_;
    for (size_t d = shape_.size(); d-- > 0;) {
      const bool gone = (reduced >> d & 1) != 0;
      strides_[d] = gone ? 0 : stride;
      if (gone)
        sizes_[d] = 1;
      else
        stride *= shape_[d];
    }
    count_ = stride;
    index_.assign(shape_.size(), 0);
  }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t count() const { return count_; }
  size_t at() const { return static_cast<size_t>(at_); }
  void next() {
    for (size_t d = shape_.size(); d-- > 0;) {
      at_ += strides_[d];
      if (++index_[d] < shape_[d]) return;
      at_ -= strides_[d] * shape_[d];
      index_[d] = 0;
    }
  }

 private:
  std::vector<int64_t> shape_, strides_, sizes_, index_;
  int64_t at_ = 0, count_ = 1;
};

struct FitNormalize {
  static constexpr auto schema =
      "data.fit_normalize(Tensor input, *, int[] dim=[0]) -> (Tensor mean, Tensor std)";
  static constexpr auto doc =
      "Mean and standard deviation over `dim`, which is kept with size 1; NaN is left out. The "
      "deviation of equal numbers is given as 1. Fit to the training part alone.";
  static constexpr auto samples = R"([
      {"input": {"shape": [4, 3], "requires_grad": false}},
      {"input": {"shape": [3, 2, 4, 4], "requires_grad": false}, "dim": [0, 2, 3]}])";

  static std::tuple<Tensor, Tensor> forward(const Tensor& input, tenon::IntList dim) {
    const tenon::DType dtype = input.dtype() == tenon::f64 ? tenon::f64 : tenon::f32;
    const Tensor whole = tenon::contiguous_as(input, dtype);
    if (dim.empty()) throw tenon::ValueError("dim is empty, expected at least one dimension");
    if (input.dim() == 0) throw tenon::ValueError("input must have a dimension of samples");
    uint32_t reduced = 0;
    for (const int64_t d : dim) reduced |= 1u << input.wrap_dimension(d);
    Tensor mean, deviation;
    tenon::kernel::visit<tenon::floating_dtypes>(
        dtype, [&](auto zero) { std::tie(mean, deviation) = fit<decltype(zero)>(whole, reduced); });
    return {mean, deviation};
  }

 private:
  template <class T>
  static std::tuple<Tensor, Tensor> fit(const Tensor& input, uint32_t reduced) {
    const T* values = input.numel() == 0 ? nullptr : input.data<T>();
    const auto each = [&](auto&& take) {
      Places places(input, reduced);
      for (int64_t i = 0; i < input.numel(); ++i, places.next()) {
        if (!std::isnan(values[i])) take(places.at(), static_cast<double>(values[i]));
      }
    };
    const Places places(input, reduced);
    const auto size = static_cast<size_t>(places.count());
    std::vector<double> sums(size), squares(size), counts(size);
    each([&](size_t at, double value) {
      sums[at] += value;
      counts[at] += 1;
    });
    for (size_t i = 0; i < size; ++i) {
      if (counts[i] == 0)
        throw tenon::ValueError("mean " + std::to_string(i) +
                                " has no numbers to be taken of, expected at least one");
      sums[i] /= counts[i];
    }
    each([&](size_t at, double value) { squares[at] += (value - sums[at]) * (value - sums[at]); });
    const auto rank = static_cast<int64_t>(places.sizes().size());
    const tenon::IntList shape(places.sizes().data(), rank);
    const Tensor mean = tenon::empty_tensor(shape, input.dtype());
    const Tensor deviation = tenon::empty_tensor(shape, input.dtype());
    for (size_t i = 0; i < size; ++i) {
      mean.data<T>()[i] = static_cast<T>(sums[i]);
      const auto found = static_cast<T>(std::sqrt(squares[i] / counts[i]));
      deviation.data<T>()[i] = found > 0 ? found : T{1};
    }
    return {mean, deviation};
  }
};

struct Normalize {
  static constexpr auto schema =
      "data.normalize(Tensor input, Tensor mean, Tensor std, *, bool fill_missing=False) -> Tensor";
  static constexpr auto doc =
      "(input - mean) / std; with fill_missing NaN becomes 0, which is the mean.";
  static constexpr auto accuracy =
      "f32 1.7, f64 1.6; gradient f32 3, f64 2.7; gradients where the quotient is not subnormal";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([
      {"input": {"shape": [4, 3]}, "mean": {"shape": [1, 3]}, "std": {"shape": [1, 3], "low": 0.5}},
      {"input": {"shape": [4, 3]}, "mean": {"shape": [1, 3]}, "std": {"shape": [1, 3], "low": 0.5},
       "fill_missing": true}])";

  static Tensor forward(const Tensor& input, const Tensor& mean, const Tensor& deviation,
                        bool fill_missing) {
    const Tensor known = fill_missing ? tenon::where(tenon::isnan(input), mean, input) : input;
    return (known - mean) / deviation;
  }
};

struct Denormalize {
  static constexpr auto schema =
      "data.denormalize(Tensor input, Tensor mean, Tensor std) -> Tensor";
  static constexpr auto doc = "input * std + mean: what data.normalize was given.";
  static constexpr auto accuracy =
      "f32 1.1, f64 1.1; gradient f32 0, f64 0; of the sum of both terms without signs";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([
      {"input": {"shape": [4, 3]}, "mean": {"shape": [1, 3]}, "std": {"shape": [1, 3], "low": 0.5}}])";

  static Tensor forward(const Tensor& input, const Tensor& mean, const Tensor& deviation) {
    return input * deviation + mean;
  }
};

}  // namespace
TENON_OPS(FitNormalize, Normalize, Denormalize)
