// Making payloads, and conversions of typed operands and back.
#include "core/dispatch/types/conversion.hpp"

#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/call_frame.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

// ---- payloads ----

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
  if (copies)
    call_checked(descriptor.copy, descriptor.self, operands[0]->payload()->data(), made->data());
  else
    call_checked(descriptor.merge, descriptor.self, operands.data(), count, made->data());
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

// ---- conversions ----

TensorRef to_plain(Tensor& tensor) {
  if (!tensor.typed()) return TensorRef(&tensor);
  const TensorType& type = TypeTable::process().at(tensor.view.type);
  if (const TensorType* converter = type.converter()) {
    TensorRef result;
    if (converter->descriptor.to_tensor != nullptr) {
      Tensor* given = nullptr;
      call_checked(converter->descriptor.to_tensor, converter->descriptor.self, &tensor, &given);
      result = TensorRef::take(given);
    } else if (Payload* payload = tensor.payload()) {
      result = TensorRef(converter->component(*payload, 0));
    }
    if (!result || result->typed())
      throw Error(TENON_ERROR_TYPE, "to_tensor of {} gave no plain Tensor", converter->name);
    // A type that says nothing of its shape is of rank 0 to the host.
    if (tensor.view.rank > 0 && !same_shape(tensor.shape(), result->shape())) {
      throw Error(TENON_ERROR_TYPE, "to_tensor of {} gave a tensor of shape {} for one of shape {}",
                  converter->name, shape_text(result->shape()), shape_text(tensor.shape()));
    }
    if (converter->is_tensor)
      return higher_areas.connect_same_data(std::move(result), tensor, *converter);
    return higher_areas.connect_tangent(
        higher_areas.connect_conversion(std::move(result), tensor, kToTensorNode), tensor);
  }
  if (!type.is_tensor) throw Error(TENON_ERROR_TYPE, "{} has no conversion to Tensor", type.name);
  TensorRef plain = higher_areas.share_with_history(tensor);
  set_type(*plain, 0, nullptr);
  return plain;
}

namespace {

// A change in place through a conversion must reach what the operand holds, and the operand
// must have no history that would not see it.
void check_changed_through(const Implementation& implementation, const Tensor& operand,
                           const Tensor& plain) {
  const TensorType& type = TypeTable::process().at(operand.view.type);
  if (type.is_tensor) return;  // it shares data, or is written back
  const bool copied = plain.references.load() == 1 && plain.storage != nullptr &&
                      plain.storage->references.load() == 1;
  if (!copied && (!operand.requires_grad() || !records() || higher_areas.has_held_history(operand)))
    return;
  throw Error(copied ? TENON_ERROR_TYPE : TENON_ERROR_INPLACE,
              "{}(): it would change a {} in place through its conversion to Tensor, {}; call the "
              "op that gives a new tensor, or register an override {}[{}]",
              implementation.schema.short_name(), type.name,
              copied ? "which makes a copy, so that nothing of it would change"
                     : "which the history of what requires grad does not see",
              implementation.schema.name, type.name);
}

// The arguments of a call with those of one type converted.
class ConvertedArguments {
 public:
  ConvertedArguments(const TensorType& type, const Call& call) : type_(type), call_(call) {
    const Implementation& implementation = call.implementation;
    replaced_.set(implementation, call.arguments, [&](Tensor* operand, uint32_t parameter) {
      Tensor* const converted = convert(operand);
      if (converted != operand && call.arguments[parameter].tag == TENON_VALUE_TENSOR &&
          is_written(implementation, parameter))
        check_changed_through(implementation, *operand, *converted);
      return converted;
    });
  }
  const tenon_value* values() const { return replaced_.values(); }
  // Has what the call changed in copies reach the operands.
  void write_back() const {
    for (uint32_t i = 0; i < call_.implementation.parameter_count; ++i) {
      if (!is_written(call_.implementation, i) || call_.arguments[i].tag != TENON_VALUE_TENSOR)
        continue;
      Tensor* const operand = call_.arguments[i].as.tensor;
      Tensor* const changed = values()[i].as.tensor;
      if (operand != changed) core_ops::copy(*operand, *changed);
    }
  }
  // The operand that was converted to it; null: none.
  Tensor* origin_of(const Tensor* converted) const {
    for (const auto& [operand, plain] : pairs_) {
      if (plain.get() == converted) return operand;
    }
    return nullptr;
  }
  // The first operand that was converted; null: none.
  Tensor* first() const { return first_; }
  // The operand that the call wrote into through its conversion; null: none.
  Tensor* operand_of(const Tensor* converted) const {
    for (uint32_t i = 0; i < call_.implementation.parameter_count; ++i) {
      if (is_written(call_.implementation, i) && call_.arguments[i].tag == TENON_VALUE_TENSOR &&
          values()[i].as.tensor == converted)
        return call_.arguments[i].as.tensor;
    }
    return nullptr;
  }

 private:
  Tensor* convert(Tensor* tensor) {
    if (!tensor->typed() || !TypeTable::process().at(tensor->view.type).is(type_)) return tensor;
    if (first_ == nullptr) first_ = tensor;
    if (tracing())
      trace(trace_event::convert, call_.implementation,
            format_text("convert {} to Tensor", type_.name));
    const TraceDepth converting(tracing());
    return pairs_.emplace_back(tensor, to_plain(*tensor)).second.get();
  }

