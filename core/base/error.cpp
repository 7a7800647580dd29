// Error kinds' names, and the passage between exceptions and error objects.
#include "core/base/error.hpp"

#include <new>

#include "core/base/text.hpp"

namespace tenon::core {

void throw_value_error(std::string message) { throw Error(TENON_ERROR_VALUE, std::move(message)); }

const char* error_kind_text(tenon_status kind) noexcept {
  switch (kind) {
#define TENON_CASE(name, code, text, remedy) \
  case code:                                 \
    return text;
    TENON_ERROR_KINDS(TENON_CASE)
#undef TENON_CASE
    default:
      return "RuntimeError";
  }
}

namespace {

// Made before it is needed: when memory has run out nothing more can be allocated.
tenon_error& out_of_memory() {
  static tenon_error record{Error(TENON_ERROR_MEMORY, "out of memory"), true};
  return record;
}
const tenon_error& out_of_memory_at_start = out_of_memory();

tenon_status set(tenon_error** slot, Error error) noexcept {
  const tenon_status kind = error.kind;
  if (slot == nullptr) return kind;
  tenon_error* old = *slot;
  try {
    // Keys, names and paths in it come from files that others wrote; it may go to a terminal.
    error.message = printable(error.message);
    *slot = new tenon_error{std::move(error)};
  } catch (...) {
    *slot = &out_of_memory();
  }
  if (old != nullptr && !old->preallocated) delete old;
  return kind;
}

}  // namespace

tenon_status report_current_exception(tenon_error** slot) noexcept {
  try {
    throw;
  } catch (Error& error) {
    return set(slot, std::move(error));
  } catch (const std::bad_alloc&) {
    if (slot == nullptr) return TENON_ERROR_MEMORY;
    if (*slot != nullptr && !(*slot)->preallocated) delete *slot;
    *slot = &out_of_memory();
    return TENON_ERROR_MEMORY;
  } catch (const std::exception& error) {
    return set(slot, Error(TENON_ERROR_INTERNAL, error.what()));
  } catch (...) {
    return set(slot, Error(TENON_ERROR_INTERNAL, "an exception of unknown type"));
  }
}

void throw_status(tenon_status status, tenon_error* error) {
  if (error == nullptr) {
    throw Error(status, "{} without details", error_kind_text(status));
  }
  Error copy = error->error;
  if (!error->preallocated) delete error;
  throw copy;
}

}  // namespace tenon::core
