// data.write_npy: a tensor into a .npy file.
#include "array_file.hpp"

namespace {

struct WriteNpy {
  static constexpr auto schema = "data.write_npy(str path, Tensor input) -> ()";
  static constexpr auto doc =
      "Writes a tensor as a .npy file; an existing file is replaced as a whole, or not at all.";
  static constexpr auto samples = R"([
      {"path": {"file": "a.npy"}, "input": {"shape": [2, 3], "requires_grad": false},
       "then": {"op": "data.read_npy", "path": {"file": "a.npy"}}}])";
  static constexpr bool any_dtype = true;

  static void forward(std::string_view path, const tenon::Tensor& input) {
    data::write_npy(path, input);
  }
};

}  // namespace
TENON_OP(WriteNpy)
