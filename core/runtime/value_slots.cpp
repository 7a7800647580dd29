// The host's slots on errors, memory and values.
#include <cstring>
#include <string>

#include "core/base/allocator.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/runtime/slots.hpp"
#include "core/runtime/value_text.hpp"

namespace tenon::core {

namespace {

tenon_status error_set(tenon_error** slot, tenon_status kind, const char* message, int64_t length) {
  if (kind <= TENON_OK || kind >= TENON_ERROR_KIND_END) kind = TENON_ERROR_RUNTIME;
  return guarded(slot,
                 [&] { throw Error(kind, std::string(message, static_cast<size_t>(length))); });
}
tenon_status error_kind(const tenon_error* error) {
  return error == nullptr ? TENON_OK : error->error.kind;
}
const char* error_message(const tenon_error* error) {
  return error == nullptr ? "" : error->error.message.c_str();
}
const char* error_op(const tenon_error* error) {
  return error == nullptr ? "" : error->error.op.c_str();
}
const char* error_provider(const tenon_error* error) {
  return error == nullptr ? "" : error->error.provider.c_str();
}
const tenon_error* error_cause(const tenon_error* error) {
  return error == nullptr ? nullptr : error->error.cause.get();
}
void error_release(tenon_error* error) {
  if (error != nullptr && !error->preallocated) delete error;
}
void error_pass(tenon_error** slot, const tenon_error* error) {
  if (error == nullptr) return;
  guarded(slot, [&] { throw Error(error->error); });
}

void* allocate_slot(int64_t bytes) {
  try {
    return allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}
void free_memory(void* memory, int64_t bytes) {
  if (memory != nullptr) release(memory, bytes);
}
void value_release(tenon_value* value) { release_value(*value); }
tenon_status string_create(const char* data, int64_t length, tenon_value* result,
                           tenon_error** error) {
  return guarded(error, [&] { *result = make_string({data, static_cast<size_t>(length)}); });
}
void memory_release_cached(int64_t keep_limit) { release_cached(keep_limit); }

tenon_status value_text_slot(const tenon_value* value, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] { *text = make_string(value_text(*value)); });
}

}  // namespace

void add_value_slots(Services& services) {
  services.values.error_set = error_set;
  services.values.error_kind = error_kind;
  services.values.error_message = error_message;
  services.values.error_op = error_op;
  services.values.error_provider = error_provider;
  services.values.error_cause = error_cause;
  services.values.error_release = error_release;
  services.values.error_pass = error_pass;
  services.values.allocate = allocate_slot;
  services.values.free_memory = free_memory;
  services.values.release = value_release;
  services.values.string_create = string_create;
  services.values.release_cached_memory = memory_release_cached;
  services.values.text = value_text_slot;
}

}  // namespace tenon::core
