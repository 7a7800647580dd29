// data.read_npy: a tensor from a .npy file.
#include "array_file.hpp"

namespace {

struct ReadNpy {
  static constexpr auto schema = "data.read_npy(str path) -> Tensor";
  static constexpr auto doc =
      "The array of a .npy file: bool, integers, floats or complex numbers, of any byte order, "
      "order of "
      "dimensions and format version.";
  static constexpr auto samples = R"([
      {"prepare": [{"op": "data.write_npy", "path": {"file": "a.npy"}, "input": {"shape": [2, 3]}}],
       "path": {"file": "a.npy"}}])";

  static tenon::Tensor forward(std::string_view path) { return data::read_npy(path); }
};

}  // namespace
TENON_OP(ReadNpy)
