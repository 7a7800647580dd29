// Matrix products, by strides. The right operand is copied into panels of as many columns as a work item
// has in registers, one row after another; a work item multiplies some rows of the left operand with one
// panel. Panels come from matrices, or from the patches of images (convolution.cpp).
#include "opencl/products.hpp"

#include <algorithm>
#include <vector>

#include "opencl/copies.hpp"

namespace tenon_opencl {

namespace {

using tenon::Results;
using tenon::Scalar;

std::string product_source(DType) {
  return R"(
#define ROWS 8
#define PANEL (2 * V)
typedef struct {
  ulong rows, columns, depth, batch;
  long a_row, a_column, a_batch;     // steps of the left operand
  long panel_batch;                  // of the panels, 0 where all products have the same
  long r_row, r_outer, r_batch;      // of the result: column j is at j / split * r_outer + j % split
  ulong split;
  long c_row, c_column, c_batch;     // of what is added
} Product;

// Panels of b[batch][depth][columns]: column j is at j / split * outer + j % split * column.
__kernel void pack(__global const T* b, __global T* p, ulong columns, ulong depth, ulong batch, long row, long column,
                   long outer, ulong split, long step) {
  const ulong panels = (columns + PANEL - 1) / PANEL, id = get_global_id(0);
  const ulong k = id % depth, panel = id / depth % panels, n = id / depth / panels;
  if (n >= batch) return;
  b += n * step + (long)k * row;
  p += (n * panels + panel) * depth * PANEL + k * PANEL;
  const ulong first = panel * PANEL;
  ulong line = first / split, place = first % split;
  if (first + PANEL <= columns && column == 1 && place + PANEL <= split) {
    b += (long)line * outer + (long)place;
    STORE(LOAD(0, b), 0, p);
    STORE(LOAD(1, b), 1, p);
    return;
  }
  for (int i = 0; i < PANEL; ++i) {
    p[i] = first + i < columns ? b[(long)line * outer + (long)place * column] : (T)0;
    if (++place == split) {
      place = 0;
      ++line;
    }
  }
}

__kernel void product(__global const T* a, __global const T* p, __global const T* c, __global T* r, Product d, T alpha,
                      T beta) {
  const ulong blocks = (d.rows + ROWS - 1) / ROWS, panels = (d.columns + PANEL - 1) / PANEL;
  const ulong id = get_global_id(0), block = id % blocks, panel = id / blocks % panels, n = id / blocks / panels;
  if (n >= d.batch) return;
  a += (long)n * d.a_batch;
  p += (long)n * d.panel_batch + panel * d.depth * PANEL;
  const ulong row = block * ROWS;
  __global const T* at[ROWS];
  for (int i = 0; i < ROWS; ++i) at[i] = a + (long)min(row + i, d.rows - 1) * d.a_row;
  VT x0 = 0, x1 = 0, x2 = 0, x3 = 0, x4 = 0, x5 = 0, x6 = 0, x7 = 0;
  VT y0 = 0, y1 = 0, y2 = 0, y3 = 0, y4 = 0, y5 = 0, y6 = 0, y7 = 0;
#define LINE(i)                                  \
  {                                              \
    const VT left = (VT)(at[i][k * d.a_column]); \
    x##i = fma(left, first, x##i);               \
    y##i = fma(left, second, y##i);              \
  }
  for (long k = 0; k < (long)d.depth; ++k, p += PANEL) {
    const VT first = LOAD(0, p), second = LOAD(1, p);
    LINE(0) LINE(1) LINE(2) LINE(3) LINE(4) LINE(5) LINE(6) LINE(7)
  }
  const VT sums[ROWS][2] = {{x0, y0}, {x1, y1}, {x2, y2}, {x3, y3}, {x4, y4}, {x5, y5}, {x6, y6}, {x7, y7}};
  const ulong column = panel * PANEL;
  const ulong line = column / d.split, place = column % d.split;
  const bool whole = column + PANEL <= d.columns && place + PANEL <= d.split;
  for (int i = 0; i < ROWS; ++i) {
    if (row + i >= d.rows) return;
    __global T* to = r + (long)n * d.r_batch + (long)(row + i) * d.r_row + (long)line * d.r_outer;
    __global const T* added = c + (long)n * d.c_batch + (long)(row + i) * d.c_row;
    if (whole && (beta == 0 || d.c_column == 1 || d.c_column == 0)) {
      VT x = sums[i][0] * alpha, y = sums[i][1] * alpha;
      if (beta != 0 && d.c_column == 1) {
        x += LOAD(0, added + column) * beta;
        y += LOAD(1, added + column) * beta;
      } else if (beta != 0) {
        x += *added * beta;
        y += *added * beta;
      }
      STORE(x, 0, to + place);
      STORE(y, 1, to + place);
      continue;
    }
    T lanes[PANEL];
    STORE(sums[i][0] * alpha, 0, lanes);
    STORE(sums[i][1] * alpha, 1, lanes);
    ulong at = place;
    for (int k = 0; k < PANEL && column + k < d.columns; ++k) {
      to[at] = beta == 0 ? lanes[k] : lanes[k] + beta * added[(long)(column + k) * d.c_column];
      if (++at == d.split) {
        at = 0;
        to += d.r_outer;
      }
    }
  }
}
)";
}
constexpr Source kProducts{"products", product_source};
constexpr size_t kPackGroup = 64;
constexpr int64_t kRows = 8;

// As kernels get it.
struct ProductArgument {
  cl_ulong rows, columns, depth, batch;
  cl_long a_row, a_column, a_batch;
  cl_long panel_batch;
  cl_long r_row, r_outer, r_batch;
  cl_ulong split;
  cl_long c_row, c_column, c_batch;
};

int64_t panel_of(Instance& device, DType type) { return 2 * device.lanes(type); }

}  // namespace

