// The exception of the core: kind, message, and where known the op, its provider and the cause.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "tenon/abi/error.h"

struct tenon_error;

namespace tenon::core {

class Error : public std::exception {
 public:
  Error(tenon_status kind_of, std::string text) : kind(kind_of), message(std::move(text)) {}
  // The message from a pattern, see format_text.
  template <class First, class... Rest>
  Error(tenon_status kind_of, FormatString<First, Rest...> pattern, First&& first, Rest&&... rest)
      : Error(kind_of, format_arguments(pattern, fmt::make_format_args(first, rest...))) {}
  const char* what() const noexcept override { return message.c_str(); }

  tenon_status kind;
  std::string message;
  std::string op;                            // the op whose call failed
  std::string provider;                      // the plugin that provides its implementation
  std::shared_ptr<const tenon_error> cause;  // boxed, as the boundary shows it
  // The innermost ops of calls that have used up the stack, which follow as the calls return.
  std::vector<std::string> chain;
};

// The printed name of a kind ("TypeError").
const char* error_kind_text(tenon_status kind) noexcept;

// An error of a value, its message ready.
[[noreturn, gnu::cold]] void throw_value_error(std::string message);

// Runs `body`; turns whatever it throws into a status and, when `error` is not null, an error
// object. Defined inline so that the success path costs nothing.
tenon_status report_current_exception(tenon_error** error) noexcept;

template <class Body>
tenon_status guarded(tenon_error** error, Body&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (...) {
    return report_current_exception(error);
  }
}

// The reverse: throws the error that a callee left in `error` (taking it), or one made from the
// bare status.
[[noreturn]] void throw_status(tenon_status status, tenon_error* error);

// Calls a function of the boundary, which gets the place of its error last; throws that error.
template <class Function, class... Arguments>
void call_checked(Function&& function, Arguments&&... arguments) {
  tenon_error* error = nullptr;
  const tenon_status status = function(std::forward<Arguments>(arguments)..., &error);
  if (status != TENON_OK) throw_status(status, error);
}

}  // namespace tenon::core

// The C object is a boxed Error. `refs` is not needed: it has one owner.
struct tenon_error {
  tenon::core::Error error;
  bool preallocated = false;  // the out-of-memory record, never deleted
};
