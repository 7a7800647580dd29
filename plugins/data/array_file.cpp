// Array files as tensors: the one array of a .npy file, the named ones of .npz and safetensors.
#include "array_file.hpp"

#include <set>

#include <tenon/runtime.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/text.hpp>

#include "file_fault.hpp"

namespace data {

using tenon::Tensor;

namespace {

void check_path(std::string_view path) {
  if (path.find('\0') != path.npos) throw tenon::IOError("the path holds a NUL byte; remove it");
}

}  // namespace

Tensor read_npy(std::string_view path) {
  check_path(path);
  return tenon::state::load_npy(std::string(path));
}

Tensor read_npy_shape(std::string_view path) {
  check_path(path);
  const tenon::state::NpyHeader header = tenon::state::npy_header(std::string(path));
  return tenon::empty_tensor(
      tenon::IntList(header.shape.data(), static_cast<int64_t>(header.shape.size())), header.dtype);
}

NamedArrays read_npz(std::string_view path, const std::vector<std::string>& names) {
  check_path(path);
  return tenon::state::load_npz(std::string(path), names);
}

NamedArrays read_safetensors(std::string_view path, const std::vector<std::string>& names) {
  check_path(path);
  return tenon::state::load_tensors(std::string(path), names);
}

NamedArrays named_arrays(const std::vector<std::string_view>& names, tenon::TensorList tensors) {
  if (static_cast<int64_t>(names.size()) != tensors.size()) {
    throw tenon::ValueError("there are " + std::to_string(names.size()) + " names for " +
                            std::to_string(tensors.size()) + " tensors");
  }
  NamedArrays arrays;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) throw tenon::ValueError("the name of a tensor is empty");
    if (!seen.insert(names[i]).second)
      throw tenon::ValueError("two tensors have the name " + quoted_text(names[i]));
    arrays.emplace_back(names[i], tensors[static_cast<int64_t>(i)]);
  }
  return arrays;
}

void write_npy(std::string_view path, const Tensor& tensor) {
  check_path(path);
  tenon::state::save_npy(std::string(path), tensor);
}

void write_npz(std::string_view path, const NamedArrays& arrays, bool compress) {
  check_path(path);
  tenon::state::save_npz(std::string(path), arrays, compress);
}

void write_safetensors(std::string_view path, const NamedArrays& arrays) {
  check_path(path);
  tenon::state::save_tensors(std::string(path), arrays);
}

}  // namespace data
