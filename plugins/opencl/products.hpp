// Products of matrices in memory of the device.
#pragma once

#include "opencl/operands.hpp"

namespace tenon_opencl {

// A matrix, or a batch of them: steps in elements. Column j is at j / split * outer + j % split * column;
// a split of 0 is all columns.
struct MatrixOperand {
  void* data = nullptr;
  int64_t row = 0, column = 0, batch = 0;
  int64_t split = 0, outer = 0;
};
struct ProductSizes {
  int64_t rows, columns, depth, batch;
};

// Columns of a panel, and elements of all panels of a matrix.
int64_t panel_columns(Instance& device, tenon::DType type);
int64_t panel_elements(Instance& device, tenon::DType type, int64_t depth, int64_t columns);
// A right operand [batch][depth][columns] as panels.
tenon::Tensor pack_panels(const tenon::Tensor& like, const MatrixOperand& b, int64_t depth,
                          int64_t columns, int64_t batch);
// result = alpha * a b + beta * added; with beta 0 `added` is not read. The result's columns follow each
// other. `one_panel`: all products of the batch have the same right operand.
void multiply_panels(const tenon::Tensor& like, const ProductSizes& sizes, const MatrixOperand& a,
                     const tenon::Tensor& panels, bool one_panel, const MatrixOperand& added,
                     double beta, double alpha, const MatrixOperand& result);

}  // namespace tenon_opencl
