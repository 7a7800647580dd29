// The ops that the core itself calls: a contract with the plugins, since the core has no
// mathematics. Plugin `math` provides them all; another plugin that does takes its place.
#pragma once

#include <cstdint>
#include <span>

#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

enum class CoreOp : uint8_t {
  add,
  add_in_place,
  as_strided,
  as_strided_scatter,
  clone,
  conj,
  contiguous,
  copy,
  expand,
  index_add,
  real,
  reshape,
  sum_to_size,
  to,
  zero,
};

struct CoreOpEntry {
  CoreOp op;
  const char* schema;  // that the op must serve; it may have more parameters, with defaults
  const char* use;     // that fails without it
};

// Every one, in the order of CoreOp.
std::span<const CoreOpEntry> core_op_contract();
// Its handle; loads the plugin that declares it when need be. Throws PluginError when no plugin
// provides it, or with another signature. Any thread.
const tenon_op* require_core_op(CoreOp op);
// The handle in another table than the process's.
class Registry;
const tenon_op* require_core_op(CoreOp op, const Registry& registry);

// ---- calls, recorded like any other; they throw ----
namespace core_ops {

TensorRef add(Tensor& input, Tensor& other);
TensorRef add_in_place(Tensor& input, Tensor& other);
TensorRef as_strided(Tensor& input, Shape size, Shape stride, int64_t storage_offset);
TensorRef as_strided_scatter(Tensor& input, Tensor& src, Shape size, Shape stride,
                             int64_t storage_offset);
TensorRef clone(Tensor& input);
TensorRef conj(Tensor& input);
TensorRef contiguous(Tensor& input);
TensorRef copy(Tensor& input, Tensor& source);
TensorRef expand(Tensor& input, Shape size);
TensorRef index_add(Tensor& input, int64_t dim, Tensor& index, Tensor& source);
TensorRef real(Tensor& input);
TensorRef reshape(Tensor& input, Shape shape);
TensorRef sum_to_size(Tensor& input, Shape size);
TensorRef to(Tensor& input, tenon_dtype dtype);
TensorRef zero(Tensor& input);

// As gradients and tangents are cast, `to`; where that would drop imaginary parts, of the real
// ones: real numbers vary along the real axis alone.
TensorRef in_dtype(TensorRef tensor, tenon_dtype dtype);

}  // namespace core_ops

}  // namespace tenon::core
