#include "tensors.hpp"

#include <algorithm>
#include <cstring>

#include <tenon/detail/parameters.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/runtime.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

Tensor stand_in(const Tensor& tensor) {
  tenon_tensor* result = nullptr;
  detail::check(service::calls().stand_in, tensor.handle(), &result);
  return Tensor::take(result);
}

Tensor copy_of(const Tensor& tensor) {
  int64_t low = 0, high = 0;  // the places of the first and the last element in memory
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    const int64_t reach = (tensor.shape()[d] - 1) * tensor.strides()[d];
    (reach < 0 ? low : high) += reach;
  }
  if (tensor.is_contiguous() || tensor.numel() == 0) {
    const Tensor copy = empty_tensor(tensor.shape(), tensor.dtype());
    copy_elements(copy, tensor);
    return copy;
  }
  const int64_t count = high - low + 1, one = 1;
  const Tensor all = alias_tensor(tensor, IntList(&count, 1), IntList(&one, 1), low);
  const Tensor copy = empty_tensor({count}, tensor.dtype());
  copy_elements(copy, all);
  return alias_tensor(copy, tensor.shape(), tensor.strides(), -low);
}

bool same_layout(const Tensor& a, const Tensor& b) {
  const auto equal = [](IntList one, IntList other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  };
  return a.dtype() == b.dtype() && equal(a.shape(), b.shape()) && equal(a.strides(), b.strides());
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (!same_layout(a, b)) return false;
  if (a.numel() == 0) return true;
  const Tensor one = contiguous_as(a, a.dtype()), other = contiguous_as(b, b.dtype());
  return std::memcmp(one.view_record().data, other.view_record().data,
                     static_cast<size_t>(bytes_of(one))) == 0;
}

void release_freed(int64_t bytes) {
  constexpr int64_t least = int64_t{4} << 20;
  if (bytes >= least) release_cached_memory();
}

int64_t bytes_of(const Tensor& tensor) { return tensor.numel() * element_size(tensor.dtype()); }

bool is_number(const Tensor& tensor, int64_t most) {
  return tensor.defined() && tensor.numel() > 0 && tensor.numel() <= most &&
         !is_differentiable(tensor.dtype());
}

std::string layout_text(const Tensor& tensor) {
  return dtype_text(tensor.dtype()) + kernel::shape_text(tensor.shape());
}

Value copy_value(const tenon_value& value) {
  tenon_value copy{};
  if (value.tag == TENON_VALUE_BOOL_LIST) {
    detail::give_list(std::vector<bool>(value.as.booleans, value.as.booleans + value.length),
                      &copy);
  } else if (value.tag == TENON_VALUE_STRING_LIST) {
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < value.length; ++i)
      texts.emplace_back(value.as.strings[i].data, static_cast<size_t>(value.as.strings[i].length));
    detail::give_list(texts, &copy);
  } else {
    detail::give_copy(Argument(value), &copy);
  }
  return Value(copy);
}

bool same_literal(const tenon_value& a, const tenon_value& b) {
  if (a.tag != b.tag || a.length != b.length) return false;
  switch (a.tag) {
    case TENON_VALUE_STRING:
      return std::memcmp(a.as.string, b.as.string, a.length) == 0;
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_FLOAT_LIST:
      return a.length == 0 || std::memcmp(a.as.pointer, b.as.pointer, a.length * size_t{8}) == 0;
    case TENON_VALUE_BOOL_LIST:
      return a.length == 0 || std::memcmp(a.as.pointer, b.as.pointer, a.length) == 0;
    case TENON_VALUE_STRING_LIST: {
      for (uint32_t i = 0; i < a.length; ++i) {
        const tenon_string &one = a.as.strings[i], &other = b.as.strings[i];
        if (std::string_view(one.data, static_cast<size_t>(one.length)) !=
            std::string_view(other.data, static_cast<size_t>(other.length)))
          return false;
      }
      return true;
    }
    default:
      return a.as.integer == b.as.integer;
  }
}

bool same_operands(const std::vector<ListOperand>& a, const std::vector<ListOperand>& b) {
  static const Value none;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    const auto literal = [](const ListOperand& operand) {
      return (operand.literal == nullptr ? none : *operand.literal).get();
    };
    return one.kind == other.kind && one.values == other.values &&
           same_literal(literal(one), literal(other));
  });
}

}  // namespace prepared

TENON_NAMESPACE_END
