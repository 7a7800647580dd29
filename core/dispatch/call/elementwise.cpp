// Running elementwise kernels.
#include "core/dispatch/call/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "core/base/allocator.hpp"
#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/machine.hpp"
#include "core/base/parallel.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kMaxOperands = 4;       // the output and three inputs
constexpr int64_t kGrain = 65536;         // elements that are worth a thread
constexpr int64_t kPanelBytes = 32768;    // of a packed panel: it stays in the nearest cache
constexpr int64_t kPanelLineBytes = 128;  // of each line that a panel takes: what one miss fetches
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
const uint32_t best_isa = find_isa();

std::string name_of(const Implementation& implementation) {
  return format_text("{}()", implementation.schema.short_name());
}

// Null where the op refuses complex operands.
tenon_loop complex_loop(const Implementation& implementation, tenon_dtype dtype) {
  const tenon_loop* loops = implementation.elementwise.complex_loops;
  return loops == nullptr ? nullptr : loops[dtype - TENON_C64];
}

// The best instruction set that has a loop for the dtype.
uint32_t find_loop_isa(const Implementation& implementation, tenon_dtype dtype) {
  const tenon_loop* loops = implementation.elementwise.loops;
  for (uint32_t isa = best_isa; dtype_computed(dtype); --isa) {
    if (loops[isa * TENON_COMPUTED_DTYPE_COUNT + dtype] != nullptr) return isa;
    if (isa == 0) break;
  }
  if (dtype_complex(dtype)) {
    if (complex_loop(implementation, dtype) != nullptr) return TENON_ISA_BASELINE;
    throw Error(TENON_ERROR_TYPE,
                "{} is not implemented for {} operands: take real(), imag() or abs() of them",
                name_of(implementation), dtype_text(dtype));
  }
  if (!dtype_computed(dtype)) {
    throw Error(TENON_ERROR_TYPE,
                "{} is not implemented for {} operands: convert them to i64 or f32 with to()",
                name_of(implementation), dtype_text(dtype));
  }
  throw Error(TENON_ERROR_TYPE, "{} is not implemented for {} operands", name_of(implementation),
              dtype_text(dtype));
}
tenon_loop find_loop(const Implementation& implementation, tenon_dtype dtype) {
  const uint32_t isa = find_loop_isa(implementation, dtype);
  return dtype_complex(dtype)
             ? complex_loop(implementation, dtype)
             : implementation.elementwise.loops[isa * TENON_COMPUTED_DTYPE_COUNT + dtype];
}

struct ElementwiseCall {
  const Implementation& implementation;
  const tenon_value* arguments;
  size_t count = 0;  // of operands
  bool condition = false;
  tenon_dtype compute = TENON_DTYPE_NONE;  // of the loop: f32 where the result is f16 or bf16
  tenon_dtype result = TENON_DTYPE_NONE;
  bool biased = false;       // u64 operands, compared in the order that i64 gives them
  Tensor* target = nullptr;  // borrowed: `out` or the operand changed in place
  bool in_place = false;

  const tenon_value& operand(size_t i) const {
    return arguments[implementation.operand_parameters[i]];
  }
  bool compares() const { return implementation.elementwise.promotion == TENON_PROMOTE_COMPARE; }
  // What the loop writes.
  tenon_dtype written() const {
    if (implementation.elementwise.promotion == TENON_PROMOTE_MAGNITUDE) return real_dtype(compute);
    return compares() ? tenon_dtype{TENON_BOOL} : compute;
  }
  tenon_dtype dtype_of_input(size_t i) const {
    return condition && i == 0 ? tenon_dtype{TENON_BOOL} : compute;
  }
};

ElementwiseCall make_call(const Implementation& implementation, const tenon_value* arguments) {
  ElementwiseCall call{implementation, arguments};
  call.count = implementation.operand_parameters.size();
  call.condition = implementation.elementwise.promotion == TENON_PROMOTE_CONDITION;
  return call;
}

