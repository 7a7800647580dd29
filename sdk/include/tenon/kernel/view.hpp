// The elements of a tensor, typed.
#pragma once

#include <string>
#include <type_traits>

#include "tenon/kernel/visit.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// The first element, as memory holds it: bools as uint8_t. T must be the stored element type of the
// tensor's dtype, as kernel::visit gives it; this is not checked. Borrowed: valid while the tensor
// is.
template <class T>
T* elements(const Tensor& tensor) {
  return static_cast<T*>(tensor.view_record().data);
}

// The elements of a tensor of any strides, by index: View<const float> x(tensor); x(row, column).
// Borrowed: valid while the tensor is.
template <class T>
class View {
 public:
  // TypeError unless T is the stored element type of the tensor's dtype.
  explicit View(const Tensor& tensor) : record_(&tensor.view_record()) {
    using Held = std::remove_const_t<T>;
    const bool stored_bool = std::is_same_v<Held, uint8_t> && tensor.dtype() == boolean;
    if (std::is_same_v<Held, bool> || (tensor.dtype() != dtype_of<Held>() && !stored_bool)) {
      tenon::detail::throw_message(
          TENON_ERROR_TYPE, {"a view of ", dtype_text(tensor.dtype()),
                             " elements has another element type; choose it with kernel::visit"});
    }
  }
  T* data() const { return static_cast<T*>(record_->data); }  // first element
  int64_t dim() const { return record_->rank; }               // number of dimensions
  int64_t numel() const { return record_->count; }            // number of elements
  // Size of a dimension, without a check.
  int64_t size(int64_t dimension) const { return record_->shape[dimension]; }
  // In elements.
  int64_t stride(int64_t dimension) const { return record_->strides[dimension]; }
  // One index for each dimension, each in [0, size); neither is checked.
  template <class... Index>
  T& operator()(Index... index) const {
    const int64_t* stride = record_->strides;
    int64_t offset = 0;
    ((offset += static_cast<int64_t>(index) * *stride++), ...);
    return data()[offset];
  }

 private:
  const tenon_tensor_view* record_;
};

}  // namespace kernel
TENON_NAMESPACE_END
