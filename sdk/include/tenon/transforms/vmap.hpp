// vmap: a function of one sample, run on a batch of samples at once.
//
//   const auto distance = [](const Tensor& a, const Tensor& b) { return ((a - b) * (a - b)).sum(); };
//   const Tensor all = vmap(distance)(rows, other_rows);             // one number for each row
//   const Tensor pairs = vmap(distance, {0, none})(rows, one_row);   // the second is the same for all
//   const Tensor table = vmap(vmap(distance, {none, 0}), {0, none})(rows, other_rows);
//
// The function gets tensors of the shape of one sample (batched.hpp), and calls ops as ever.
#pragma once

#include "tenon/transforms/batched.hpp"
