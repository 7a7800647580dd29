// Tensors with a label for each dimension, and the product of two that sums over labels: what
// einsum and tensordot are made of.
#pragma once

#include <vector>

#include <tenon/ops.hpp>

#include "product.hpp"

namespace blas {

struct Labelled {
  Tensor tensor;
  std::vector<int> labels;  // one for each dimension, each once
};

// The position of a label, or -1.
int64_t position_of(const std::vector<int>& labels, int label);

// Sums over the dimensions whose label `keeps` refuses; keeps the dtype of integers.
template <class Keeps>
Labelled summed(const Labelled& x, const Keeps& keeps) {
  std::vector<int64_t> dims;
  Labelled result;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (keeps(x.labels[i]))
      result.labels.push_back(x.labels[i]);
    else
      dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.empty()) return x;
  result.tensor = x.tensor.sum(dims);
  if (result.tensor.dtype() != x.tensor.dtype()) result.tensor = result.tensor.to(x.tensor.dtype());
  return result;
}

// The product of two tensors, summed over the labels of both for which `keep` is false: `keep` has
// one entry for each label. Labels of one alone that are not kept must be summed before. Costs what
// the matrix product costs that it amounts to.
Labelled contract(Labelled a, Labelled b, const std::vector<bool>& keep);

}  // namespace blas
