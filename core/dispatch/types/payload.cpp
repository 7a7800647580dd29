// Making payloads, by the rules of types.
#include "core/dispatch/types/payload.hpp"

#include "core/base/error.hpp"
#include "core/dispatch/call/higher_areas.hpp"

namespace tenon::core {

std::vector<Tensor*> payload_operands(const TensorType& owner, const Implementation& implementation,
                                      const tenon_value* arguments) {
  std::vector<Tensor*> list;
  for_each_operand(implementation, arguments, [&](Tensor* tensor) {
    const Payload* payload = tensor->payload();
    if (payload != nullptr && payload->owner == owner.id) list.push_back(tensor);
  });
  return list;
}

PayloadRef new_payload(const TensorType& owner, std::span<Tensor* const> operands) {
  const tenon_type_descriptor& descriptor = owner.descriptor;
  const bool copies = descriptor.metadata == TENON_METADATA_KEEP && !operands.empty();
  if (copies ? descriptor.copy == nullptr : descriptor.merge == nullptr) return nullptr;
  PayloadRef made(make_payload(owner.id, descriptor.payload_size));
  const auto count =
      descriptor.metadata == TENON_METADATA_MERGE ? static_cast<int64_t>(operands.size()) : 0;
  tenon_error* cause = nullptr;
  const tenon_status status =
      copies
          ? descriptor.copy(descriptor.self, operands[0]->payload()->data(), made->data(), &cause)
          : descriptor.merge(descriptor.self, operands.data(), count, made->data(), &cause);
  if (status != TENON_OK) throw_status(status, cause);
  made->destroy = descriptor.destroy;
  return made;
}

namespace {

// The payload that results of the default handler get; null: none.
PayloadRef result_payload(const TensorType& type, const Implementation& implementation,
                          const tenon_value* arguments) {
  const TensorType& owner = *type.payload_owner;
  const std::vector<Tensor*> operands = payload_operands(owner, implementation, arguments);
  if (operands.empty() || owner.descriptor.metadata != TENON_METADATA_KEEP)
    return new_payload(owner, operands);
  Payload* kept = operands[0]->payload();
  kept->retain();
  return PayloadRef(kept);
}

}  // namespace

TensorRef replace_component(const TensorType& type, Tensor& plain,
                            std::span<Tensor* const> operands) {
  const TensorType& owner = *type.payload_owner;
  const PayloadRef payload = new_payload(owner, operands);
  if (payload == nullptr || !owner.keeps_one_tensor())
    throw Error(TENON_ERROR_TYPE,
                "a payload of {} cannot be made from another; give the type a copy function, or "
                "from_tensor",
                owner.name);
  put(owner.component(*payload, 0), TensorRef(&plain));
  TensorRef object = make_dataless(plain.view.dtype, plain.shape(), type.id);
  set_type(*object, type.id, payload.get());
  return object;
}

void retype_results(const TensorType& type, const Implementation& implementation,
                    const tenon_value* arguments, tenon_value* results) {
  PayloadRef payload;
  bool looked = type.payload_owner == nullptr;
  const auto retype = [&](Tensor*& tensor) {
    if (tensor == nullptr || (tensor->typed() && tensor->view.type == type.id)) return;
    // A tensor with other holders is an operand: one that was changed in place stays what it is.
    if (tensor->references.load(std::memory_order_relaxed) != 1) {
      if (implementation.mutates || implementation.out_parameter >= 0) return;
      put(tensor, higher_areas.share_with_history(*tensor));
    }
    if (!looked) payload = result_payload(type, implementation, arguments);
    looked = true;  // one payload for all of them
    set_type(*tensor, type.id, payload.get());
  };
  for_each_result(implementation, results, retype);
}

}  // namespace tenon::core
