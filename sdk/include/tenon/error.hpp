// Errors as exceptions of the right kind, on either side of the boundary.
#pragma once

#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/detail/message.hpp"

TENON_NAMESPACE_BEGIN

// Base of all. Owns the host's error object, so that op, provider and cause survive a passage
// through plugins. Any thread.
class Error : public std::exception {
 public:
  // Functions that are not defaulted are out of line, because of the fifteen classes below: a copy
  // in each takes a tenth of the compile time of a small plugin.
  __attribute__((cold, noinline)) Error(tenon_status kind, std::string_view message) : kind_(kind) {
    service::values().error_set(&error_, kind, message.data(),
                                static_cast<int64_t>(message.size()));
  }
  // Takes the error object that a host call left.
  __attribute__((cold, noinline)) Error(tenon_status kind, tenon_error* taken) noexcept
      : kind_(kind), error_(taken) {
    if (taken == nullptr) service::values().error_set(&error_, kind, "no details", 10);
  }
  __attribute__((cold, noinline)) Error(const Error& other) noexcept  // another reference
      : std::exception(other), kind_(other.kind_) {
    service::values().error_pass(&error_, other.error_);
  }
  Error& operator=(Error other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(error_, other.error_);
    return *this;
  }
  // Releases it.
  __attribute__((cold, noinline)) ~Error() override { service::values().error_release(error_); }

  // The message.
  const char* what() const noexcept override { return service::values().error_message(error_); }
  tenon_status kind() const noexcept { return kind_; }  // a TENON_ERROR_
  // "TypeError", "ConfigError", ...
  const char* kind_name() const noexcept {
    switch (kind_) {
#define TENON_ERROR_NAME(name, code, text, remedy) \
  case code:                                       \
    return text;
      TENON_ERROR_KINDS(TENON_ERROR_NAME)
#undef TENON_ERROR_NAME
      default:
        return "Error";
    }
  }
  // Full name; "" where it is not known.
  const char* op() const noexcept { return service::values().error_op(error_); }
  // Id of the plugin; "" where it is not known.
  const char* provider() const noexcept { return service::values().error_provider(error_); }
  // The error that led to this one: the failure of another op that the op called, or why its plugin
  // would not load. Kind 0 when nothing is known.
  Error cause() const {
    Error cause;
    service::values().error_pass(&cause.error_, service::values().error_cause(error_));
    cause.kind_ = service::values().error_kind(cause.error_);
    return cause;
  }
  const tenon_error* handle() const noexcept { return error_; }  // borrowed

 private:
  Error() = default;
  tenon_status kind_ = TENON_OK;
  tenon_error* error_ = nullptr;  // null: no error is known
};

// Destructors and throw_error() of the fifteen classes are most of what a small plugin has of the SDK.
#define TENON_EXCEPTION(name, code)                                           \
  class name : public Error {                                                 \
   public:                                                                    \
    explicit name(std::string_view message) : Error(code, message) {}         \
    __attribute__((always_inline)) explicit name(tenon_error* taken) noexcept \
        : Error(code, taken) {}                                               \
    name(const name&) = default;                                              \
    name& operator=(const name&) = default;                                   \
    TENON_SELDOM_RUN ~name() override {}                                      \
  };
TENON_EXCEPTION(TypeError, TENON_ERROR_TYPE)
TENON_EXCEPTION(ValueError, TENON_ERROR_VALUE)
TENON_EXCEPTION(IndexError, TENON_ERROR_INDEX)
TENON_EXCEPTION(ArgumentError, TENON_ERROR_ARGUMENT)
TENON_EXCEPTION(NotImplementedError, TENON_ERROR_NOT_IMPLEMENTED)
TENON_EXCEPTION(GraphError, TENON_ERROR_GRAPH)
TENON_EXCEPTION(InplaceError, TENON_ERROR_INPLACE)
TENON_EXCEPTION(GradcheckError, TENON_ERROR_GRADCHECK)
TENON_EXCEPTION(PluginError, TENON_ERROR_PLUGIN)
TENON_EXCEPTION(ConfigError, TENON_ERROR_CONFIG)
TENON_EXCEPTION(IOError, TENON_ERROR_IO)
TENON_EXCEPTION(MemoryError, TENON_ERROR_MEMORY)
TENON_EXCEPTION(RuntimeError, TENON_ERROR_RUNTIME)
TENON_EXCEPTION(DistributedError, TENON_ERROR_DISTRIBUTED)
TENON_EXCEPTION(InterruptedError, TENON_ERROR_INTERRUPTED)
#undef TENON_EXCEPTION