int64_t panel_columns(Instance& device, DType type) { return panel_of(device, type); }

int64_t panel_elements(Instance& device, DType type, int64_t depth, int64_t columns) {
  const int64_t panel = panel_of(device, type);
  return (columns + panel - 1) / panel * panel * depth;
}

Tensor pack_panels(const Tensor& like, const MatrixOperand& b, int64_t depth, int64_t columns,
                   int64_t batch) {
  Instance& device = instance_of(like);
  const DType type = like.dtype();
  const int64_t size = panel_elements(device, type, depth, columns) * batch;
  const Tensor panels = empty_like(like, IntList(&size, 1));
  const int64_t count = size / panel_of(device, type);
  device.run({&kProducts, "pack", type}, whole_groups(count, kPackGroup), kPackGroup,
             Memory{b.data}, memory_of(panels), number(columns), number(depth), number(batch),
             static_cast<cl_long>(b.row), static_cast<cl_long>(b.column),
             static_cast<cl_long>(b.outer), number(b.split > 0 ? b.split : columns),
             static_cast<cl_long>(b.batch));
  return panels;
}

void multiply_panels(const Tensor& like, const ProductSizes& sizes, const MatrixOperand& a,
                     const Tensor& panels, bool one_panel, const MatrixOperand& added, double beta,
                     double alpha, const MatrixOperand& result) {
  if (sizes.rows == 0 || sizes.columns == 0 || sizes.batch == 0) return;
  Instance& device = instance_of(like);
  const DType type = like.dtype();
  const int64_t each = panel_elements(device, type, sizes.depth, sizes.columns);
  const ProductArgument argument{number(sizes.rows),
                                 number(sizes.columns),
                                 number(sizes.depth),
                                 number(sizes.batch),
                                 a.row,
                                 a.column,
                                 a.batch,
                                 one_panel ? 0 : each,
                                 result.row,
                                 result.outer,
                                 result.batch,
                                 number(result.split > 0 ? result.split : sizes.columns),
                                 added.row,
                                 added.column,
                                 added.batch};
  const int64_t panel = panel_of(device, type);
  const int64_t items =
      (sizes.rows + kRows - 1) / kRows * ((sizes.columns + panel - 1) / panel) * sizes.batch;
  // Few work items are shared out one by one.
  const size_t group = items < 32 ? 1 : 4;
  with_floating(type, [&](auto zero) {
    using N = decltype(zero);
    device.run({&kProducts, "product", type}, whole_groups(items, group), group, Memory{a.data},
               memory_of(panels), Memory{beta == 0 ? result.data : added.data}, Memory{result.data},
               argument, static_cast<N>(alpha), static_cast<N>(beta));
  });
}

