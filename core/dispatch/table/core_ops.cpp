// Finding and calling the ops of the contract.
#include "core/dispatch/table/core_ops.hpp"

#include <atomic>
#include <string>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/table/registry.hpp"

namespace tenon::core {

namespace {

constexpr CoreOpEntry kContract[] = {
#define TENON_CORE_OP(op, schema, use) {CoreOp::op, schema, use},
    TENON_CORE_OPS(TENON_CORE_OP)
#undef TENON_CORE_OP
};

// Whether calls that are written for `contract` fit the op.
bool serves(const Schema& op, const Schema& contract) {
  for (size_t i = 0; i < contract.parameters.size(); ++i) {
    if (i >= op.parameters.size()) return false;
    const Parameter& own = op.parameters[i];
    const Parameter& needed = contract.parameters[i];
    if (own.keyword_only || (needed.accept & ~own.accept) != 0 ||
        own.type.mutates != needed.type.mutates)
      return false;
  }
  for (size_t i = contract.parameters.size(); i < op.parameters.size(); ++i) {
    if (!op.parameters[i].has_default) return false;
  }
  return op.returns.size() == 1 && op.returns[0].kind == TypeKind::tensor && !op.returns[0].list;
}

[[noreturn, gnu::cold]] void fail_missing(const CoreOpEntry& entry, const std::string& name,
                                          Error cause) {
  Error error(TENON_ERROR_PLUGIN,
              "autograd needs op {} to {}, and no plugin provides it; plugin 'math' does: {} and "
              "leave loading from there on (`tenon plugins` lists what is found), or register '{}' "
              "in another plugin",
              quote(name), entry.use, plugin_folder_advice(), entry.schema);
  error.op = name;
  error.cause = std::make_shared<const tenon_error>(tenon_error{std::move(cause)});
  throw error;
}

}  // namespace

std::span<const CoreOpEntry> core_op_contract() { return kContract; }

const tenon_op* require_core_op(CoreOp op, const Registry& registry) {
  const CoreOpEntry& entry = kContract[static_cast<size_t>(op)];
  const Schema contract = parse_schema(entry.schema);
  const tenon_op* handle = nullptr;
  try {
    handle = registry.require(contract.name);
  } catch (const Error& cause) {
    fail_missing(entry, contract.name, cause);
  }
  const Implementation* active = handle->implementation.load(std::memory_order_acquire);
  // A disabled op says so itself when it is called.
  if (active == nullptr || serves(active->schema, contract)) return handle;
  Error error(TENON_ERROR_PLUGIN,
              "autograd calls op {} as '{}', to {}, but plugin '{}' provides '{}'; give that op "
              "another name",
              quote(contract.name), entry.schema, entry.use, active->provider, active->schema.text);
  error.op = contract.name;
  error.provider = active->provider;
  throw error;
}

// The op is looked up for its first call.
TensorRef call_core_op(CoreOp op, std::initializer_list<tenon_value> arguments) {
  static std::atomic<const tenon_op*> handles[std::size(kContract)];
  std::atomic<const tenon_op*>& kept = handles[static_cast<size_t>(op)];
  const tenon_op* handle = kept.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = require_core_op(op, Registry::process());
    kept.store(handle, std::memory_order_release);
  }
  tenon_value results[kMaxResults] = {};
  call_checked(call_op, handle, arguments.begin(), static_cast<int64_t>(arguments.size()), results);
  if (results[0].tag != TENON_VALUE_TENSOR) {
    release_value(results[0]);
    throw Error(TENON_ERROR_TYPE, "op '{}' did not return a tensor where the runtime needs one",
                handle->name);
  }
  return TensorRef::take(results[0].as.tensor);
}

}  // namespace tenon::core
