// Clipping of gradients, in place.
#include <algorithm>
#include <cmath>
#include <vector>

#include "step.hpp"

namespace {

using namespace optim;

template <class Body>
void each_dense(tenon::TensorList gradients, Body&& body) {
  for (const Tensor& gradient : gradients) {
    kernel::visit<tenon::floating_dtypes>(gradient.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const Tensor changed = dense(gradient);
      body(changed.template data<T>(), changed.numel());
      write_back(gradient, changed);
    });
  }
}

// The norm of the elements of all gradients together. In one order for any number of threads.
double total_norm(tenon::TensorList gradients, double p) {
  double sum = 0, largest = 0;
  each_dense(gradients, [&](const auto* data, int64_t count) {
    double part = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double size = std::fabs(static_cast<double>(data[i]));
      if (std::isinf(p))
        largest = size > largest || std::isnan(size) ? size : largest;
      else
        part += p == 2 ? size * size : std::pow(size, p);
    }
    sum += part;
  });
  return std::isinf(p) ? largest : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

void check_gradients(const char* op, tenon::TensorList gradients) {
  for (const Tensor& gradient : gradients) kernel::check_floating(op, "gradients", gradient);
}

struct ClipNorm {
  static constexpr auto schema =
      "optim.clip_norm_(Tensor(a!)[] gradients, *, float maximum, float p=2) -> float";
  static constexpr auto samples =
      R"([{"gradients": [{"shape": [2, 3], "requires_grad": false},
                         {"shape": [4], "requires_grad": false}], "maximum": 0.5}])";
  static constexpr auto doc =
      "Scales the gradients together, so that the p-norm of all their elements is at most maximum; "
      "returns the norm before.";

  static double forward(tenon::TensorList gradients, double maximum, double p) {
    check_gradients("clip_norm_", gradients);
    check_setting("clip_norm_", "maximum", maximum, maximum >= 0, "zero or more");
    check_setting("clip_norm_", "p", p, p > 0, "above 0");
    const double norm = total_norm(gradients, p);
    const double scale = maximum / (norm + 1e-6);
    if (scale < 1) {
      each_dense(gradients, [&](auto* data, int64_t count) {
        using T = std::remove_pointer_t<decltype(data)>;
        for (int64_t i = 0; i < count; ++i) data[i] *= static_cast<T>(scale);
      });
    }
    return norm;
  }
};

struct ClipValue {
  static constexpr auto schema =
      "optim.clip_value_(Tensor(a!)[] gradients, *, float maximum) -> ()";
  static constexpr auto samples = ClipNorm::samples;
  static constexpr auto doc = "Limits each element of the gradients to -maximum .. maximum.";

  static void forward(tenon::TensorList gradients, double maximum) {
    check_gradients("clip_value_", gradients);
    check_setting("clip_value_", "maximum", maximum, maximum >= 0, "zero or more");
    each_dense(gradients, [&](auto* data, int64_t count) {
      using T = std::remove_pointer_t<decltype(data)>;
      const T most = static_cast<T>(maximum);
      for (int64_t i = 0; i < count; ++i)
        data[i] = data[i] > most ? most : data[i] < -most ? -most : data[i];
    });
  }
};

}  // namespace
TENON_OPS(ClipNorm, ClipValue)
