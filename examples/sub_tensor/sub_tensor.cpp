// Subclasses of Tensor without behaviour: results keep their type.
#include <tenon/plugin.hpp>
#include <tenon/type_definition.hpp>

using tenon::Tensor;

struct SubTensor {
  static constexpr auto name = "SubTensor";
  static constexpr auto parent = "Tensor";
};
TENON_TYPE(SubTensor)

struct SubTensor2 {
  static constexpr auto name = "SubTensor2";
  static constexpr auto parent = "SubTensor";
};
TENON_TYPE(SubTensor2)

struct OtherSubTensor {
  static constexpr auto name = "OtherSubTensor";
  static constexpr auto parent = "Tensor";
};
TENON_TYPE(OtherSubTensor)

struct Make {
  static constexpr auto schema =
      "examples.sub_tensor(Tensor(a) data, str type='SubTensor') -> Tensor(a)";
  static constexpr auto doc = "The same tensor as one of the child types.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, std::string_view type) {
    if (type == SubTensor2::name) return tenon::wrap<SubTensor2>(data);
    if (type == OtherSubTensor::name) return tenon::wrap<OtherSubTensor>(data);
    return tenon::wrap<SubTensor>(data);
  }
};
TENON_OP(Make)

TENON_PLUGIN(sub_tensor, "1.0.0")
