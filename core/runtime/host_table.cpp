// The host and its services as plugins see them, and what their slots share.
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/types/conversion.hpp"
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
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  if (type.owns_memory())
    throw Error(TENON_ERROR_TYPE,
                "{} is in memory of {}, which the CPU does not read; copy it to the CPU first "
                "(device::to)",
                what, type.name);
  throw Error(TENON_ERROR_TYPE, "{} must be Tensor, not {}, which has no data; convert it first",
              what, type.name);
}

void require_gradients(const Tensor* tensor) {
  if (!checked(tensor, "the tensor").typed() || !tensor->has_flag(TENON_TENSOR_SHAPE_ONLY)) return;
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  if (type.has_gradients()) return;
  throw Error(TENON_ERROR_TYPE,
              "a tensor that requires grad must be Tensor, not {}, which has neither a conversion "
              "to Tensor nor a project_gradient",
              type.name);
}

void require_gradient_memory(const Tensor* tensor, const Tensor* grad) {
  require_gradients(tensor);
  if (!tensor->typed() || grad == nullptr ||
      !TypeTable::process().at(tensor->view.type).owns_memory())
    return;
  const auto memory_of = [](const Tensor& of) {
    if (!of.typed()) return std::string("the CPU");
    tenon_value text = attributes_of(of);
    std::string name = text.tag == TENON_VALUE_STRING ? std::string(text.as.string, text.length)
                                                      : TypeTable::process().at(of.view.type).name;
    discard_value(text);
    return name;
  };
  const std::string memory = memory_of(*tensor), other = memory_of(*grad);
  if (memory == other) return;
  throw Error(TENON_ERROR_VALUE,
              "assigned grad is on {} but the tensor is on {}; copy it there (device::to)", other,
              memory);
}

std::span<Tensor* const> tensors_of(tenon_tensor* const* tensors, int64_t count) {
  if (count < 0) throw Error(TENON_ERROR_ARGUMENT, "a list has a negative length");
  return {tensors, static_cast<size_t>(count)};
}

const Services& host_services() noexcept {
  static const Services tables = [] {
    Services services{.values = values_service,
                      .tensors = tensors_service,
                      .ops = ops_service,
                      .contexts = contexts_service,
                      .autograd = autograd_service,
                      .graph = graph_service,
                      .types = types_service,
                      .modes = modes_service,
                      .modules = modules_service,
                      .threads = threads_service,
                      .documents = documents_service,
                      .plugins = plugins_service,
                      .dlpack = dlpack_service,
                      .calls = calls_service};
#define TENON_SERVICE_HEAD(name, NAME) \
  services.name.head = {sizeof(services.name), TENON_##NAME##_VERSION};
    TENON_SERVICES(TENON_SERVICE_HEAD)
#undef TENON_SERVICE_HEAD
    if (process_is_traced()) trace_calls(services.ops);
    return services;
  }();
  return tables;
}

const tenon_service* find_host_service(std::string_view name) noexcept {
#define TENON_SERVICE_NAMED(service, NAME) \
  if (name == "tenon." #service) return &host_services().service.head;
  TENON_SERVICES(TENON_SERVICE_NAMED)
#undef TENON_SERVICE_NAMED
  return nullptr;
}

const tenon_host& host_table() noexcept {
  static const tenon_host host{TENON_HOST_MAGIC,
                               sizeof(tenon_host),
                               TENON_ABI_MAJOR,
                               TENON_ABI_MINOR,
                               host_services().values.error_set,
                               ask_service,
                               release_service};
  return host;
}

}  // namespace tenon::core
