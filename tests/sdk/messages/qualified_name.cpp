// expect: a registration takes a name without '::' and '<': write `using MyOp = my::Op;`
#include <tenon/plugin.hpp>

namespace my {
struct Op {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static tenon::Tensor forward(const tenon::Tensor& x) { return x; }
};
}  // namespace my
TENON_OP(my::Op)
