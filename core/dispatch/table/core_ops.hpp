// The ops that the core itself calls: a contract with the plugins, since the core has no
// mathematics. Plugin `math` provides them all; another plugin that does takes its place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"

// X(op, schema, use): the schema that the op must serve (it may have more parameters, with
// defaults), and what fails without it.
#define TENON_CORE_OPS(X)                                                                         \
  X(add, "add(Tensor input, Tensor other) -> Tensor",                                             \
    "sum the gradients of a tensor that is used more than once")                                  \
  X(add_in_place, "add_(Tensor(a!) input, Tensor other) -> Tensor(a!)",                           \
    "add a gradient to a .grad")                                                                  \
  X(as_strided,                                                                                   \
    "as_strided(Tensor(a) input, int[] size, int[] stride, int storage_offset) -> Tensor(a)",     \
    "take the gradient or the tangent of a view out of that of its base")                         \
  X(as_strided_scatter,                                                                           \
    "as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int storage_offset) " \
    "-> Tensor",                                                                                  \
    "put the gradient of a view into that of its base")                                           \
  X(clone, "clone(Tensor input) -> Tensor",                                                       \
    "copy a tensor that is going to change, with its history")                                    \
  X(conj, "conj(Tensor(a) input) -> Tensor(a)",                                                   \
    "take a tangent of a complex result from its backward rule")                                  \
  X(contiguous, "contiguous(Tensor(a) input) -> Tensor(a)",                                       \
    "take the gradient of a changed view out of that of its base")                                \
  X(copy, "copy_(Tensor(a!) input, Tensor source) -> Tensor(a!)",                                 \
    "carry a tangent in the layout of its tensor")                                                \
  X(expand, "expand(Tensor(a) input, int[] size) -> Tensor(a)",                                   \
    "broadcast a tangent as its operand was")                                                     \
  X(index_add, "index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",         \
    "sum the gradients of elements that share memory")                                            \
  X(real, "real(Tensor(a) input) -> Tensor(a)",                                                   \
    "give a real input its part of a complex gradient")                                           \
  X(reshape, "reshape(Tensor(a) input, int[] shape) -> Tensor(a)",                                \
    "sum the gradients of elements that share memory")                                            \
  X(sum_to_size, "sum_to_size(Tensor input, int[] size) -> Tensor",                               \
    "sum a gradient to the shape of an input that was broadcast")                                 \
  X(to, "to(Tensor(a) input, dtype dtype) -> Tensor(a)",                                          \
    "convert a gradient, a tangent or a parameter to another dtype")                              \
  X(zero, "zero_(Tensor(a!) input) -> Tensor(a!)",                                                \
    "clear the tangent of a tensor that was overwritten")

namespace tenon::core {

class Registry;

enum class CoreOp : uint8_t {
#define TENON_CORE_OP(op, schema, use) op,
  TENON_CORE_OPS(TENON_CORE_OP)
#undef TENON_CORE_OP
};

struct CoreOpEntry {
  CoreOp op;
  const char* schema;
  const char* use;
};

// Every one, in the order of CoreOp.
std::span<const CoreOpEntry> core_op_contract();
// Its handle; loads the plugin that declares it when need be. Throws PluginError when no plugin
// provides it, or with another signature. Any thread.
const tenon_op* require_core_op(CoreOp op, const Registry& registry);
// Calls the process's, recorded like any other; throws.
TensorRef call_core_op(CoreOp op, std::initializer_list<tenon_value> arguments);

namespace core_ops {

inline TensorRef add(Tensor& input, Tensor& other) {
  return call_core_op(CoreOp::add, {tensor_value(&input), tensor_value(&other)});
}
inline TensorRef add_in_place(Tensor& input, Tensor& other) {
  return call_core_op(CoreOp::add_in_place, {tensor_value(&input), tensor_value(&other)});
}
inline TensorRef as_strided(Tensor& input, Shape size, Shape stride, int64_t storage_offset) {
  return call_core_op(CoreOp::as_strided, {tensor_value(&input), int_list_value(size),
                                           int_list_value(stride), int_value(storage_offset)});
}
inline TensorRef as_strided_scatter(Tensor& input, Tensor& src, Shape size, Shape stride,
                                    int64_t storage_offset) {
  return call_core_op(CoreOp::as_strided_scatter,
                      {tensor_value(&input), tensor_value(&src), int_list_value(size),
                       int_list_value(stride), int_value(storage_offset)});
}
inline TensorRef clone(Tensor& input) {
  return call_core_op(CoreOp::clone, {tensor_value(&input)});
}
inline TensorRef conj(Tensor& input) { return call_core_op(CoreOp::conj, {tensor_value(&input)}); }
inline TensorRef contiguous(Tensor& input) {
  return call_core_op(CoreOp::contiguous, {tensor_value(&input)});
}
inline TensorRef copy(Tensor& input, Tensor& source) {
  return call_core_op(CoreOp::copy, {tensor_value(&input), tensor_value(&source)});
}
inline TensorRef expand(Tensor& input, Shape size) {
  return call_core_op(CoreOp::expand, {tensor_value(&input), int_list_value(size)});
}
inline TensorRef index_add(Tensor& input, int64_t dim, Tensor& index, Tensor& source) {
  return call_core_op(CoreOp::index_add, {tensor_value(&input), int_value(dim),
                                          tensor_value(&index), tensor_value(&source)});
}
inline TensorRef real(Tensor& input) { return call_core_op(CoreOp::real, {tensor_value(&input)}); }
inline TensorRef reshape(Tensor& input, Shape shape) {
  return call_core_op(CoreOp::reshape, {tensor_value(&input), int_list_value(shape)});
}
inline TensorRef sum_to_size(Tensor& input, Shape size) {
  return call_core_op(CoreOp::sum_to_size, {tensor_value(&input), int_list_value(size)});
}
inline TensorRef to(Tensor& input, tenon_dtype dtype) {
  return call_core_op(CoreOp::to, {tensor_value(&input), dtype_value(dtype)});
}
inline TensorRef zero(Tensor& input) { return call_core_op(CoreOp::zero, {tensor_value(&input)}); }

// As gradients and tangents are cast, `to`; where that would drop imaginary parts, of the real
// ones: real numbers vary along the real axis alone.
inline TensorRef in_dtype(TensorRef tensor, tenon_dtype dtype) {
  if (dtype_complex(tensor->view.dtype) && !dtype_complex(dtype)) tensor = real(*tensor);
  return tensor->view.dtype == dtype ? tensor : to(*tensor, dtype);
}

}  // namespace core_ops

}  // namespace tenon::core