// The dtype of mixed operands: tensors with dimensions first; 0-dim tensors, then numbers, only
// where they are of a higher category (bool, integer, floating, complex). A floating dtype stays
// that of the parts when it becomes complex.
tenon_dtype common_dtype_of(const ElementwiseCall& call, size_t first) {
  tenon_dtype by_rank[3] = {TENON_DTYPE_NONE, TENON_DTYPE_NONE, TENON_DTYPE_NONE};
  for (size_t i = first; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR) {
      const Tensor& tensor = *value.as.tensor;
      tenon_dtype& dtype = by_rank[tensor.view.rank == 0 ? 1 : 0];
      dtype = common_dtype(dtype, tensor.view.dtype);
    } else {
      const tenon_dtype own = value.tag == TENON_VALUE_FLOAT ? TENON_F32
                              : value.tag == TENON_VALUE_INT ? TENON_I64
                                                             : TENON_BOOL;
      by_rank[2] = promote_dtypes(by_rank[2], own);
    }
  }
  tenon_dtype result = by_rank[0];
  for (const tenon_dtype lower : {by_rank[1], by_rank[2]}) {
    if (lower == TENON_DTYPE_NONE) continue;
    if (result == TENON_DTYPE_NONE || dtype_category(lower) > dtype_category(result))
      result = dtype_complex(lower) && dtype_floating(result) ? complex_dtype(result) : lower;
  }
  return result;
}

void store_number(const tenon_value& value, tenon_dtype dtype, void* to) {
  visit_dtype(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (dtype_computed(dtype_of<T>())) {
      const T number = value.tag == TENON_VALUE_FLOAT ? static_cast<T>(value.as.number)
                                                      : static_cast<T>(value.as.integer);
      std::memcpy(to, &number, sizeof(T));
    } else if constexpr (dtype_complex(dtype_of<T>())) {
      using Part = decltype(T::real);
      const T number{value.tag == TENON_VALUE_FLOAT ? static_cast<Part>(value.as.number)
                                                    : static_cast<Part>(value.as.integer),
                     Part{0}};
      std::memcpy(to, &number, sizeof(T));
    }
  });
}

// The iteration space: dimensions merged where all operands allow it, the densest last.
struct Space {
  int64_t rank = 0;
  int64_t operands = 0;
  int64_t shape[TENON_MAX_RANK];
  int64_t strides[TENON_MAX_RANK][kMaxOperands];  // bytes

  void push(int64_t size, const int64_t* dimension_strides) {
    if (size == 1) return;
    if (rank > 0) {
      bool merges = true;
      for (int64_t k = 0; k < operands; ++k)
        merges &= strides[rank - 1][k] == dimension_strides[k] * size;
      if (merges) {
        shape[rank - 1] *= size;
        std::copy_n(dimension_strides, operands, strides[rank - 1]);
        return;
      }
    }
    shape[rank] = size;
    std::copy_n(dimension_strides, operands, strides[rank]);
    ++rank;
  }
};

// Runs rows [begin, end) of a space whose last dimension is the loop's.
void run_rows(const Space& space, char* const* bases, tenon_loop loop,
              const tenon_value* parameters, int64_t begin, int64_t end) {
  const int64_t inner = space.rank - 1;
  int64_t index[TENON_MAX_RANK] = {};
  char* data[kMaxOperands];
  std::copy_n(bases, space.operands, data);
  for (int64_t d = inner - 1, rest = begin; d >= 0; --d) {
    index[d] = rest % space.shape[d];
    rest /= space.shape[d];
    for (int64_t k = 0; k < space.operands; ++k) data[k] += index[d] * space.strides[d][k];
  }
  for (int64_t row = begin; row < end; ++row) {
    loop(data, space.strides[inner], space.shape[inner], parameters);
    for (int64_t d = inner - 1; d >= 0; --d) {
      for (int64_t k = 0; k < space.operands; ++k) data[k] += space.strides[d][k];
      if (++index[d] < space.shape[d]) break;
      for (int64_t k = 0; k < space.operands; ++k) data[k] -= space.strides[d][k] * space.shape[d];
      index[d] = 0;
    }
  }
}

