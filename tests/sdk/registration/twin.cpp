// The op of ops.cpp for a second time: with TWIN=Twice from a struct of the same name as well.
#include <tenon/plugin.hpp>

namespace {

struct TWIN {
  static constexpr auto schema = "registration.twice(Tensor input) -> Tensor";
  static constexpr bool composite = true;
  static tenon::Tensor forward(const tenon::Tensor& input) { return input * 2; }
};

}  // namespace

TENON_OP(TWIN)