namespace {

// The last two dimensions of a tensor as a matrix.
MatrixOperand matrix_of(const Tensor& tensor) {
  const int64_t rank = tensor.dim();
  return {tenon::device::elements(tensor), tensor.strides()[rank - 2], tensor.strides()[rank - 1],
          rank > 2 ? tensor.strides()[rank - 3] : 0};
}
bool fits(const Tensor& a, const Tensor& b) {
  return is_floating(a) && is_floating(b) && a.dtype() == b.dtype() && together(a, b);
}

// a [batch, m, k] b [batch, k, n], with what is added to it.
Tensor multiply(const Tensor& a, const Tensor& b, int64_t batch, const MatrixOperand& added = {},
                double beta = 0, double alpha = 1) {
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  std::vector<int64_t> shape{m, n};
  if (a.dim() == 3) shape.insert(shape.begin(), batch);
  const Tensor result = empty_like(a, list_of(shape));
  if (result.numel() == 0) return result;
  const MatrixOperand left = matrix_of(a), right = matrix_of(b);
  const bool one = right.batch == 0 || batch == 1;
  const Tensor panels = pack_panels(a, right, k, n, one ? 1 : batch);
  multiply_panels(a, {m, n, k, batch}, left, panels, one, added, beta, alpha,
                  {tenon::device::elements(result), n, 1, m * n});
  return result;
}

struct Product {
  static constexpr auto schema = "mm(Tensor input, Tensor mat2) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& a, const Tensor& b) {
    if (!fits(a, b) || a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(0) || a.size(1) == 0)
      return tenon::not_implemented;
    return multiply(a, b, 1);
  }
};
struct Batches {
  static constexpr auto schema = "bmm(Tensor input, Tensor mat2) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& a, const Tensor& b) {
    if (!fits(a, b) || a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) ||
        a.size(2) != b.size(1) || a.size(2) == 0)
      return tenon::not_implemented;
    return multiply(a, b, a.size(0));
  }
};
struct MatrixVector {
  static constexpr auto schema = "mv(Tensor input, Tensor vec) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& a, const Tensor& x) {
    if (!fits(a, x) || a.dim() != 2 || x.dim() != 1 || a.size(1) != x.size(0) || a.size(1) == 0)
      return tenon::not_implemented;
    const int64_t column_shape[] = {x.size(0), 1}, column_strides[] = {x.stride(0), 1};
    const Tensor product = multiply(a, view(x, {column_shape, 2}, {column_strides, 2}, 0), 1);
    const int64_t rows = a.size(0), step = 1;
    return view(product, {&rows, 1}, {&step, 1}, 0);
  }
};
struct Addmm {
  static constexpr auto schema =
      "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta,
                         Scalar alpha) {
    if (!fits(a, b) || !fits(input, a) || a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(0) ||
        a.size(1) == 0 || alpha.to<double>() == 0)
      return tenon::not_implemented;
    const int64_t shape[] = {a.size(0), b.size(1)};
    const std::optional<std::vector<int64_t>> both = broadcast(input.shape(), {shape, 2});
    if (!both || input.dim() > 2 || (*both)[0] != shape[0] || (*both)[1] != shape[1])
      return tenon::not_implemented;
    const std::vector<int64_t> steps = steps_in(input, {shape, 2});
    return multiply(a, b, 1, {tenon::device::elements(input), steps[0], steps[1]},
                    beta.to<double>(), alpha.to<double>());
  }
};

struct Linear {
  static constexpr auto schema =
      "nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    if (!fits(input, weight) || input.dim() == 0 || weight.dim() != 2 ||
        input.size(-1) != weight.size(1) || weight.size(1) == 0)
      return tenon::not_implemented;
    if (bias.defined() &&
        (!fits(bias, weight) || bias.dim() != 1 || bias.size(0) != weight.size(0)))
      return tenon::not_implemented;
    const Tensor whole = input.dim() == 2 ? input : dense(input);
    std::vector<int64_t> shape = input.sizes();
    shape.back() = weight.size(0);
    const Tensor result = empty_like(input, list_of(shape));
    if (result.numel() == 0) return result;
    const int64_t inner = weight.size(1), columns = weight.size(0), rows = input.numel() / inner;
    const MatrixOperand left{tenon::device::elements(whole),
                             input.dim() == 2 ? input.stride(0) : inner,
                             input.dim() == 2 ? input.stride(1) : 1, 0};
    const MatrixOperand turned{tenon::device::elements(weight), weight.stride(1), weight.stride(0),
                               0};
    const Tensor panels = pack_panels(input, turned, inner, columns, 1);
    MatrixOperand added;
    if (bias.defined()) added = {tenon::device::elements(bias), 0, bias.stride(0), 0};
    multiply_panels(input, {rows, columns, inner, 1}, left, panels, true, added,
                    bias.defined() ? 1 : 0, 1, {tenon::device::elements(result), columns, 1, 0});
    return result;
  }
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(Product)
TENON_OVERRIDE(Batches)
TENON_OVERRIDE(MatrixVector)
TENON_OVERRIDE(Addmm)
TENON_OVERRIDE(Linear)
