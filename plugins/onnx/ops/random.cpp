// Random tensors. Each call draws from the generator of the process, as all ops do: a node's seed is not used.
#include "common.hpp"

namespace {

using namespace onnx;

Tensor drawn(IntList shape, std::string_view kind, double a, double b, DType dtype) {
  const DType drawn_dtype = dtype == tenon::f64 ? tenon::f64 : tenon::f32;
  if (kind == "normal") return (tenon::randn(shape, drawn_dtype) * b + a).to(dtype);
  if (kind == "uniform") return (tenon::rand(shape, drawn_dtype) * (b - a) + a).to(dtype);
  throw tenon::ValueError("'kind' is '" + std::string(kind) + "'; there are normal and uniform");
}

struct Random {
  static constexpr auto schema =
      "onnx.random(int[] shape, *, str kind='uniform', float a=0.0, float b=1.0, dtype? "
      "dtype=None) "
      "-> Tensor";
  static constexpr auto samples = R"([{"shape": [2, 3], "kind": "normal"}])";
  static constexpr auto doc =
      "Random numbers: normal with the mean a and the deviation b, or uniform from a to b.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(IntList shape, std::string_view kind, double a, double b, DType dtype) {
    return drawn(shape, kind, a, b, dtype == DType::none ? tenon::f32 : dtype);
  }
};

struct RandomLike {
  static constexpr auto schema =
      "onnx.random_like(Tensor input, *, str kind='uniform', float a=0.0, float b=1.0, dtype? "
      "dtype=None) -> Tensor";
  static constexpr auto doc = "onnx.random in the shape of the input, and in its dtype.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, std::string_view kind, double a, double b,
                        DType dtype) {
    return drawn(input.shape(), kind, a, b, dtype == DType::none ? input.dtype() : dtype);
  }
};

struct Multinomial {
  static constexpr auto schema =
      "onnx.multinomial(Tensor input, *, int sample_size=1, dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "sample_size": 4, "check": {"deterministic": false}}])";
  static constexpr auto doc =
      "Indices of each row, drawn with replacement; the input has logarithms of weights.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, int64_t sample_size, DType dtype) {
    const Tensor drawn = tenon::multinomial(functional::softmax(input, -1), sample_size, true);
    return drawn.to(dtype == DType::none ? tenon::i32 : dtype);
  }
};

}  // namespace
TENON_OP(Random)
TENON_OP(RandomLike)
TENON_OP(Multinomial)
