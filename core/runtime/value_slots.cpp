// Service values: errors, memory, values and the words of messages.
#include <string>

#include "core/base/allocator.hpp"
#include "core/base/text.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

tenon_status error_set(tenon_error** slot, tenon_status kind, const char* message, int64_t length) {
  if (kind <= TENON_OK || kind >= TENON_ERROR_KIND_END) kind = TENON_ERROR_RUNTIME;
  return guarded(slot,
                 [&] { throw Error(kind, std::string(message, static_cast<size_t>(length))); });
}

}  // namespace

constinit const tenon_values_service values_service{
    .head = {},
    .error_set = error_set,
    .error_kind = [](const tenon_error* error) -> tenon_status {
      return error == nullptr ? TENON_OK : error->error.kind;
    },
    .error_message = [](const tenon_error* error) -> const char* {
      return error == nullptr ? "" : error->error.message.c_str();
    },
    .error_op = [](const tenon_error* error) -> const char* {
      return error == nullptr ? "" : error->error.op.c_str();
    },
    .error_provider = [](const tenon_error* error) -> const char* {
      return error == nullptr ? "" : error->error.provider.c_str();
    },
    .error_cause = [](const tenon_error* error) -> const tenon_error* {
      return error == nullptr ? nullptr : error->error.cause.get();
    },
    .error_release = [](tenon_error* error) -> void {
      if (error != nullptr && !error->preallocated) delete error;
    },
    .error_pass = [](tenon_error** slot, const tenon_error* error) -> void {
      if (error != nullptr) guarded(slot, [&] { throw Error(error->error); });
    },
    .allocate = [](int64_t bytes) -> void* {
      try {
        return allocate(bytes);
      } catch (...) {
        return nullptr;
      }
    },
    .free_memory = [](void* memory, int64_t bytes) -> void {
      if (memory != nullptr) release(memory, bytes);
    },
    .release_cached_memory = [](int64_t keep_limit) { release_cached(keep_limit); },
    .string_create = slot([](const char* data, int64_t length) {
      return make_string({data, static_cast<size_t>(length)});
    }),
    .release = [](tenon_value* value) { release_value(*value); },
    .text = slot([](const tenon_value* value) { return value_text(*value); }),
    .suggestion =
        slot([](const char* word, int64_t length, const tenon_string* candidates, int64_t count) {
          Words words;
          for (const tenon_string& one : span_of(candidates, count))
            words.emplace_back(one.data, static_cast<size_t>(one.length));
          return suggestion({word, static_cast<size_t>(length)}, words);
        }),
    .printable = slot([](const char* bytes, int64_t length) {
      return printable({bytes, static_cast<size_t>(length)});
    }),
    .memory_in_use = [](int64_t* small_in_use, int64_t* large_kept) -> void {
      *small_in_use = small_bytes_in_use();
      *large_kept = cached_bytes();
    },
};

}  // namespace tenon::core