namespace detail {

[[noreturn]] TENON_SELDOM_RUN inline void throw_error(tenon_status status, tenon_error* error) {
  switch (status) {
    case TENON_ERROR_TYPE:
      throw TypeError(error);
    case TENON_ERROR_VALUE:
      throw ValueError(error);
    case TENON_ERROR_INDEX:
      throw IndexError(error);
    case TENON_ERROR_ARGUMENT:
      throw ArgumentError(error);
    case TENON_ERROR_NOT_IMPLEMENTED:
      throw NotImplementedError(error);
    case TENON_ERROR_GRAPH:
      throw GraphError(error);
    case TENON_ERROR_INPLACE:
      throw InplaceError(error);
    case TENON_ERROR_GRADCHECK:
      throw GradcheckError(error);
    case TENON_ERROR_PLUGIN:
      throw PluginError(error);
    case TENON_ERROR_CONFIG:
      throw ConfigError(error);
    case TENON_ERROR_IO:
      throw IOError(error);
    case TENON_ERROR_MEMORY:
      throw MemoryError(error);
    case TENON_ERROR_RUNTIME:
      throw RuntimeError(error);
    case TENON_ERROR_DISTRIBUTED:
      throw DistributedError(error);
    case TENON_ERROR_INTERRUPTED:
      throw InterruptedError(error);
    default:
      throw Error(status, error);
  }
}

// Throws an error of this kind whose message is the pieces, one behind the other.
[[noreturn]] __attribute__((cold, noinline)) inline void throw_message(
    tenon_status kind, std::initializer_list<MessagePart> parts) {
  const std::string text = message(parts);
  tenon_error* error = nullptr;
  service::values().error_set(&error, kind, text.data(), static_cast<int64_t>(text.size()));
  throw_error(kind, error);
}

inline void set_error(tenon_error** slot, tenon_status kind, std::string_view message) noexcept {
  service::values().error_set(slot, kind, message.data(), static_cast<int64_t>(message.size()));
}

inline void report_foreign(tenon_error** slot, const char* what, std::string_view op) noexcept {
  try {
    if (op.empty())
      set_error(slot, TENON_ERROR_RUNTIME, what);
    else
      set_error(slot, TENON_ERROR_RUNTIME, message({what, " (thrown by '", op, "')"}));
  } catch (...) {
    set_error(slot, TENON_ERROR_RUNTIME, what);
  }
}

// Inside a catch block: turns the exception in flight into a status. No exception leaves a plugin.
// `op` is named where the exception cannot name it itself.
__attribute__((cold, noinline)) inline tenon_status report_exception(
    tenon_error** slot, std::string_view op = {}) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    service::values().error_pass(slot, error.handle());
    return error.kind();
  } catch (const std::bad_alloc&) {
    set_error(slot, TENON_ERROR_MEMORY, "out of memory");
    return TENON_ERROR_MEMORY;
  } catch (const std::exception& error) {
    report_foreign(slot, error.what(), op);
    return TENON_ERROR_RUNTIME;
  } catch (...) {
    report_foreign(slot, "an exception that is not a std::exception", op);
    return TENON_ERROR_RUNTIME;
  }
}

// Runs a body behind the boundary.
template <class Body>
inline tenon_status guarded(tenon_error** slot, Body&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (...) {
    return report_exception(slot);
  }
}

// Calls a fallible host slot with an error slot appended; throws when it fails.
template <class... Parameters, class... Arguments>
inline void check(tenon_status(TENON_CALL* slot)(Parameters...), Arguments&&... arguments) {
  tenon_error* error = nullptr;
  const tenon_status status = slot(static_cast<Arguments&&>(arguments)..., &error);
  if (__builtin_expect(status != TENON_OK, 0)) throw_error(status, error);
}

}  // namespace detail
TENON_NAMESPACE_END
