// Calls whose provider was chosen before they run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "core/dispatch/table/op.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

// A choice, good for one generation of the table: the implementation is looked at within calls alone,
// once the generation was found to be the same, so that code which is unloaded is never run.
struct tenon_prepared_call {
  const tenon_op* op;
  const tenon::core::Implementation* implementation;
  uint64_t generation;
  std::string provider;
  int32_t direct_out;
};

namespace tenon::core {

// Number of changes to the implementations that calls may run. Raised before a change waits for
// running calls.
extern constinit std::atomic<uint64_t> ops_generation;

// The choice for these arguments, one for each parameter, which fit as they are. Throws ArgumentError
// for others, NotImplementedError when all providers decline, and what loading one throws.
std::unique_ptr<tenon_prepared_call> prepare_call(const tenon_op* op,
                                                  std::span<const tenon_value> arguments);
// call_op by the provider that was chosen, with all arguments.
tenon_status run_prepared(const tenon_prepared_call& prepared, const tenon_value* arguments,
                          tenon_value* results, tenon_error** error) noexcept;

// The provider that takes a call which reaches `first`, loaded where need be (table/providers.cpp).
const Implementation& choose_provider(const Implementation& first, const tenon_value* arguments);

}  // namespace tenon::core
