#include "arguments.hpp"

#include <cmath>

#include <tenon/detail/parameters.hpp>

namespace onnx {

using tenon::Tensor, tenon::Value;

namespace {

Tensor number_tensor(const tenon_value& value) {
  if (value.tag != TENON_VALUE_TENSOR)
    tenon::detail::throw_kind("an input that says numbers", value, "a tensor");
  return Tensor::borrow(value.as.tensor);
}
void require_one(const Tensor& tensor) {
  if (tensor.numel() == 1) return;
  throw tenon::ValueError("an input that is one number has " + std::to_string(tensor.numel()));
}

}  // namespace

std::vector<int64_t> integers_of(const tenon_value& value) {
  if (value.tag == TENON_VALUE_INT_LIST)
    return {value.as.integers, value.as.integers + value.length};
  const Tensor tensor = number_tensor(value);
  if (!tenon::is_differentiable(tensor.dtype())) return tensor.to_vector<int64_t>();
  // OneHot's depth may be of any dtype.
  std::vector<int64_t> integers;
  for (const double number : tensor.to_vector<double>()) {
    if (!(std::abs(number) < 9e15) || number != std::floor(number))
      throw tenon::ValueError("an input that says integers has " + tenon::Scalar(number).text());
    integers.push_back(static_cast<int64_t>(number));
  }
  return integers;
}
std::vector<double> numbers_of(const tenon_value& value) {
  return number_tensor(value).to_vector<double>();
}
int64_t integer_of(const tenon_value& value) {
  require_one(number_tensor(value));
  return integers_of(value)[0];
}
bool truth_of(const tenon_value& value) {
  const Tensor tensor = number_tensor(value);
  require_one(tensor);
  return tensor.item<double>() != 0;
}

tenon_tensor* CallArguments::tensor_of(const tenon_value& value) {
  if (value.tag != TENON_VALUE_TENSOR && value.tag != TENON_VALUE_NONE)
    tenon::detail::throw_kind("an input of a list", value, "a tensor");
  return value.tag == TENON_VALUE_TENSOR ? value.as.tensor : nullptr;
}

tenon_value CallArguments::list_of(const std::vector<tenon_tensor*>& list) {
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR_LIST;
  value.length = static_cast<uint32_t>(list.size());
  value.as.tensors = list.data();
  return value;
}

tenon_value CallArguments::convert(StepArgument::As as, const tenon_value& value) {
  using As = StepArgument::As;
  // Attributes are what the op takes already.
  if (as == As::value || value.tag != TENON_VALUE_TENSOR) return value;
  if (as == As::integers)
    return tenon::Argument(integers_.emplace_back(integers_of(value))).value();
  if (as == As::numbers) return tenon::Argument(numbers_.emplace_back(numbers_of(value))).value();
  const Tensor tensor = number_tensor(value);
  require_one(tensor);
  if (as == As::boolean) return tenon::Argument(truth_of(value)).value();
  if (as == As::number) return tenon::Argument(tensor.item<double>()).value();
  if (as == As::integer) return tenon::Argument(integer_of(value)).value();
  return tenon::is_floating(tensor.dtype()) ? tenon::Argument(tensor.item<double>()).value()
                                            : tenon::Argument(tensor.item<int64_t>()).value();
}

std::vector<Value> CallArguments::call(const tenon::Op& op, size_t results, bool spread) const {
  tenon_value given[tenon::detail::max_results]{};
  const auto count = static_cast<int64_t>(positional_);
  if (keywords_.empty()) {
    tenon::detail::check(tenon::service::ops().call, op.handle(), values_.data(), count,
                         static_cast<tenon_value*>(given));
  } else {
    tenon::detail::check(tenon::service::ops().call_keywords, op.handle(), values_.data(), count,
                         keywords_.data(), values_.data() + positional_,
                         static_cast<int64_t>(keywords_.size()), static_cast<tenon_value*>(given));
  }
  std::vector<Value> owned;
  owned.reserve(results);
  if (!spread) {
    for (size_t i = 0; i < results; ++i) owned.emplace_back(given[i]);
    return owned;
  }
  for (Tensor& tensor : Value(given[0]).tensors()) {
    tenon_value one{};
    tenon::detail::give_result(std::move(tensor), &one);
    owned.emplace_back(one);
  }
  if (owned.size() == results) return owned;
  throw tenon::ValueError("it gives " + std::to_string(owned.size()) + " tensors for " +
                          std::to_string(results) + " outputs");
}

}  // namespace onnx
