// nn.init.*: ops that set a parameter's first values. In training code they run without recording
// (tenon/init.hpp does so).
#include <algorithm>
#include <limits>

#include "modules/initialize.hpp"

namespace {

using namespace nn;

[[noreturn]] void refuse(const char* op, const std::string& what) {
  throw tenon::ValueError(std::string(op) + "(): " + what);
}

struct Fans {
  double in, out;
};
// Fan-in and fan-out of a weight [out, in, kernel...].
Fans fans_of(const char* op, const Tensor& tensor) {
  if (tensor.dim() < 2)
    refuse(op, "fan in and fan out need at least 2 dimensions, but the tensor has " +
                   std::to_string(tensor.dim()));
  double receptive = 1;
  for (int64_t i = 2; i < tensor.dim(); ++i) receptive *= static_cast<double>(tensor.size(i));
  return {static_cast<double>(tensor.size(1)) * receptive,
          static_cast<double>(tensor.size(0)) * receptive};
}

double gain_of(const char* op, std::string_view nonlinearity, std::optional<double> parameter) {
  constexpr std::string_view linear[] = {"linear",           "conv1d",           "conv2d",
                                         "conv3d",           "conv_transpose1d", "conv_transpose2d",
                                         "conv_transpose3d", "sigmoid"};
  if (std::find(std::begin(linear), std::end(linear), nonlinearity) != std::end(linear)) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 0.75;
  if (nonlinearity == "leaky_relu") {
    const double slope = parameter.value_or(0.01);
    return std::sqrt(2 / (1 + slope * slope));
  }
  refuse(op, "unknown nonlinearity '" + std::string(nonlinearity) +
                 "'; known are linear, conv1d to conv3d and their transposes, sigmoid, tanh, relu, "
                 "leaky_relu, selu");
}

double kaiming_std(const char* op, const Tensor& tensor, double a, std::string_view mode,
                   std::string_view nonlinearity) {
  if (mode != "fan_in" && mode != "fan_out")
    refuse(op, "mode must be 'fan_in' or 'fan_out', got '" + std::string(mode) + "'");
  const Fans fans = fans_of(op, tensor);
  const double fan = mode == "fan_in" ? fans.in : fans.out;
  return fan == 0 ? 0 : gain_of(op, nonlinearity, a) / std::sqrt(fan);
}
double xavier_std(const char* op, const Tensor& tensor, double gain) {
  const Fans fans = fans_of(op, tensor);
  const double sum = fans.in + fans.out;
  return sum == 0 ? 0 : gain * std::sqrt(2 / sum);
}
const Tensor& fill_uniform(const Tensor& tensor, double std) {
  const double bound = std::sqrt(3.0) * std;
  return tensor.uniform_(-bound, bound), tensor;
}
const Tensor& fill_normal(const Tensor& tensor, double mean, double std) {
  return tensor.normal_(mean, std), tensor;
}

// Elements as doubles, computed and copied back.
template <class Compute>
const Tensor& set_elements(const Tensor& tensor, Compute&& compute) {
  const Tensor values = tenon::empty_tensor(tensor.shape(), tenon::f64);
  tenon::fill_elements(values, 0);
  compute(values);
  tensor.copy_(values);
  return tensor;
}

// The inverse of erf by Newton's method on an approximation (Winitzki, 2008).
double inverse_erf(double x) {
  if (x <= -1 || x >= 1) return x > 0 ? INFINITY : -INFINITY;
  const double a = 0.147, l = std::log(1 - x * x), b = 2 / (3.141592653589793 * a) + l / 2;
  double y = std::copysign(std::sqrt(std::sqrt(b * b - l / a) - b), x);
  for (int i = 0; i < 3; ++i)
    y -= (std::erf(y) - x) / (1.1283791670955126 * std::exp(-y * y));  // 2 / sqrt(pi)
  return y;
}

struct Uniform {
  static constexpr auto schema =
      "nn.init.uniform_(Tensor(a!) tensor, float a=0, float b=1) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto doc = "Draws each element from a to b.";
  static Tensor forward(const Tensor& tensor, double a, double b) { return tensor.uniform_(a, b); }
};
struct Normal {
  static constexpr auto schema =
      "nn.init.normal_(Tensor(a!) tensor, float mean=0, float std=1) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto doc = "Draws each element from a normal distribution.";
  static Tensor forward(const Tensor& tensor, double mean, double std) {
    return tensor.normal_(mean, std);
  }
};
struct TruncatedNormal {
  static constexpr auto schema =
      "nn.init.trunc_normal_(Tensor(a!) tensor, float mean=0, float std=1, float a=-2, float b=2) "
      "-> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto doc = "Draws each element from a normal distribution within a to b.";
  static Tensor forward(const Tensor& tensor, double mean, double std, double a, double b) {
    if (!(std > 0) || !(a < b)) refuse("trunc_normal_", "std must be positive and a less than b");
    const double root = std::sqrt(2.0);
    const double low = std::erf((a - mean) / std / root), high = std::erf((b - mean) / std / root);
    return set_elements(tensor, [&](const Tensor& values) {
      values.uniform_(low, high);
      auto* data = values.data<double>();
      for (int64_t i = 0; i < values.numel(); ++i)
        data[i] = std::clamp(mean + std * root * inverse_erf(data[i]), a, b);
    });
  }
};
struct Constant {
  static constexpr auto schema = "nn.init.constant_(Tensor(a!) tensor, float val) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto doc = "Sets each element to val.";
  static Tensor forward(const Tensor& tensor, double val) { return tensor.fill_(val); }
};
struct Ones {
  static constexpr auto schema = "nn.init.ones_(Tensor(a!) tensor) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto doc = "Sets each element to one.";
  static Tensor forward(const Tensor& tensor) { return tensor.fill_(1); }
};
struct Zeros {
  static constexpr auto schema = "nn.init.zeros_(Tensor(a!) tensor) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto doc = "Sets each element to zero.";
  static Tensor forward(const Tensor& tensor) { return tensor.fill_(0); }
};
struct Eye {
  static constexpr auto schema = "nn.init.eye_(Tensor(a!) tensor) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [3, 2]}}])";
  static constexpr auto doc = "Makes a matrix the identity.";
  static Tensor forward(const Tensor& tensor) {
    if (tensor.dim() != 2)
      refuse("eye_", "the tensor must have 2 dimensions, not " + std::to_string(tensor.dim()));
    return set_elements(tensor, [&](const Tensor& values) {
      const int64_t columns = values.size(1), count = std::min(values.size(0), columns);
      for (int64_t i = 0; i < count; ++i) values.data<double>()[i * columns + i] = 1;
    });
  }
};
struct Dirac {
  static constexpr auto schema = "nn.init.dirac_(Tensor(a!) tensor, int groups=1) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [2, 2, 3]}}])";
  static constexpr auto doc =
      "Makes the weight of a convolution one that keeps channels as they are.";
  static Tensor forward(const Tensor& tensor, int64_t groups) {
    if (tensor.dim() < 3 || tensor.dim() > 5) {
      refuse("dirac_",
             "the tensor must have 3, 4 or 5 dimensions, not " + std::to_string(tensor.dim()));
    }
    if (groups < 1 || tensor.size(0) % groups != 0)
      refuse("dirac_", "groups must divide the first size " + std::to_string(tensor.size(0)) +
                           ", got " + std::to_string(groups));
    return set_elements(tensor, [&](const Tensor& values) {
      if (values.numel() == 0) return;  // any number of groups divides none
      int64_t kernel = 1, middle = 0;
      for (int64_t i = 2; i < values.dim(); ++i) {
        middle = middle * values.size(i) + values.size(i) / 2;
        kernel *= values.size(i);
      }
      const int64_t out = values.size(0) / groups, in = values.size(1);
      for (int64_t g = 0; g < groups; ++g) {
        for (int64_t i = 0; i < std::min(out, in); ++i)
          values.data<double>()[((g * out + i) * in + i) * kernel + middle] = 1;
      }
    });
  }
};
struct XavierUniform {
  static constexpr auto schema =
      "nn.init.xavier_uniform_(Tensor(a!) tensor, float gain=1) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [3, 2]}}])";
  static constexpr auto doc =
      "Uniform, with variance 2 gain^2 / (fan_in + fan_out) (Glorot, 2010).";
  static Tensor forward(const Tensor& tensor, double gain) {
    return fill_uniform(tensor, xavier_std("xavier_uniform_", tensor, gain));
  }
};
struct XavierNormal {
  static constexpr auto schema =
      "nn.init.xavier_normal_(Tensor(a!) tensor, float gain=1) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [3, 2]}}])";
  static constexpr auto doc = "Normal, with variance 2 gain^2 / (fan_in + fan_out) (Glorot, 2010).";
  static Tensor forward(const Tensor& tensor, double gain) {
    return fill_normal(tensor, 0, xavier_std("xavier_normal_", tensor, gain));
  }
};
struct KaimingUniform {
  static constexpr auto schema =
      "nn.init.kaiming_uniform_(Tensor(a!) tensor, float a=0, str mode='fan_in', str "
      "nonlinearity='leaky_relu') -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [3, 2]}}])";
  static constexpr auto doc = "Uniform, with variance gain^2 / fan (He et al., 2015).";
  static Tensor forward(const Tensor& tensor, double a, std::string_view mode,
                        std::string_view nonlinearity) {
    return fill_uniform(tensor, kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity));
  }
};
struct KaimingNormal {
  static constexpr auto schema =
      "nn.init.kaiming_normal_(Tensor(a!) tensor, float a=0, str mode='fan_in', str "
      "nonlinearity='leaky_relu') -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [3, 2]}}])";
  static constexpr auto doc = "Normal, with variance gain^2 / fan (He et al., 2015).";
  static Tensor forward(const Tensor& tensor, double a, std::string_view mode,
                        std::string_view nonlinearity) {
    return fill_normal(tensor, 0, kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity));
  }
};
struct Orthogonal {
  static constexpr auto schema =
      "nn.init.orthogonal_(Tensor(a!) tensor, float gain=1) -> Tensor(a!)";
  static constexpr bool composite = true;
  static constexpr auto samples = R"([{"tensor": {"shape": [3, 2]}}])";
  static constexpr auto doc =
      "Rows or columns, whichever are fewer, that are orthogonal and of length gain (Saxe et al., "
      "2013).";
  static Tensor forward(const Tensor& tensor, double gain) {
    if (tensor.dim() < 2)
      refuse("orthogonal_",
             "the tensor must have at least 2 dimensions, not " + std::to_string(tensor.dim()));
    return set_elements(tensor, [&](const Tensor& values) {
      const int64_t rows = values.size(0), columns = rows == 0 ? 0 : values.numel() / rows;
      const int64_t count = std::min(rows, columns), length = std::max(rows, columns);
      std::vector<std::vector<double>> basis;
      while (static_cast<int64_t>(basis.size()) < count) add_vector(basis, length);
      auto* data = values.data<double>();
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < length; ++j) {
          const double value = gain * basis[static_cast<size_t>(i)][static_cast<size_t>(j)];
          (rows <= columns ? data[i * columns + j] : data[j * columns + i]) = value;
        }
      }
    });
  }
  // A normal draw, made orthogonal to the others (twice, against rounding) and of length one.
  static void add_vector(std::vector<std::vector<double>>& basis, int64_t length) {
    const Tensor drawn = tenon::empty_tensor({length}, tenon::f64).normal_();
    std::vector<double> vector = drawn.to_vector<double>();
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& other : basis) {
        double dot = 0;
        for (size_t j = 0; j < vector.size(); ++j) dot += vector[j] * other[j];
        for (size_t j = 0; j < vector.size(); ++j) vector[j] -= dot * other[j];
      }
    }
    double square = 0;
    for (const double value : vector) square += value * value;
    if (square < 1e-20) return;  // drawn again
    for (double& value : vector) value /= std::sqrt(square);
    basis.push_back(std::move(vector));
  }
};
struct CalculateGain {
  static constexpr auto schema =
      "nn.init.calculate_gain(str nonlinearity, float? param=None) -> float";
  static constexpr auto samples =
      R"([{"nonlinearity": "relu"}, {"nonlinearity": "leaky_relu", "param": 0.2}])";
  static constexpr auto doc = "The gain that keeps the variance behind a nonlinearity.";
  static double forward(std::string_view nonlinearity, std::optional<double> param) {
    return gain_of("calculate_gain", nonlinearity, param);
  }
};

}  // namespace
TENON_OPS(Uniform, Normal, TruncatedNormal, Constant, Ones, Zeros, Eye, Dirac, XavierUniform,
          XavierNormal, KaimingUniform, KaimingNormal, Orthogonal, CalculateGain)