// Rows of a panel from the lines of a column-major operand: target[i][j] = lines[j][i]. Four by
// four in registers (two by two of 64 bits), so that neither side is touched element by element.
template <class Word>
void pack_panel(const char* lines, int64_t line_stride, char* target, int64_t row_stride,
                int64_t rows, int64_t width) {
  constexpr int64_t side = 16 / sizeof(Word);
  constexpr int64_t ahead =
      16;  // lines to fetch beforehand: their stride hides them from the processor
  using Quad [[gnu::vector_size(16)]] = Word;
  const int64_t whole_rows = rows / side * side, whole_width = width / side * side;
  for (int64_t j = 0; j < whole_width; j += side) {
    for (int64_t k = 0; k < side; ++k) {
      const char* next = lines + std::min(j + k + ahead, width - 1) * line_stride;
      __builtin_prefetch(next);
      if (rows * static_cast<int64_t>(sizeof(Word)) > 64) __builtin_prefetch(next + 64);
    }
    for (int64_t i = 0; i < whole_rows; i += side) {
      const char* from = lines + j * line_stride + i * static_cast<int64_t>(sizeof(Word));
      char* to = target + i * row_stride + j * static_cast<int64_t>(sizeof(Word));
      Quad in[side], out[side];
      for (int64_t k = 0; k < side; ++k) std::memcpy(&in[k], from + k * line_stride, sizeof(Quad));
      if constexpr (side == 4) {
        const Quad a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5),
                   b = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
        const Quad c = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5),
                   d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
        out[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
        out[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
        out[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
        out[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
      } else {
        out[0] = __builtin_shufflevector(in[0], in[1], 0, 2);
        out[1] = __builtin_shufflevector(in[0], in[1], 1, 3);
      }
      for (int64_t k = 0; k < side; ++k) std::memcpy(to + k * row_stride, &out[k], sizeof(Quad));
    }
  }
  const auto move = [&](int64_t i, int64_t j) {
    std::memcpy(target + i * row_stride + j * static_cast<int64_t>(sizeof(Word)),
                lines + j * line_stride + i * static_cast<int64_t>(sizeof(Word)), sizeof(Word));
  };
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < whole_rows ? whole_width : 0; j < width; ++j) move(i, j);
  }
}

constexpr int64_t kPanelBlockBytes = 2 * kPanelBytes + kPanelLineBytes * 64;
struct ReleasePanel {
  void operator()(char* memory) const noexcept { release(memory, kPanelBlockBytes); }
};

// 2-D spaces in which an input runs down the other dimension: packs panels of its rows so that the
// loop stays dense. One pass over memory instead of one cache line per element.
bool run_packed(const Space& space, char* const* bases, tenon_loop loop,
                const tenon_value* parameters, const int64_t* sizes) {
  if (space.rank != 2 || space.shape[1] < 16 || space.shape[0] < 16) return false;
  int64_t packed = -1;
  for (int64_t k = 1; k < space.operands; ++k) {
    if (space.strides[1][k] != sizes[k] && space.strides[1][k] != 0) {
      if (packed >= 0 || space.strides[0][k] != sizes[k]) return false;
      packed = k;
    }
  }
  if (packed < 0 || (sizes[packed] != 4 && sizes[packed] != 8)) return false;
  const int64_t size = sizes[packed];
  const int64_t rows_per_panel = kPanelLineBytes / size;
  const int64_t columns = std::min(space.shape[1], kPanelBytes / kPanelLineBytes);
  const int64_t pitch =
      columns * size + 64;  // rows that lay a power of two apart would share few cache lines
  const int64_t panels = (space.shape[0] + rows_per_panel - 1) / rows_per_panel;
  parallel_for(
      0, panels, std::max<int64_t>(1, kGrain / (rows_per_panel * space.shape[1])),
      [&](int64_t from, int64_t to) {
        const std::unique_ptr<char, ReleasePanel> panel_memory(
            static_cast<char*>(allocate(kPanelBlockBytes)));
        char* const buffer = panel_memory.get();
        for (int64_t panel = from; panel < to; ++panel) {
          const int64_t row = panel * rows_per_panel;
          const int64_t rows = std::min(rows_per_panel, space.shape[0] - row);
          for (int64_t column = 0; column < space.shape[1]; column += columns) {
            const int64_t width = std::min(columns, space.shape[1] - column);
            const char* source = bases[packed] + row * size + column * space.strides[1][packed];
            const int64_t line_stride = space.strides[1][packed];
            if (size == 4)
              pack_panel<uint32_t>(source, line_stride, buffer, pitch, rows, width);
            else
              pack_panel<uint64_t>(source, line_stride, buffer, pitch, rows, width);
            int64_t strides[kMaxOperands];
            std::copy_n(space.strides[1], space.operands, strides);
            strides[packed] = size;
            for (int64_t i = 0; i < rows; ++i) {
              char* data[kMaxOperands];
              for (int64_t k = 0; k < space.operands; ++k) {
                data[k] = bases[k] + (row + i) * space.strides[0][k] + column * space.strides[1][k];
              }
              data[packed] = buffer + i * pitch;
              loop(data, strides, width, parameters);
            }
          }
        }
      });
  return true;
}

