// Finding and calling the ops of the contract.
#include "core/dispatch/table/core_ops.hpp"

#include <atomic>
#include <string>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr CoreOpEntry kContract[] = {
    {CoreOp::add, "add(Tensor input, Tensor other) -> Tensor",
     "sum the gradients of a tensor that is used more than once"},
    {CoreOp::add_in_place, "add_(Tensor(a!) input, Tensor other) -> Tensor(a!)",
     "add a gradient to a .grad"},
    {CoreOp::as_strided,
     "as_strided(Tensor(a) input, int[] size, int[] stride, int storage_offset) -> Tensor(a)",
     "take the gradient or the tangent of a view out of that of its base"},
    {CoreOp::as_strided_scatter,
     "as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int storage_offset) "
     "-> Tensor",
     "put the gradient of a view into that of its base"},
    {CoreOp::clone, "clone(Tensor input) -> Tensor",
     "copy a tensor that is going to change, with its history"},
    {CoreOp::conj, "conj(Tensor(a) input) -> Tensor(a)",
     "take a tangent of a complex result from its backward rule"},
    {CoreOp::contiguous, "contiguous(Tensor(a) input) -> Tensor(a)",
     "take the gradient of a changed view out of that of its base"},
    {CoreOp::copy, "copy_(Tensor(a!) input, Tensor source) -> Tensor(a!)",
     "carry a tangent in the layout of its tensor"},
    {CoreOp::expand, "expand(Tensor(a) input, int[] size) -> Tensor(a)",
     "broadcast a tangent as its operand was"},
    {CoreOp::index_add, "index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
     "sum the gradients of elements that share memory"},
    {CoreOp::real, "real(Tensor(a) input) -> Tensor(a)",
     "give a real input its part of a complex gradient"},
    {CoreOp::reshape, "reshape(Tensor(a) input, int[] shape) -> Tensor(a)",
     "sum the gradients of elements that share memory"},
    {CoreOp::sum_to_size, "sum_to_size(Tensor input, int[] size) -> Tensor",
     "sum a gradient to the shape of an input that was broadcast"},
    {CoreOp::to, "to(Tensor(a) input, dtype dtype) -> Tensor(a)",
     "convert a gradient, a tangent or a parameter to another dtype"},
    {CoreOp::zero, "zero_(Tensor(a!) input) -> Tensor(a!)",
     "clear the tangent of a tensor that was overwritten"},
};
constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kContract); ++i) {
    if (static_cast<size_t>(kContract[i].op) != i) return false;
  }
  return true;
}
static_assert(in_order(), "core_op_contract() is in the order of CoreOp");

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

// Calls an op of the contract, which is looked up for its first call.
TensorRef call(CoreOp op, std::initializer_list<tenon_value> arguments) {
  static std::atomic<const tenon_op*> handles[std::size(kContract)];
  std::atomic<const tenon_op*>& kept = handles[static_cast<size_t>(op)];
  const tenon_op* handle = kept.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = require_core_op(op);
    kept.store(handle, std::memory_order_release);
  }
  return call_tensor(handle, {arguments.begin(), arguments.size()});
}

}  // namespace

std::span<const CoreOpEntry> core_op_contract() { return kContract; }

const tenon_op* require_core_op(CoreOp op) { return require_core_op(op, Registry::process()); }

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

namespace core_ops {

TensorRef add(Tensor& input, Tensor& other) {
  return call(CoreOp::add, {tensor_value(&input), tensor_value(&other)});
}
TensorRef add_in_place(Tensor& input, Tensor& other) {
  return call(CoreOp::add_in_place, {tensor_value(&input), tensor_value(&other)});
}
TensorRef as_strided(Tensor& input, Shape size, Shape stride, int64_t storage_offset) {
  return call(CoreOp::as_strided, {tensor_value(&input), int_list_value(size),
                                   int_list_value(stride), int_value(storage_offset)});
}
TensorRef as_strided_scatter(Tensor& input, Tensor& src, Shape size, Shape stride,
                             int64_t storage_offset) {
  return call(CoreOp::as_strided_scatter,
              {tensor_value(&input), tensor_value(&src), int_list_value(size),
               int_list_value(stride), int_value(storage_offset)});
}
TensorRef clone(Tensor& input) { return call(CoreOp::clone, {tensor_value(&input)}); }
TensorRef conj(Tensor& input) { return call(CoreOp::conj, {tensor_value(&input)}); }
TensorRef contiguous(Tensor& input) { return call(CoreOp::contiguous, {tensor_value(&input)}); }
TensorRef copy(Tensor& input, Tensor& source) {
  return call(CoreOp::copy, {tensor_value(&input), tensor_value(&source)});
}
TensorRef expand(Tensor& input, Shape size) {
  return call(CoreOp::expand, {tensor_value(&input), int_list_value(size)});
}
TensorRef index_add(Tensor& input, int64_t dim, Tensor& index, Tensor& source) {
  return call(CoreOp::index_add,
              {tensor_value(&input), int_value(dim), tensor_value(&index), tensor_value(&source)});
}
TensorRef real(Tensor& input) { return call(CoreOp::real, {tensor_value(&input)}); }
TensorRef reshape(Tensor& input, Shape shape) {
  return call(CoreOp::reshape, {tensor_value(&input), int_list_value(shape)});
}
TensorRef sum_to_size(Tensor& input, Shape size) {
  return call(CoreOp::sum_to_size, {tensor_value(&input), int_list_value(size)});
}
TensorRef to(Tensor& input, tenon_dtype dtype) {
  return call(CoreOp::to, {tensor_value(&input), dtype_value(dtype)});
}
TensorRef zero(Tensor& input) { return call(CoreOp::zero, {tensor_value(&input)}); }

TensorRef in_dtype(TensorRef tensor, tenon_dtype dtype) {
  if (dtype_complex(tensor->view.dtype) && !dtype_complex(dtype)) tensor = real(*tensor);
  return tensor->view.dtype == dtype ? tensor : to(*tensor, dtype);
}

}  // namespace core_ops

}  // namespace tenon::core
