// A plugin without TENON_PLUGIN, whose code needs nothing that the linker would miss.
#include <tenon/plugin.hpp>

namespace {

struct Cube {
  static constexpr auto schema = "registration.cube(Tensor input) -> Tensor";
  static constexpr auto element = [](auto x) { return x * x * x; };
};

}  // namespace

TENON_OP(Cube)
