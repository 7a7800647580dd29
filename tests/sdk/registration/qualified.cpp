// Structs of one name in two namespaces.
#include <tenon/plugin.hpp>

namespace one {
struct Op {
  static constexpr auto schema = "registration.one(Tensor input) -> Tensor";
  static constexpr bool composite = true;
  static tenon::Tensor forward(const tenon::Tensor& input) { return input + 1; }
};
}  // namespace one
namespace two {
struct Op {
  static constexpr auto schema = "registration.two(Tensor input) -> Tensor";
  static constexpr bool composite = true;
  static tenon::Tensor forward(const tenon::Tensor& input) { return input + 2; }
};
}  // namespace two

using OneOp = one::Op;
using TwoOp = two::Op;
TENON_OP(OneOp)
TENON_OP(TwoOp)
