// Files of one array, and of several with names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

namespace data {

using NamedArrays = std::vector<std::pair<std::string, tenon::Tensor>>;

// Errors name the file: IOError for what the system refuses and for a file that ends early,
// ValueError for what is not of the format.
tenon::Tensor read_npy(std::string_view path);
// A tensor of the shape and dtype in the file's header, with elements that do not matter.
tenon::Tensor read_npy_shape(std::string_view path);
// The arrays that are named, in that order; all of the file's where `names` is empty. ValueError
// for a name that is not there.
NamedArrays read_npz(std::string_view path, const std::vector<std::string>& names = {});
NamedArrays read_safetensors(std::string_view path, const std::vector<std::string>& names = {});

// As many names as tensors, none twice; ValueError otherwise.
NamedArrays named_arrays(const std::vector<std::string_view>& names, tenon::TensorList tensors);
// Each replaces the file as a whole, or leaves the old one.
void write_npy(std::string_view path, const tenon::Tensor& tensor);
void write_npz(std::string_view path, const NamedArrays& arrays, bool compress);
void write_safetensors(std::string_view path, const NamedArrays& arrays);

}  // namespace data
