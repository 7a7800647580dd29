// data.npz and data.safetensors: samples from two arrays of a file.
#include "array_file.hpp"
#include "array_samples.hpp"

namespace {

// `Read` is a function of array_file.hpp.
template <data::NamedArrays Read(std::string_view, const std::vector<std::string>&)>
struct Reader {
  static data::ArraySamples forward(std::string_view path, std::string_view inputs,
                                    std::string_view targets, std::optional<tenon::IntList> shape,
                                    bool channels_last, double scale, bool check_finite,
                                    tenon::DType dtype, bool with_targets,
                                    std::string_view fitted) {
    std::vector<std::string> names = {std::string(inputs)};
    if (with_targets && !targets.empty() && targets != inputs) names.emplace_back(targets);
    data::NamedArrays arrays = Read(path, names);
    return data::make_samples(
        {path, inputs, arrays[0].second},
        {path, targets, arrays.size() > 1 ? arrays[1].second : tenon::Tensor()},
        {shape, channels_last, scale, check_finite, dtype, fitted});
  }
};

struct Npz : Reader<data::read_npz> {
  static constexpr auto schema =
      "data.npz(str path, *, str inputs='inputs', str targets='targets', int[]? shape=None, "
      "bool channels_last=False, float scale=1.0, bool check_finite=True, dtype dtype=f32, "
      "bool with_targets=True, str fitted='') -> (Tensor inputs, Tensor targets, str fitted)";
  static constexpr auto doc =
      "Samples from two arrays of a .npz file, stored or compressed; `inputs` and `targets` are "
      "their names. Inputs are converted, then multiplied by `scale`.";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "data.write_npz", "path": {"file": "a.npz"}, "names": ["inputs", "targets"],
                    "tensors": [{"shape": [4, 3]}, {"values": [0, 1, 1, 2], "dtype": "i64"}]}],
       "path": {"file": "a.npz"}}])";
};

struct Safetensors : Reader<data::read_safetensors> {
  static constexpr auto schema =
      "data.safetensors(str path, *, str inputs='inputs', str targets='targets', "
      "int[]? shape=None, bool channels_last=False, float scale=1.0, bool check_finite=True, "
      "dtype dtype=f32, bool with_targets=True, str fitted='') -> "
      "(Tensor inputs, Tensor targets, str fitted)";
  static constexpr auto doc =
      "Samples from two tensors of a safetensors file; `inputs` and `targets` are their names. "
      "Inputs are converted, then multiplied by `scale`.";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "data.write_safetensors", "path": {"file": "a.safetensors"}, "names": ["inputs", "targets"],
                    "tensors": [{"shape": [4, 3]}, {"values": [0, 1, 1, 2], "dtype": "i64"}]}],
       "path": {"file": "a.safetensors"}}])";
};

}  // namespace
TENON_OPS(Npz, Safetensors)
