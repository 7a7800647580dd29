// A plugin whose op the application calls by its typed wrapper.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

struct Square {
  static constexpr auto schema = "squares.square(Tensor input) -> Tensor";
  static constexpr auto element = [](auto x) { return x * x; };
};

}  // namespace

TENON_OP(Square)
TENON_PLUGIN(squares, "1.0.0")
