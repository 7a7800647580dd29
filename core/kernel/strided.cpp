// Elementwise runs over operands of any shape, strides and dtype.
#include <algorithm>
#include <cstring>
#include <memory>

#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/kernel/elementwise_call.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kPanelBytes = 32768;  // bytes of a packed panel: it stays in the nearest cache
// Part of each line in a panel: one cache miss fetches as much.
constexpr int64_t kPanelLineBytes = 128;

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

// The operands of a call that needs more than the dense path: converted and broadcast.
struct Operands {
  TensorRef converted[kMaxOperands - 1];
  const Tensor* tensors[kMaxOperands - 1] = {};  // null for numbers
  alignas(16) char numbers[kMaxOperands - 1][16];
  Sizes shape{};  // result shape
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

}  // namespace

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

Tensor* run_general(ElementwiseCall& call) {
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

}  // namespace tenon::core
