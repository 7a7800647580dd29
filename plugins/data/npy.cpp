// data.npy: samples from .npy files.
#include "array_file.hpp"
#include "array_samples.hpp"

namespace {

struct Npy {
  static constexpr auto schema =
      "data.npy(str path, *, str targets='', int[]? shape=None, bool channels_last=False, "
      "float scale=1.0, bool check_finite=True, dtype dtype=f32, bool with_targets=True, "
      "str fitted='') -> (Tensor inputs, Tensor targets, str fitted)";
  static constexpr auto doc =
      "Samples from a .npy file of any dtype, such as images as u8, and their targets from another "
      "one: `targets` is its path. Inputs are converted, then multiplied by `scale`.";

  static data::ArraySamples forward(std::string_view path, std::string_view targets,
                                    std::optional<tenon::IntList> shape, bool channels_last,
                                    double scale, bool check_finite, tenon::DType dtype,
                                    bool with_targets, std::string_view fitted) {
    const bool targets_read = with_targets && !targets.empty();
    return data::make_samples(
        {path, "inputs", data::read_npy(path)},
        {targets, "targets", targets_read ? data::read_npy(targets) : tenon::Tensor()},
        {shape, channels_last, scale, check_finite, dtype, fitted});
  }
};

}  // namespace
TENON_OP(Npy)