void run_space(const Space& space, char* const* bases, tenon_loop loop,
               const tenon_value* parameters, const int64_t* sizes) {
  if (space.rank == 0) {
    const int64_t strides[kMaxOperands] = {sizes[0], sizes[1], sizes[2], sizes[3]};
    loop(bases, strides, 1, parameters);
    return;
  }
  if (run_packed(space, bases, loop, parameters, sizes)) return;
  const int64_t inner = space.rank - 1;
  int64_t rows = 1;
  for (int64_t d = 0; d < inner; ++d) rows *= space.shape[d];
  if (rows == 1) {
    parallel_for(0, space.shape[inner], kGrain, [&](int64_t begin, int64_t end) {
      char* data[kMaxOperands];
      for (int64_t k = 0; k < space.operands; ++k)
        data[k] = bases[k] + begin * space.strides[inner][k];
      loop(data, space.strides[inner], end - begin, parameters);
    });
    return;
  }
  parallel_for(
      0, rows, std::max<int64_t>(1, kGrain / space.shape[inner]),
      [&](int64_t begin, int64_t end) { run_rows(space, bases, loop, parameters, begin, end); });
}

// A number is never cut to an integer dtype that cannot hold it.
void check_number(const ElementwiseCall& call, const tenon_value& value, tenon_dtype dtype) {
  const bool number = value.tag >= TENON_VALUE_BOOL && value.tag <= TENON_VALUE_FLOAT;
  if (!number || number_fits(value, dtype)) return;
  throw Error(TENON_ERROR_VALUE, "{}: {}: convert the tensor to a wider dtype with to()",
              name_of(call.implementation), misfit_text(value, dtype));
}

// Integers are compared as they are: in a dtype that holds every operand, 0-dim ones and numbers
// included; i64 for u16 and u32.
tenon_dtype widest_integer(const ElementwiseCall& call) {
  tenon_dtype widest = TENON_BOOL;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR)
      widest = common_dtype(widest == TENON_BOOL ? tenon_dtype{TENON_DTYPE_NONE} : widest,
                            value.as.tensor->view.dtype);
  }
  if (widest == TENON_U16 || widest == TENON_U32) return TENON_I64;
  if (widest == TENON_U64) return widest;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_INT && (widest == TENON_BOOL || !number_fits(value, widest)))
      widest = TENON_I64;
  }
  return widest;
}

void choose_dtypes(ElementwiseCall& call) {
  const Implementation& implementation = call.implementation;
  const uint32_t promotion = implementation.elementwise.promotion;
  const size_t first = call.condition ? 1 : 0;
  tenon_dtype common = common_dtype_of(call, first);
  if (common == TENON_DTYPE_NONE) common = TENON_F32;
  const bool whole = !dtype_differentiable(common);
  if (promotion == TENON_PROMOTE_COMPARE && whole) common = widest_integer(call);
  if (promotion == TENON_PROMOTE_FLOAT && whole) common = TENON_F32;
  for (size_t i = first; i < call.count; ++i) check_number(call, call.operand(i), common);
  // A parameter such as alpha takes part only by refusing to lose its fraction.
  for (const uint8_t index : implementation.scalar_parameters) {
    const tenon_value& value = call.arguments[index];
    if (value.tag == TENON_VALUE_FLOAT && !dtype_differentiable(common) &&
        promotion != TENON_PROMOTE_COMPARE && value.as.number != std::trunc(value.as.number)) {
      throw Error(TENON_ERROR_TYPE, "{}: argument '{}' must be an integer for {} operands",
                  name_of(implementation), implementation.schema.parameters[index].name,
                  dtype_text(common));
    }
    check_number(call, value, common);
  }
  // What only chooses between elements moves u16, u32 and u64 as i64, which has all of their bits.
  if (call.condition && dtype_wide_unsigned(common)) {
    call.compute = TENON_I64;
    call.result = common;
    return;
  }
  call.biased = call.compares() && common == TENON_U64;
  call.compute = call.biased ? tenon_dtype{TENON_I64} : compute_dtype(common);
  call.result = promotion == TENON_PROMOTE_MAGNITUDE ? real_dtype(common)
                : call.compares()                    ? tenon_dtype{TENON_BOOL}
                                                     : common;
}

