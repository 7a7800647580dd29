// Calls whose provider was chosen before they run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

// A choice, good for one generation of the table: the implementation is looked at within calls alone,
// once the generation was found to be the same, so that code which is unloaded is never run. One that
// is held keeps the code.
struct tenon_prepared_call {
  const tenon_op* op;
  const tenon::core::Implementation* implementation;
  uint64_t generation;
  std::string provider;
  bool writes_into;  // by loops, which take memory for the result
  bool held = false;
  tenon::core::CodeLease code{}, rules_code{};
};

namespace tenon::core {

// Number of changes to the implementations that calls may run. Raised before a change waits for
// running calls.
extern constinit std::atomic<uint64_t> ops_generation;

// The choice for these arguments, one for each parameter, which fit as they are. Throws ArgumentError
// for others, NotImplementedError when all providers decline, and what loading one throws.
std::unique_ptr<tenon_prepared_call> prepare_call(const tenon_op* op,
                                                  std::span<const tenon_value> arguments);
// Throws the PluginError of a choice that is one of before.
[[noreturn]] void throw_stale(const tenon_prepared_call& call);
// Keeps the code of the provider as long as the call. Throws as above.
void hold_prepared(tenon_prepared_call& call);
// call_op with all arguments by the provider that was chosen. `into`, of an op that
// `writes_into`, or null, receives the one result.
tenon_status run_prepared(const tenon_prepared_call& prepared, const tenon_value* arguments,
                          tenon_value* results, Tensor* into, tenon_error** error) noexcept;

struct DeclinedCall;
// The provider that takes a call which reaches `first`, loaded where need be (table/providers.cpp).
// `declined`, which may be null, gets those that are passed over.
const Implementation& choose_provider(const Implementation& first, const tenon_value* arguments,
                                      std::vector<DeclinedCall>* declined);

}  // namespace tenon::core
