// Joins two types that do not know each other: the product of a ScalarTensor and a
// MetadataTensor. Neither type is of this plugin, nor is the op.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/override_definition.hpp>
#include <tenon/typed_tensor.hpp>

using tenon::Tensor;

struct MultiplyScalarAndMetadata {
  static constexpr auto schema = "mul(Tensor input, Tensor other) -> Tensor";
  static constexpr auto doc = "The ScalarTensor written out, times the other; metadata is kept.";
  static constexpr auto types = "ScalarTensor, MetadataTensor";
  static Tensor forward(const Tensor& input, const Tensor& other) {
    return tenon::Op("mul").call<Tensor>(written_out(input), written_out(other));
  }
  // The op is then called on one type alone, which handles it.
  static Tensor written_out(const Tensor& tensor) {
    return tenon::type_name(tensor) == "MetadataTensor" ? tensor : tenon::ensure_tensor(tensor);
  }
};
TENON_OVERRIDE(MultiplyScalarAndMetadata)

TENON_PLUGIN(glue, "1.0.0")