  const TensorType& type_;
  const Call& call_;
  std::vector<std::pair<Tensor*, TensorRef>> pairs_;
  ReplacedOperands replaced_;
  Tensor* first_ = nullptr;
};

// The tensor as from_tensor of the type makes it, without a history.
TensorRef call_from_tensor(const TensorType& converter, Tensor& plain, Tensor* like) {
  Tensor* given = nullptr;
  call_checked(converter.descriptor.from_tensor, converter.descriptor.self, &plain, like, &given);
  if (given == nullptr)
    throw Error(TENON_ERROR_TYPE, "from_tensor of {} gave nothing", converter.name);
  return TensorRef::take(given);
}

// A plain result as an object of the type: `converter` is the ancestor that makes it.
TensorRef wrap(const TensorType& type, const TensorType& converter, Tensor& plain, Tensor* like,
               const Call& call) {
  TensorRef wrapped =
      converter.descriptor.from_tensor != nullptr
          ? call_from_tensor(converter, plain, like)
          : replace_component(
                type, plain,
                payload_operands(*type.payload_owner, call.implementation, call.arguments));
  return higher_areas.connect_conversion(std::move(wrapped), plain, kFromTensorNode);
}

void wrap_results(const TensorType& type, const Call& call, const ConvertedArguments& converted,
                  tenon_value* results) {
  const TensorType* converter = type.nearest([](const TensorType& level) {
    return level.descriptor.from_tensor != nullptr || level.keeps_one_tensor();
  });
  if (converter == nullptr) return;
  for_each_result(call.implementation, results, [&](Tensor*& tensor) {
    if (tensor == nullptr || tensor->typed()) return;
    // A tensor that was changed in place comes back as the operand that holds it.
    if (Tensor* operand = converted.operand_of(tensor)) {
      put(tensor, TensorRef(operand));
      return;
    }
    const TensorRef plain = TensorRef::take(std::exchange(tensor, nullptr));
    tensor = wrap(type, *converter, *plain, converted.first(), call).give();
  });
}

}  // namespace

TensorRef from_plain(const TensorType& type, Tensor& plain, Tensor* like) {
  const TensorType* const converter =
      type.nearest([](const TensorType& level) { return level.descriptor.from_tensor != nullptr; });
  if (converter == nullptr || plain.typed())
    throw Error(TENON_ERROR_TYPE, "a {} is not made of a {}: {}", type.name,
                plain.typed() ? TypeTable::process().at(plain.view.type).name : "Tensor",
                plain.typed() ? "convert with ensure_tensor first" : "it has no from_tensor");
  return higher_areas.connect_tangent(
      higher_areas.connect_conversion(call_from_tensor(*converter, plain, like), plain,
                                      kFromTensorNode),
      plain);
}

void run_fallback(const TensorType& type, const Call& call, tenon_value* results) {
  const Implementation& implementation = call.implementation;
  if (tracing()) {
    trace(trace_event::fallback, implementation,
          format_text("fallback {} of {}", fallback_text(type.fallback()), type.name),
          type.provider);
  }
  const TraceDepth inside(tracing());
  const ConvertedArguments converted(type, call);
  const Rewritten written(call, converted.values());
  tenon_error* error = nullptr;
  Call again{implementation, converted.values(), results, &error};
  again.written = Writing(written.get());
  const tenon_status status = redispatch(again);
  if (status != TENON_OK) throw_status(status, error);
  if (type.owns_memory()) converted.write_back();
  if (type.fallback() != TENON_FALLBACK_UNWRAP_REWRAP) return;
  try {
    wrap_results(type, call, converted, results);
  } catch (...) {
    release_results(implementation, results);
    throw;
  }
}

tenon_status run_on_copies(const TensorType& type, Call& call) noexcept {
  tenon_status run_status = TENON_OK;
  for (uint32_t r = 0; r < call.implementation.result_count; ++r) call.results[r] = tenon_value{};
  const tenon_status status = guarded(call.error, [&] {
    const ConvertedArguments converted(type, call);
    tenon_context context = call.context == nullptr ? tenon_context() : *call.context;
    context.implementation = &call.implementation;
    context.arguments = converted.values();
    Call inner = call;
    inner.arguments = converted.values();
    inner.written = Writing();
    if (call.context != nullptr) inner.context = &context;
    run_status = next<LayerId::own_memory>(inner);
    if (run_status != TENON_OK) return;
    converted.write_back();
    const auto bring_back = [&](TensorRef& tensor) {
      if (!tensor || tensor->typed()) return;
      Tensor* const operand = converted.origin_of(tensor.get());
      tensor =
          operand != nullptr ? TensorRef(operand) : from_plain(type, *tensor, converted.first());
    };
    for_each_result(call.implementation, call.results, [&](Tensor*& place) {
      TensorRef result(place);
      bring_back(result);
      put(place, std::move(result));
    });
    if (context.function == nullptr) return;
    for (auto* list : {&context.function->saved, &context.function->saved_for_forward,
                       &context.function->dirty, &context.function->non_differentiable}) {
      for (TensorRef& tensor : *list) bring_back(tensor);
    }
  });
  if (run_status != TENON_OK) return run_status;
  if (status != TENON_OK) release_results(call.implementation, call.results);
  return status;
}

}  // namespace tenon::core
