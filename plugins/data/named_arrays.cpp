// data.read_npz, data.write_npz, data.read_safetensors, data.write_safetensors: files of tensors
// with names.
#include <tuple>

#include "array_file.hpp"

namespace {

using data::NamedArrays;
using tenon::Tensor;

std::vector<std::string> texts(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> split(const NamedArrays& arrays) {
  std::tuple<std::vector<std::string>, std::vector<Tensor>> lists;
  for (const auto& [name, tensor] : arrays) {
    std::get<0>(lists).push_back(name);
    std::get<1>(lists).push_back(tensor);
  }
  return lists;
}

struct ReadNpz {
  static constexpr auto schema =
      "data.read_npz(str path, *, str[] only=[]) -> (str[] names, Tensor[] tensors)";
  static constexpr auto doc =
      "The arrays of a .npz file, in the order of the file; members that are not arrays are "
      "skipped. `only` names those that are read, in their order.";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "data.write_npz", "path": {"file": "a.npz"}, "names": ["x", "y"],
                    "tensors": [{"shape": [2, 3]}, {"values": [3, 4], "dtype": "i64"}]}],
       "path": {"file": "a.npz"}}])";
  static auto forward(std::string_view path, const std::vector<std::string_view>& only) {
    return split(data::read_npz(path, texts(only)));
  }
};

struct WriteNpz {
  static constexpr auto schema =
      "data.write_npz(str path, str[] names, Tensor[] tensors, *, bool compress=False) -> ()";
  static constexpr auto doc =
      "Writes tensors as a .npz file; an existing file is replaced as a whole, or not at all.";
  static constexpr auto samples = R"([
      {"path": {"file": "a.npz"}, "names": ["x", "y"],
       "tensors": [{"shape": [2, 3], "requires_grad": false}, {"values": [3, 4], "dtype": "i64"}],
       "then": {"op": "data.read_npz", "path": {"file": "a.npz"}}},
      {"path": {"file": "a.npz"}, "names": ["x"], "tensors": [{"shape": [9], "requires_grad": false}],
       "compress": true, "then": {"op": "data.read_npz", "path": {"file": "a.npz"}}}])";
  static constexpr bool any_dtype = true;
  static void forward(std::string_view path, const std::vector<std::string_view>& names,
                      tenon::TensorList tensors, bool compress) {
    data::write_npz(path, data::named_arrays(names, tensors), compress);
  }
};

struct ReadSafetensors {
  static constexpr auto schema =
      "data.read_safetensors(str path, *, str[] only=[]) -> (str[] names, Tensor[] tensors)";
  static constexpr auto doc =
      "The tensors of a safetensors file, in the order of their data. `only` names those that are "
      "read, in their order: others may have dtypes that Tenon does not have.";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "data.write_safetensors", "path": {"file": "a.safetensors"}, "names": ["x", "y"],
                    "tensors": [{"shape": [2, 3]}, {"values": [3, 4], "dtype": "i64"}]}],
       "path": {"file": "a.safetensors"}}])";
  static auto forward(std::string_view path, const std::vector<std::string_view>& only) {
    return split(data::read_safetensors(path, texts(only)));
  }
};

struct WriteSafetensors {
  static constexpr auto schema =
      "data.write_safetensors(str path, str[] names, Tensor[] tensors) -> ()";
  static constexpr auto doc =
      "Writes tensors as a safetensors file; an existing file is replaced as a whole, or not at "
      "all.";
  static constexpr auto samples = R"([
      {"path": {"file": "a.safetensors"}, "names": ["x", "y"],
       "tensors": [{"shape": [2, 3], "requires_grad": false}, {"values": [3, 4], "requires_grad": false}],
       "then": {"op": "data.read_safetensors", "path": {"file": "a.safetensors"}}}])";
  static constexpr bool any_dtype = true;
  static void forward(std::string_view path, const std::vector<std::string_view>& names,
                      tenon::TensorList tensors) {
    data::write_safetensors(path, data::named_arrays(names, tensors));
  }
};

}  // namespace
TENON_OPS(ReadNpz, WriteNpz, ReadSafetensors, WriteSafetensors)
