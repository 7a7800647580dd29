// A family of types, the youngest first.
#include <tenon/plugin.hpp>
#include <tenon/type_definition.hpp>

namespace {

struct Leaf {
  static constexpr auto name = "RegistrationLeaf";
  static constexpr auto parent = "RegistrationMiddle";
  int64_t size = 0;
};
struct Middle {
  static constexpr auto name = "RegistrationMiddle";
  static constexpr auto parent = "RegistrationTop";
};
struct Top {
  static constexpr auto name = "RegistrationTop";
  static constexpr auto parent = "Tensor";
};

}  // namespace

TENON_TYPE(Leaf)
TENON_TYPE(Middle)
TENON_TYPE(Top)
