// The printed form of tensors.
#pragma once

#include <string>
#include <string_view>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

// `tensor([[3., 1.],\n        [1., 3.]])`: nested brackets, elements right-aligned, lines of at
// most 80 characters, `...` in the middle of dimensions when there are more than 1000 elements;
// floats with 4 decimals, without decimals when all are whole, in scientific form when they span
// too much. Then, where they apply: `size=` (empty), `dtype=` (other than f32, i64, bool),
// `grad_fn=<NODE>` or `requires_grad=True`. Defined for every tensor: null prints
// `tensor(<undefined>)`, one without data `tensor(..., size=(2, 3))`. `word` is the
// text before the bracket: the name of a type.
std::string tensor_text(const Tensor* tensor, std::string_view node_name = {},
                        std::string_view word = "tensor");

}  // namespace tenon::core