// The parameters as the loop sees them, in schema order.
void gather_parameters(const ElementwiseCall& call, tenon_value* parameters) {
  size_t i = 0;
  for (const uint8_t index : call.implementation.scalar_parameters)
    parameters[i++] = call.arguments[index];
}

// The operands of a call that needs more than the dense path: converted and broadcast.
struct Operands {
  TensorRef converted[kMaxOperands - 1];
  const Tensor* tensors[kMaxOperands - 1] = {};  // null for numbers
  alignas(16) char numbers[kMaxOperands - 1][16];
  Sizes shape{};  // of the result
};

// A copy of u64 elements as the i64 that compare as they do: the highest bit is the other way
// round.
TensorRef biased_copy(const Tensor& tensor) {
  TensorRef copy = contiguous_copy(tensor, TENON_U64);
  auto* elements = static_cast<uint64_t*>(copy->view.data);
  for (int64_t i = 0; i < copy->view.count; ++i) elements[i] ^= uint64_t{1} << 63;
  copy->view.dtype = TENON_I64;
  return copy;
}

Sizes result_shape(const ElementwiseCall& call) {
  Sizes shape{};
  for (size_t i = 0; i < call.count; ++i) {
    if (call.operand(i).tag != TENON_VALUE_TENSOR) continue;
    const Tensor& tensor = *call.operand(i).as.tensor;
    if (tensor.has_flag(TENON_TENSOR_SHAPE_ONLY)) {
      throw Error(TENON_ERROR_RUNTIME,
                  "{}: an operand has a shape but no data: it was saved as shape(...) alone",
                  name_of(call.implementation));
    }
    try {
      shape = broadcast_shapes(shape, tensor.shape());
    } catch (Error& error) {
      error.message = format_text("{}: {}", name_of(call.implementation), error.message);
      throw;
    }
  }
  return shape;
}

void read_operands(const ElementwiseCall& call, Operands& operands) {
  operands.shape = result_shape(call);
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    const tenon_dtype expected = call.dtype_of_input(i);
    if (value.tag != TENON_VALUE_TENSOR) {
      tenon_value number = value;
      if (call.biased) number.as.integer ^= INT64_MIN;
      store_number(number, expected, operands.numbers[i]);
      continue;
    }
    const Tensor*& tensor = operands.tensors[i];
    tensor = value.as.tensor;
    if (call.biased) {
      operands.converted[i] = biased_copy(*tensor);
      tensor = operands.converted[i].get();
    } else if (tensor->view.dtype != expected) {
      operands.converted[i] = contiguous_copy(*tensor, expected);
      tensor = operands.converted[i].get();
    }
  }
}

void check_target(const ElementwiseCall& call, const Sizes& shape) {
  const Tensor& target = *call.target;
  if (!same_shape(target.shape(), shape)) {
    throw Error(TENON_ERROR_VALUE, "{}: {} has shape {} but the result has shape {}",
                name_of(call.implementation),
                call.in_place ? "the tensor changed in place" : "'out'", shape_text(target.shape()),
                shape_text(shape));
  }
  if (dtype_category(call.result) > dtype_category(target.view.dtype)) {
    throw Error(TENON_ERROR_TYPE, "{}: the result has dtype {}, which cannot be written into {}",
                name_of(call.implementation), dtype_text(call.result),
                dtype_text(target.view.dtype));
  }
}

bool same_view(const Tensor& a, const Tensor& b) {
  return a.view.data == b.view.data && a.view.dtype == b.view.dtype &&
         same_shape(a.strides(), b.strides()) && same_shape(a.shape(), b.shape());
}

