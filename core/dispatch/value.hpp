// Ownership of result values: strings and lists made by the host's allocator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Releases what a given value owns and sets it to none.
void release_value(tenon_value& value) noexcept;
// Releases a module that a value holds; the host table sets it, because dispatch cannot see nn.
extern void (*release_module)(tenon_module*) noexcept;

// A value of its own from a borrowed one. Throws TypeError for modules and trees.
tenon_value copy_value(const tenon_value& value);
tenon_value make_string(std::string_view text);
tenon_value make_string_list(const std::vector<std::string>& texts);
// As it is printed, but for modules: None, True, 2, 0.4, 'text', float32, [1, 2]; tensors by
// `tensor_text`.
std::string value_text(const tenon_value& value, std::string (*tensor_text)(const Tensor*));
// The same in a word or two, without data: Tensor f32[2, 3]. Calls nobody.
std::string brief_text(const tenon_value& value);
// Takes the references.
tenon_value make_tensor_list(std::vector<TensorRef> tensors);

}  // namespace tenon::core
