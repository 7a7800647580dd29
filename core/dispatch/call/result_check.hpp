// Checks of results against the schema.
#pragma once

#include <string>

#include "core/dispatch/call/layer.hpp"

namespace tenon::core {

// Throws TypeError for the first result that is not what the schema declares, or that does not
// alias the argument that it is declared to. `arguments` null: what results are alone.
void check_declared(const Implementation& implementation, const tenon_value* arguments,
                    const tenon_value* results);
// The fault of a result of that type, "is none"; empty without one.
std::string result_fault(const SchemaType& type, const tenon_value& value);

// Whether an override or handler declines the call.
inline bool declined(const tenon_value* results) {
  return results[0].tag == TENON_VALUE_NOT_IMPLEMENTED;
}
// Whether a handler returned values: each has what it holds, and only the first may decline.
bool made_of_values(const Implementation& implementation, const tenon_value* results);
// Discards results that are not made of values, with a TypeError that names the handler.
tenon_status check_results(const Implementation& implementation, tenon_value* results,
                           const std::string& who, tenon_error** error) noexcept;

// Releases the results and sets them to none.
void release_results(const Implementation& implementation, tenon_value* results) noexcept;
// Releases results that may not be values: leaves alone what cannot be released.
void discard_value(tenon_value& value) noexcept;
void discard_results(const Implementation& implementation, tenon_value* results) noexcept;

}  // namespace tenon::core
