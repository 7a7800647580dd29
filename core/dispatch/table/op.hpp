// An op in the table: its name, and the implementation that a call runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/flags.hpp"
#include "core/base/plugin_code.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/dispatch/table/provider_preference.hpp"
#include "tenon/abi/op.h"

namespace tenon::core {

// One thing that recording keeps for the rules, from the descriptor's `saves`.
struct SavedItem {
  enum class Kind : uint8_t { Argument, ShapeOnly, Result };
  Kind kind = Kind::Argument;
  uint8_t index = 0;  // index of the parameter or the result
  // Bit per parameter: kept when one of them needs a gradient.
  uint32_t for_parameters = ~uint32_t{0};
};

// Results that callers have room for.
inline constexpr size_t kMaxResults = 8;
inline constexpr uint8_t kAnyTag = 0xff;

// Work that is left once the implementation has run, in the common cases.
enum class AfterRun : uint8_t {
  nothing,
  out,      // `out` may have been given: its version changes
  view,     // the one result is a view of `viewed_parameter`
  changed,  // the one result is `returned_parameter`, the only operand that changes
  other,
};

// Implementation of one op by one plugin, prepared for calls. Immutable once published; freed when
// its plugin is unloaded and nothing uses it.
struct Implementation {
  // ---- read by every call ----
  tenon_run_function run = nullptr;
  void* self = nullptr;
  const tenon_op* op = nullptr;
  uint32_t parameter_count = 0;
  uint32_t result_count = 0;
  // Flags that each of its calls carries: kListsFlag, kProviderFlag. The latter comes and goes with
  // the op's rules.
  mutable std::atomic<uint32_t> call_flags{0};
  uint32_t flags = 0;             // flags of its descriptor
  bool has_lists = false;         // some parameter is a tensor list
  bool fixed_lists = false;       // some list parameter has a fixed length
  bool mutates = false;           // some operand is changed in place
  bool aliases = false;           // some result is a view of an operand
  bool updates_aliasing = false;  // versions of operands or view bases change after a run
  AfterRun after_run = AfterRun::other;
  bool composite = false;
  bool takes_half = false;   // f16 and bf16 operands stay as they are (kernel/half.cpp)
  bool fast_record = false;  // formula, one new tensor, no lists, nothing changed, no notes
  int8_t out_parameter = -1;
  int8_t viewed_parameter =
      -1;  // the one result, a tensor, is a view of it, and nothing else changes
  uint8_t result_tag = kAnyTag;     // tag of the one result, when the schema leaves one tag only
  uint32_t slot_parameters = 0;     // leading parameters that can hold tensors other than `out`
  uint32_t mutated_parameters = 0;  // bits
  uint32_t saved_parameters = 0;    // bits: some item of `saves` keeps it
  uint32_t accept[kMaxParameters];
  uint8_t result_tags[kMaxResults];  // by result
  int8_t returned_parameter = -1;    // the one result is this operand, which the op has changed
  bool may_decline = false;          // an override: result 0 may be not_implemented

  // ---- read when it has declined a call (descriptor.declines) ----
  // Implementation of the next ranked provider.
  mutable std::atomic<const Implementation*> next{nullptr};
  mutable std::atomic<const char*> reason_declined{nullptr};  // the last, for listings

  // ---- read when recording, listing, failing ----
  Schema schema;
  std::string provider;
  PluginCode* code = nullptr;        // code of `run`; null: that of the program
  PluginCode* rules_code = nullptr;  // code of rules that replace its own
  // Provider of a backward or jvp that replaces its own; else empty.
  std::string rules_provider;
  const Implementation* own = nullptr;  // with its own rules, where others took their place
  std::string node_name;                // "AddBackward0"
  tenon_op_descriptor descriptor{};
  std::vector<SavedItem> saves;
  // For each result: the parameter that it aliases or is, -1 when fresh.
  std::vector<int32_t> result_alias;
  tenon_elementwise elementwise{};
  std::vector<uint8_t> operand_parameters;  // operands of elementwise ops
  std::vector<uint8_t> scalar_parameters;
  // The log has that gradients of the Function were summed.
  mutable std::atomic<bool> told_summed{false};
};

// Flags of ops that this host knows.
constexpr uint32_t kOpFlags = flags_through(TENON_OP_READS_ELEMENTS);

// A contradiction in a descriptor.
struct DescriptorFault {
  std::string what;    // follows the name: "has neither run nor elementwise"
  std::string remedy;  // "set exactly one of them"
};
// The first fault of a descriptor of this SDK's size (see copy_growable): looked for when its plugin is
// loaded and when the op is prepared.
std::optional<DescriptorFault> check_op(const tenon_op_descriptor& op);

// Prepares a descriptor. Throws ValueError for a bad schema, saves text or combination of
// functions.
std::unique_ptr<Implementation> make_implementation(const tenon_op_descriptor& descriptor,
                                                    std::string provider);

// The op with its rules replaced by those of `rules`: backward and jvp, with what they
// save.
tenon_op_descriptor with_rules(const tenon_op_descriptor& op, const tenon_op_descriptor& rules);
// Has rules but nothing to run: it is for an op of another plugin.
inline bool has_rules_alone(const tenon_op_descriptor& descriptor) {
  return descriptor.run == nullptr && descriptor.elementwise == nullptr;
}

// "AddBackward0", or "MulConstantBackward" for Functions, from the op's short name.
std::string node_name_for(std::string_view short_name, bool function);

// Keeps an implementation and the code that it runs.
inline void hold(const Implementation& implementation) noexcept {
  if (implementation.code != nullptr) implementation.code->acquire_node();
  if (implementation.rules_code != nullptr) implementation.rules_code->acquire_node();
}
inline void let_go(const Implementation& implementation) noexcept {
  PluginCode* const rules_code =
      implementation.rules_code;  // the implementation may go with its code
  if (implementation.code != nullptr) implementation.code->release_node();
  if (rules_code != nullptr) rules_code->release_node();
}

}  // namespace tenon::core

// The handle. Its address is stable for the life of the process.
struct tenon_op {
  explicit tenon_op(std::string full_name) : name(std::move(full_name)) {}
  std::string name;
  std::atomic<const tenon::core::Implementation*> implementation{nullptr};
  // The plugin that was unloaded, while no other provides the op.
  std::atomic<const std::string*> withdrawn_by{nullptr};
  // Null: none. They stay, for calls that read them.
  std::atomic<const tenon::core::ProviderPreferences*> preferences{nullptr};
  // Under the registry's lock: implementations that calls may run, best first. The first is
  // `implementation`, and each leads to the next.
  std::vector<const tenon::core::Implementation*> ranked;
};

namespace tenon::core {

// Preferences for calls that reach this implementation first; null: none.
inline const ProviderPreferences* preferences_of(const Implementation& implementation) noexcept {
  const tenon_op* op = implementation.op;
  return op == nullptr ? nullptr : op->preferences.load(std::memory_order_acquire);
}
// Whether another provider may run calls of it.
inline bool may_pass_on(const Implementation& implementation) noexcept {
  return implementation.descriptor.declines != nullptr || preferences_of(implementation) != nullptr;
}

}  // namespace tenon::core
