// The dense path of elementwise kernels, and the entries of all.
#include "core/kernel/elementwise.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/growable.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/machine.hpp"
#include "core/base/parallel.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/kernel/elementwise_call.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kStreamBytes = 16 << 20;  // outputs from here on bypass the caches
constexpr int64_t kStreamBlock = 512;       // bytes at once then: so that reads and writes overlap

uint32_t find_isa() {
  uint32_t best = detect_isa();
  if (const char* limit = environment("TENON_ISA")) {
    if (std::strcmp(limit, "baseline") == 0) best = TENON_ISA_BASELINE;
    if (std::strcmp(limit, "v3") == 0) best = std::min<uint32_t>(best, TENON_ISA_V3);
  }
  return best;
}
}  // namespace

const uint32_t best_isa = find_isa();

namespace {

// Runs a dense loop through a small buffer and writes that past the caches: an output that they
// cannot hold need not be read before it is written.
void run_streamed(tenon_loop loop, char* const* data, const int64_t* strides, int64_t operands,
                  int64_t count, const tenon_value* parameters) {
  if constexpr (!kHasStreams) return loop(data, strides, count, parameters);
  alignas(64) char buffer[kStreamBlock];
  const int64_t block = kStreamBlock / strides[0];
  char* part[kMaxOperands] = {};
  int64_t done = 0;
  for (; done + block <= count; done += block) {
    for (int64_t k = 1; k < operands; ++k) part[k] = data[k] + done * strides[k];
    part[0] = buffer;
    loop(part, strides, block, parameters);
    stream(data[0] + done * strides[0], buffer, kStreamBlock);
  }
  finish_streams();
  if (done == count) return;
  for (int64_t k = 0; k < operands; ++k) part[k] = data[k] + done * strides[k];
  loop(part, strides, count - done, parameters);
}

// In line, for few dimensions.
inline bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a.view.rank != b.view.rank) return false;
  for (size_t d = 0; d < a.view.rank; ++d) {
    if (a.view.shape[d] != b.view.shape[d]) return false;
  }
  return true;
}

// The first tensor of operands that are all dense and of one floating dtype and shape, or numbers;
// else null.
inline const Tensor* dense_model(const ElementwiseCall& call) {
  const Tensor* model = nullptr;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag != TENON_VALUE_TENSOR) continue;
    const Tensor* tensor = value.as.tensor;
    if ((tensor->view.flags & (TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_SHAPE_ONLY)) !=
        TENON_TENSOR_CONTIGUOUS)
      return nullptr;
    if (model == nullptr) {
      model = tensor;
      continue;
    }
    if (tensor->view.dtype != model->view.dtype || !same_sizes(*model, *tensor)) return nullptr;
  }
  const bool dense =
      model != nullptr && (model->view.dtype == TENON_F32 || model->view.dtype == TENON_F64);
  return dense ? model : nullptr;
}

// Whether the result may be written into the target as it is computed.
inline bool fits_dense(const ElementwiseCall& call, const Tensor& model) {
  const Tensor& target = *call.target;
  if (call.implementation.elementwise.promotion == TENON_PROMOTE_COMPARE ||
      target.view.dtype != model.view.dtype || !target.contiguous() || !same_sizes(target, model))
    return false;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR && value.as.tensor->storage == target.storage &&
        value.as.tensor->view.data != target.view.data)
      return false;
  }
  return true;
}

// Operands of a dense loop: the output, then the inputs.
struct DenseOperands {
  alignas(16) char numbers[kMaxOperands - 1][16];
  char* data[kMaxOperands];
  int64_t strides[kMaxOperands];  // in bytes; 0 for numbers
};

inline void place_operands(const ElementwiseCall& call, tenon_dtype dtype, DenseOperands& dense) {
  const int64_t size = dtype_bytes(dtype);
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR) {
      dense.data[i + 1] = static_cast<char*>(value.as.tensor->view.data);
      dense.strides[i + 1] = size;
      continue;
    }
    const double number =
        value.tag == TENON_VALUE_FLOAT ? value.as.number : static_cast<double>(value.as.integer);
    if (dtype == TENON_F32) {
      const auto single = static_cast<float>(number);
      std::memcpy(dense.numbers[i], &single, sizeof(single));
    } else {
      std::memcpy(dense.numbers[i], &number, sizeof(number));
    }
    dense.data[i + 1] = dense.numbers[i];
    dense.strides[i + 1] = 0;
  }
}

// More elements than one thread takes.
[[gnu::noinline]] void run_dense_in_parallel(const ElementwiseCall& call, tenon_loop loop,
                                             const DenseOperands& dense, int64_t count,
                                             const tenon_value* parameters) {
  const size_t operands = call.count + 1;
  // Transcendental functions take longer than the reads that streaming saves.
  bool streams = count * dense.strides[0] >= kStreamBytes &&
                 reinterpret_cast<uintptr_t>(dense.data[0]) % 64 == 0 &&
                 call.implementation.elementwise.promotion != TENON_PROMOTE_FLOAT;
  for (size_t k = 1; k < operands; ++k) streams &= dense.data[k] != dense.data[0];
  std::optional<UninterruptedGuard> whole;
  if (call.target != nullptr) whole.emplace();
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    char* part[kMaxOperands] = {};
    for (size_t k = 0; k < operands; ++k) part[k] = dense.data[k] + begin * dense.strides[k];
    if (streams)
      run_streamed(loop, part, dense.strides, static_cast<int64_t>(operands), end - begin,
                   parameters);
    else
      loop(part, dense.strides, end - begin, parameters);
  });
}

