// The host as plugins see it: the slots of all groups, and what those share.
#include "core/dispatch/types/type_table.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

void fail_rank(int64_t rank) {
  throw Error(TENON_ERROR_VALUE, "a tensor has 0 to {} dimensions, not {}", TENON_MAX_RANK, rank);
}

void fail_without_data(const Tensor* tensor, const char* what) {
  require_not_null(tensor, what);
  if (!tensor->typed()) throw Error(TENON_ERROR_TYPE, "{} has a shape but no data", what);
  throw Error(TENON_ERROR_TYPE, "{} must be Tensor, not {}, which has no data; convert it first",
              what, TypeTable::process().at(tensor->view.type).name);
}

void require_gradients(const Tensor* tensor) {
  require_not_null(tensor, "the tensor");
  if (!tensor->typed() || !tensor->has_flag(TENON_TENSOR_SHAPE_ONLY)) return;
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  if (type.has_gradients()) return;
  throw Error(TENON_ERROR_TYPE,
              "a tensor that requires grad must be Tensor, not {}, which has neither a conversion "
              "to Tensor nor a project_gradient",
              type.name);
}

std::span<Tensor* const> tensors_of(tenon_tensor* const* tensors, int64_t count) {
  if (count < 0) throw Error(TENON_ERROR_ARGUMENT, "a list has a negative length");
  return {tensors, static_cast<size_t>(count)};
}

const tenon_host& host_table() noexcept {
  static const tenon_host table = [] {
    tenon_host host{};
    host.magic = TENON_HOST_MAGIC;
    host.size = sizeof(tenon_host);
    host.abi_major = TENON_ABI_MAJOR;
    host.abi_minor = TENON_ABI_MINOR;
    add_value_slots(host);
    add_tensor_slots(host);
    add_autograd_slots(host);
    add_context_slots(host);
    add_op_slots(host);
    add_runtime_slots(host);
    add_json_slots(host);
    add_module_slots(host);
    add_module_hook_slots(host);
    add_type_slots(host);
    add_mode_slots(host);
    return host;
  }();
  return table;
}

}  // namespace tenon::core
