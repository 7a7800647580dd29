// Comparing results with the schema that declares them.
#include "core/dispatch/call/result_check.hpp"

#include <string>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

namespace {

// Whether a value is what a type of the schema says, lists and undefined tensors aside. Ints may
// stand for floats, as arguments may after conversion.
bool result_fits(const SchemaType& type, const tenon_value& value) {
  if (value.tag >= TENON_VALUE_TAG_COUNT || value.tag == TENON_VALUE_NOT_IMPLEMENTED) return false;
  if (type.length > 0 && value.tag != TENON_VALUE_NONE &&
      value.length != static_cast<uint32_t>(type.length))
    return false;
  uint32_t tags = accepted_tags(type);
  if (type.kind == TypeKind::floating)
    tags |= 1u << (type.list ? TENON_VALUE_INT_LIST : TENON_VALUE_INT);
  return (tags >> value.tag & 1u) != 0;
}

// Pointers are not null, except those of empty lists and strings.
bool lacks_content(const tenon_value& value) {
  if (value.tag < TENON_VALUE_STRING || value.as.pointer != nullptr) [[likely]]
    return false;
  return value.length > 0 || value.tag == TENON_VALUE_TENSOR || value.tag == TENON_VALUE_JSON ||
         value.tag == TENON_VALUE_MODULE;
}

}  // namespace

std::string result_fault(const SchemaType& type, const tenon_value& value) {
  if (!result_fits(type, value))
    return value.tag == TENON_VALUE_NONE ? "is none" : format_text("is {}", value_type_text(value));
  if (lacks_content(value))
    return format_text("is {} without what it holds", value_type_text(value));
  for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
    if (value.as.tensors[k] == nullptr)
      return format_text("has an undefined tensor at position {}", k);
  }
  return {};
}

namespace {

// Whether every tensor of a result is, or shares the memory of, the operand that the schema says.
bool aliases_as_declared(const Implementation& implementation, uint32_t r,
                         const tenon_value* arguments, const tenon_value* results) {
  const int32_t source = implementation.result_alias[r];
  if (source < 0 || arguments[source].tag != TENON_VALUE_TENSOR) return true;
  const Tensor* input = arguments[source].as.tensor;
  const bool same = implementation.schema.parameters[static_cast<size_t>(source)].type.mutates;
  const bool copies = (implementation.flags & TENON_OP_MAY_COPY) != 0;
  const auto fits = [&](const Tensor* tensor) {
    // A type without data shares nothing that could be compared.
    return same ? tensor == input
                : copies || input->storage == nullptr || tensor->storage == input->storage;
  };
  bool all_fit = true;
  for_each_tensor(results[r], [&](const Tensor* tensor) { all_fit = all_fit && fits(tensor); });
  return all_fit;
}

[[noreturn, gnu::cold]] void throw_result(const Implementation& implementation, size_t r,
                                          const std::string& fault) {
  throw Error(TENON_ERROR_TYPE,
              "{}(): result {} {}, but the schema declares {}; fix the op in plugin '{}'",
              implementation.schema.short_name(), r, fault,
              type_text(implementation.schema.returns[r]), implementation.provider);
}

}  // namespace

void check_declared(const Implementation& implementation, const tenon_value* arguments,
                    const tenon_value* results) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    const std::string fault = result_fault(implementation.schema.returns[r], results[r]);
    if (!fault.empty()) throw_result(implementation, r, fault);
  }
  for (uint32_t r = 0; arguments != nullptr && r < implementation.result_count; ++r) {
    if (aliases_as_declared(implementation, r, arguments, results)) continue;
    const Parameter& source =
        implementation.schema.parameters[static_cast<size_t>(implementation.result_alias[r])];
    throw_result(implementation, r,
                 format_text("{} the argument {}",
                             source.type.mutates ? "is not" : "does not share the memory of",
                             quote(source.name)));
  }
}

bool made_of_values(const Implementation& implementation, const tenon_value* results) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    const bool declines = results[r].tag == TENON_VALUE_NOT_IMPLEMENTED;
    if (results[r].tag >= TENON_VALUE_TAG_COUNT || (declines && r > 0) || lacks_content(results[r]))
      return false;
  }
  return true;
}

tenon_status check_results(const Implementation& implementation, tenon_value* results,
                           const std::string& who, tenon_error** error) noexcept {
  if (made_of_values(implementation, results)) return TENON_OK;
  discard_results(implementation, results);
  return guarded(error, [&] {
    throw Error(TENON_ERROR_TYPE, "{}(): the {} returned an invalid value",
                implementation.schema.short_name(), who);
  });
}

void release_results(const Implementation& implementation, tenon_value* results) noexcept {
  for (uint32_t r = 0; r < implementation.result_count; ++r) release_value(results[r]);
}

void discard_value(tenon_value& value) noexcept {
  if (value.tag < TENON_VALUE_STRING ||
      (value.tag < TENON_VALUE_TAG_COUNT && value.as.pointer != nullptr))
    release_value(value);
  value = tenon_value{};
}

void discard_results(const Implementation& implementation, tenon_value* results) noexcept {
  for (uint32_t r = 0; r < implementation.result_count; ++r) discard_value(results[r]);
}

}  // namespace tenon::core