// Dense operands of one dtype and shape (or numbers): no strides to think of. Null where the call
// is not of that kind. `kBorrowed`: the target comes back without another reference.
template <bool kBorrowed = false>
[[gnu::always_inline]] inline Tensor* run_dense(const ElementwiseCall& call) {
  const Tensor* const model = dense_model(call);
  if (model == nullptr) return nullptr;
  const tenon_dtype dtype = model->view.dtype;
  const tenon_loop loop =
      call.implementation.elementwise.loops[best_isa * TENON_COMPUTED_DTYPE_COUNT + dtype];
  if (loop == nullptr || call.implementation.scalar_parameters.size() > kMaxOperands)
    return nullptr;

  const bool compares = call.implementation.elementwise.promotion == TENON_PROMOTE_COMPARE;
  Tensor* output = call.target;
  TensorRef made;
  if (output == nullptr) {
    made = make_empty(compares ? tenon_dtype{TENON_BOOL} : dtype, model->shape());
    output = made.get();
  } else if (!fits_dense(call, *model)) {
    return nullptr;
  }
  DenseOperands dense;
  dense.data[0] = static_cast<char*>(output->view.data);
  dense.strides[0] = compares ? 1 : dtype_bytes(dtype);
  place_operands(call, dtype, dense);
  tenon_value parameters[kMaxOperands];
  gather_parameters(call, parameters);
  const int64_t count = model->view.count;
  if (count <= kGrain) [[likely]] {
    if (count > 0) loop(dense.data, dense.strides, count, parameters);
  } else {
    run_dense_in_parallel(call, loop, dense, count, parameters);
  }
  if (output == call.target) {
    if constexpr (!kBorrowed) output->retain();
    return output;
  }
  return made.give();
}

inline void find_target(ElementwiseCall& call) {
  const Implementation& implementation = call.implementation;
  if (implementation.out_parameter >= 0 &&
      call.arguments[implementation.out_parameter].tag == TENON_VALUE_TENSOR) {
    call.target = call.arguments[implementation.out_parameter].as.tensor;
  } else if (implementation.mutates) {
    call.target = call.operand(0).as.tensor;
    call.in_place = true;
  }
}

tenon_status run_elementwise(void* self, tenon_context*, const tenon_value* arguments,
                             tenon_value* results, tenon_error** error) {
  const auto& implementation = *static_cast<const Implementation*>(self);
  // As guarded, whose body GCC makes another function, for 17 instructions in each call.
  try {
    ElementwiseCall call = make_call(implementation, arguments);
    find_target(call);
    if (call.target != nullptr && call.target->has_flag(TENON_TENSOR_SHAPE_ONLY)) [[unlikely]] {
      throw Error(TENON_ERROR_RUNTIME, "{}: the tensor to write has a shape but no data",
                  name_of(implementation));
    }
    Tensor* output = call.condition ? nullptr : run_dense(call);
    if (output == nullptr) output = run_general(call);
    results[0] = tenon_value{};
    results[0].tag = TENON_VALUE_TENSOR;
    results[0].as.tensor = output;
    return TENON_OK;
  } catch (...) {
    return report_current_exception(error);
  }
}

}  // namespace

tenon_status run_elementwise_into(const Implementation& implementation,
                                  const tenon_value* arguments, Tensor& result,
                                  tenon_error** error) noexcept {
  try {  // as in run_elementwise
    ElementwiseCall call = make_call(implementation, arguments);
    call.target = &result;
    if (run_dense<true>(call) == nullptr) run_general(call)->release();
    return TENON_OK;
  } catch (...) {
    const tenon_status status = report_current_exception(error);
    add_error_context(error, implementation, status);
    return status;
  }
}

KernelChoice choose_kernel(const Implementation& implementation, const tenon_value* arguments) {
  ElementwiseCall call = make_call(implementation, arguments);
  choose_dtypes(call);
  return {call.compute, call.result, find_loop_isa(implementation, call.compute)};
}

TensorRef elementwise_shape(const Implementation& implementation, const tenon_value* arguments) {
  ElementwiseCall call = make_call(implementation, arguments);
  find_target(call);
  choose_dtypes(call);
  find_loop_isa(implementation, call.compute);
  const Sizes shape = result_shape(call);
  if (call.target == nullptr) return make_empty(call.result, shape);
  check_target(call, shape);
  return TensorRef(call.target);
}

const char* isa_text(uint32_t isa) {
  static const char* const names[TENON_ISA_COUNT] = {"baseline", "v3", "v4"};
  return names[isa];
}

uint32_t machine_isa() noexcept { return best_isa; }

void prepare_elementwise(Implementation& implementation) {
  implementation.elementwise = copy_growable(*implementation.descriptor.elementwise);
  const Schema& schema = implementation.schema;
  for (size_t i = 0; i < schema.parameters.size(); ++i) {
    const Parameter& parameter = schema.parameters[i];
    if (static_cast<int32_t>(i) == implementation.out_parameter) continue;
    const bool operand = parameter.type.kind == TypeKind::tensor ||
                         parameter.type.kind == TypeKind::tensor_or_scalar;
    (operand ? implementation.operand_parameters : implementation.scalar_parameters)
        .push_back(static_cast<uint8_t>(i));
  }
  const size_t operands = implementation.operand_parameters.size();
  if (operands == 0 || operands >= static_cast<size_t>(kMaxOperands) ||
      schema.returns.size() != 1) {
    throw Error(TENON_ERROR_VALUE,
                "op '{}': an elementwise op has one to three tensor operands and one result",
                schema.name);
  }
  implementation.self = &implementation;
  implementation.run = run_elementwise;
}

}  // namespace tenon::core
