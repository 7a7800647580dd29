// A type that stands in for a diagonal matrix without storing it: a table of overrides, and a
// subclass that converts to a Tensor for the other ops.
#include <array>
#include <string>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/override_definition.hpp>
#include <tenon/type_definition.hpp>

using tenon::Argument, tenon::Tensor;

struct ScalarTensor {
  static constexpr auto name = "ScalarTensor";
  static constexpr auto doc = "value times the identity matrix of order n.";
  static constexpr bool partial = true;
  int64_t n = 0;
  double value = 0;

  std::array<int64_t, 2> shape() const { return {n, n}; }
  std::string text() const {
    const auto whole = static_cast<int64_t>(value);
    const bool is_whole = static_cast<double>(whole) == value;
    return "ScalarTensor(N=" + std::to_string(n) +
           ", value=" + (is_whole ? tenon::text_of(whole) : tenon::text_of(value)) + ")";
  }
  Tensor to_tensor() const { return tenon::eye(n) * value; }
};
TENON_TYPE(ScalarTensor)

struct ConvertingScalarTensor : ScalarTensor {
  static constexpr auto name = "ConvertingScalarTensor";
  static constexpr auto doc = "A ScalarTensor that becomes a Tensor for ops without an override.";
  static constexpr auto parent = "ScalarTensor";
  static constexpr auto fallback = tenon::to_tensor_fallback;
};
TENON_TYPE(ConvertingScalarTensor)

struct Mean {
  static constexpr auto schema = "mean(Tensor input) -> float";
  static constexpr auto types = "ScalarTensor";
  static double forward(const Tensor& input) {
    const auto& self = tenon::as<ScalarTensor>(input);
    return self.value / static_cast<double>(self.n);
  }
};
TENON_OVERRIDE(Mean)

struct Add {
  static constexpr auto schema = "add(Tensor|Scalar input, Tensor|Scalar other) -> Tensor";
  static constexpr auto types = "ScalarTensor";
  static Tensor forward(const Argument& input, const Argument& other) {
    const ScalarTensor* a = scalar_tensor(input);
    const ScalarTensor* b = scalar_tensor(other);
    if (a == nullptr || b == nullptr)
      return tenon::ensure_tensor(input) + tenon::ensure_tensor(other);
    if (a->n != b->n) throw tenon::ValueError("Shape mismatch!");
    return tenon::make<ScalarTensor>(a->n, a->value + b->value);
  }
  // Null when it is something else.
  static const ScalarTensor* scalar_tensor(const Argument& value) {
    if (value.value().tag != TENON_VALUE_TENSOR) return nullptr;
    return tenon::try_as<ScalarTensor>(Tensor::borrow(value.value().as.tensor));
  }
};
TENON_OVERRIDE(Add)

struct Make {
  static constexpr auto schema =
      "examples.scalar_tensor(int n, float value, bool convert=False) -> Tensor";
  static constexpr auto doc = "A ScalarTensor, or one that converts.";
  static Tensor forward(int64_t n, double value, bool convert) {
    if (convert) return tenon::make<ConvertingScalarTensor>(ScalarTensor{n, value});
    return tenon::make<ScalarTensor>(n, value);
  }
};
TENON_OP(Make)

TENON_PLUGIN(scalar_tensor, "1.0.0")
