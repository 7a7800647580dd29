#include "folding.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/detail/parameters.hpp>

namespace onnx {

using tenon::Tensor, tenon::Value;

namespace {

// Elements of one result that is computed when the model is made, and of all operands and results together.
constexpr int64_t kMostFolded = int64_t{1} << 22, kMostFoldedInAll = int64_t{1} << 24;
// The largest integers mean "up to the end"; as a size they fail.
constexpr double kBeyondMemory = 9e18;

// The numbers of an attribute.
std::vector<double> numbers_in(const tenon_value& value) {
  switch (value.tag) {
    case TENON_VALUE_INT:
      return {static_cast<double>(value.as.integer)};
    case TENON_VALUE_FLOAT:
      return {value.as.number};
    case TENON_VALUE_INT_LIST:
      return {value.as.integers, value.as.integers + value.length};
    case TENON_VALUE_FLOAT_LIST:
      return {value.as.numbers, value.as.numbers + value.length};
    default:
      return {};
  }
}

}  // namespace

bool Folding::is_constant(const Step& step) const {
  bool any = false;
  for (const StepArgument& argument : step.arguments) {
    for (const Source& source : argument.sources) {
      if (source.kind == Source::Kind::none) continue;
      if (source.kind != Source::Kind::constant) return false;
      const Value& value = constants_[source.index];
      any = any || value.is_tensor();
      if (argument.as != StepArgument::As::value && argument.as != StepArgument::As::tensors)
        continue;
      if (!value.is_tensor()) continue;
      const Tensor tensor = value.tensor();
      if (tenon::is_differentiable(tensor.dtype()) && tensor.numel() > 1) return false;
    }
  }
  return any;
}

// Whether its result cannot be large: a file must not take memory by saying a size, before it is run. A
// result may have as many elements as its operands multiplied, as in a broadcast, and as the numbers in
// them, which may be sizes, or steps of a range.
bool Folding::is_small(const Step& step) {
  int64_t product = 1;
  const auto multiply = [&product](double by) {
    if (!(by <= static_cast<double>(kMostFolded))) return false;
    product *= std::max<int64_t>(static_cast<int64_t>(std::ceil(by)), 1);
    return product <= kMostFolded;
  };
  const auto multiply_number = [&](double number) {
    const double size = std::abs(number);
    return size == 0 || size > kBeyondMemory || multiply(size < 1 ? 1 / size : size);
  };
  for (const StepArgument& argument : step.arguments) {
    for (const Source& source : argument.sources) {
      if (source.kind == Source::Kind::none) continue;
      const Value& value = constants_[source.index];
      if (!value.is_tensor()) {
        const std::vector<double> numbers = numbers_in(value.get());
        if (!std::all_of(numbers.begin(), numbers.end(), multiply_number)) return false;
        continue;
      }
      const Tensor tensor = value.tensor();
      if (tenon::is_complex(tensor.dtype()) || !multiply(static_cast<double>(tensor.numel())))
        return false;
      folded_ += tensor.numel();
      if (folded_ > kMostFoldedInAll) return false;
      const std::vector<double> numbers = tensor.to_vector<double>();
      if (!std::all_of(numbers.begin(), numbers.end(), multiply_number)) return false;
    }
  }
  folded_ += product;
  return folded_ <= kMostFoldedInAll;
}

}  // namespace onnx
