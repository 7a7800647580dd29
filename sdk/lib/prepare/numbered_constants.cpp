#include "numbered_constants.hpp"

#include <tenon/abi/unchanging.h>
#include <tenon/tenon.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

Tensor unchanging(const Tensor& tensor) {
  auto* const owner = new Tensor(tensor);
  const IntList shape = tensor.shape(), strides = tensor.strides();
  tenon_tensor* result = nullptr;
  tenon_error* error = nullptr;
  const tenon_status status = tenon_wrap_unchanging(
      static_cast<tenon_dtype>(tensor.dtype()), shape.size(), shape.data(), strides.data(),
      tensor.view_record().data, owner, [](void* kept) { delete static_cast<Tensor*>(kept); },
      &result, &error);
  if (status != TENON_OK) {
    delete owner;
    detail::throw_error(status, error);
  }
  return Tensor::take(result);
}

Tensor NumberedConstants::of(const Tensor& constant) {
  if (constant.numel() == 0 || service::tensors().storage_number(constant.handle()) != 0)
    return constant;
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(constant.handle());
  if (found != known_.end() && found->second.version == constant.version())
    return found->second.numbered;
  // Handles that nothing else has any more go.
  for (auto known = known_.begin(); known != known_.end();) {
    // Their own and that of the numbered one.
    const bool dropped = service::tensors().use_count(known->second.constant.handle()) <= 2;
    known = dropped ? known_.erase(known) : std::next(known);
  }
  Known made{constant.version(), constant, unchanging(constant)};
  return known_.insert_or_assign(constant.handle(), std::move(made)).first->second.numbered;
}

}  // namespace prepared

TENON_NAMESPACE_END
