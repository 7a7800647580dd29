// Walks over operands for their types.
#include "core/dispatch/types/operand_types.hpp"

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/higher_areas.hpp"
#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

void OperandTypes::insert(const TensorType& type) {
  const std::span<const TensorType* const> present = list();
  uint32_t place = count_;
  for (uint32_t i = 0; i < count_; ++i) {
    if (present[i] == &type) return;
    if (place == count_ && type.is(*present[i])) place = i;
  }
  if (count_ < kFew) {
    for (uint32_t i = count_; i > place; --i) few_[i] = few_[i - 1];
    few_[place] = &type;
  } else {
    if (count_ == kFew) many_.assign(few_, few_ + kFew);
    many_.insert(many_.begin() + place, &type);
  }
  ++count_;
}

namespace {

// Also calls visit(Tensor&, type) with every operand; type: null for a plain tensor.
template <class Visit>
OperandTypes walk_types(const Implementation& implementation, const tenon_value* arguments,
                        Visit&& visit) {
  OperandTypes types;
  const TensorType* type = nullptr;
  const TypeTable& table = TypeTable::process();
  for_each_operand(implementation, arguments, [&](Tensor* tensor) {
    if (!tensor->typed()) {
      types.plain = true;
      visit(*tensor, nullptr);
      return;
    }
    if (type == nullptr || type->id != tensor->view.type) {
      type = &table.at(tensor->view.type);
      types.add(*type);
    }
    visit(*tensor, type);
  });
  return types;
}

}  // namespace

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments) {
  return walk_types(implementation, arguments, [](Tensor&, const TensorType*) {});
}

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments,
                          Carried& carried) {
  return walk_types(implementation, arguments, [&](Tensor& tensor, const TensorType* type) {
    if (type != nullptr && type->has_components())
      carried.hidden |= higher_areas.refresh_components(tensor);
    carried.flags |= tensor.flags();
  });
}

std::vector<uint32_t> dispatching_types(const Call& call) {
  std::vector<uint32_t> dispatching;
  for (const TensorType* type : gather_types(call.implementation, call.arguments)) {
    TypeTable::process().complete(*type);
    if (type->dispatches()) dispatching.push_back(type->id);
  }
  return dispatching;
}

bool has_foreign(const Implementation& implementation, const tenon_value* arguments) {
  bool foreign = false;
  for_each_operand(implementation, arguments, [&](const Tensor* tensor) {
    foreign |= tensor->typed() && !TypeTable::process().at(tensor->view.type).is_tensor;
  });
  return foreign;
}

[[gnu::cold]] void throw_foreign(const Implementation& implementation,
                                 const tenon_value* arguments) {
  const Schema& schema = implementation.schema;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const TensorType* found = nullptr;
    for_each_tensor(arguments[i], [&](const Tensor* tensor) {
      const TensorType& type = TypeTable::process().at(tensor->view.type);
      if (found == nullptr && tensor->typed() && !type.is_tensor) found = &type;
    });
    if (found == nullptr) continue;
    const bool by_name = schema.parameters[i].keyword_only;
    throw_argument_type(schema, i, by_name ? -1 : static_cast<int64_t>(i), found->name);
  }
  throw Error(TENON_ERROR_INTERNAL, "no operand is of a foreign type");
}

std::string type_list(std::span<const uint32_t> types) {
  Words names;
  for (const uint32_t type : types) names.push_back(TypeTable::process().at(type).name);
  return format_text("[{}]", join(names, ", "));
}

}  // namespace tenon::core