// The target is written through a temporary when dtypes differ, when elements of it coincide, or
// when an operand overlaps it other than exactly.
bool needs_temporary(const ElementwiseCall& call, const Operands& operands) {
  const Tensor& target = *call.target;
  if (target.view.dtype != call.written()) return true;
  for (size_t d = 0; d < target.view.rank; ++d) {
    if (target.view.strides[d] == 0 && target.view.shape[d] > 1) return true;
  }
  for (size_t i = 0; i < call.count; ++i) {
    const Tensor* const tensor = operands.tensors[i];
    if (tensor == nullptr || operands.converted[i] || tensor->storage != target.storage) continue;
    if (!same_view(*tensor, target)) return true;
  }
  return false;
}

void run_strided(const ElementwiseCall& call, tenon_loop loop, Operands& operands, Tensor& output) {
  if (output.view.count == 0) return;
  int64_t sizes[kMaxOperands] = {};
  char* bases[kMaxOperands] = {};
  Sizes expanded[kMaxOperands - 1];
  bases[0] = static_cast<char*>(output.view.data);
  sizes[0] = dtype_bytes(output.view.dtype);
  for (size_t i = 0; i < call.count; ++i) {
    sizes[i + 1] = dtype_bytes(call.dtype_of_input(i));
    const Tensor* const tensor = operands.tensors[i];
    if (tensor == nullptr) {
      bases[i + 1] = operands.numbers[i];
    } else {
      bases[i + 1] = static_cast<char*>(tensor->view.data);
      expanded[i] = expanded_strides(tensor->shape(), tensor->strides(), operands.shape);
    }
  }
  Space space;
  space.operands = static_cast<int64_t>(call.count) + 1;
  for (int64_t d = 0; d < operands.shape.rank; ++d) {
    int64_t strides[kMaxOperands];
    strides[0] = output.view.strides[d] * sizes[0];
    for (size_t i = 0; i < call.count; ++i)
      strides[i + 1] = operands.tensors[i] == nullptr ? 0 : expanded[i][d] * sizes[i + 1];
    space.push(operands.shape[d], strides);
  }
  tenon_value parameters[kMaxParameters];
  gather_parameters(call, parameters);
  run_space(space, bases, loop, parameters, sizes);
}

[[gnu::noinline]] Tensor* run_general(ElementwiseCall& call) {
  choose_dtypes(call);
  const tenon_loop loop = find_loop(call.implementation, call.compute);
  Operands operands;
  read_operands(call, operands);
  Tensor* const target = call.target;
  if (target != nullptr) {
    check_target(call, operands.shape);
    if (!needs_temporary(call, operands)) {
      const UninterruptedGuard whole;
      run_strided(call, loop, operands, *target);
      target->retain();
      return target;
    }
  }
  TensorRef made = make_empty(call.written(), operands.shape);
  run_strided(call, loop, operands, *made);
  if (target == nullptr) {
    if (call.written() != call.result) made = contiguous_copy(*made, call.result);
    return made.give();
  }
  const uint32_t version = target->version();
  const UninterruptedGuard whole;
  copy(*target, *made);  // raises the version; so does the dispatcher, once for each call
  target->storage->version.store(version, std::memory_order_relaxed);
  target->retain();
  return target;
}

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
    if (tensor->view.dtype != model->view.dtype || tensor->view.rank != model->view.rank)
      return nullptr;
    for (size_t d = 0; d < model->view.rank; ++d) {
      if (tensor->view.shape[d] != model->view.shape[d]) return nullptr;
    }
  }
  const bool dense =
      model != nullptr && (model->view.dtype == TENON_F32 || model->view.dtype == TENON_F64);
  return dense ? model : nullptr;
}

// Whether the result may be written into the target as it is computed.
inline bool fits_dense(const ElementwiseCall& call, const Tensor& model) {
  const Tensor& target = *call.target;
  if (call.implementation.elementwise.promotion == TENON_PROMOTE_COMPARE ||
      target.view.dtype != model.view.dtype || !target.contiguous() ||
      !same_shape(target.shape(), model.shape()))
    return false;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR && value.as.tensor->storage == target.storage &&
        value.as.tensor->view.data != target.view.data)
      return false;
  }
  return true;
}

// What a dense loop runs over: the output, then the operands.
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
// is not of that kind.
inline Tensor* run_dense(const ElementwiseCall& call) {
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
    output->retain();
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
  return guarded(error, [&] {
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
  });
}

}  // namespace

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
