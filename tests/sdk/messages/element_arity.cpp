// expect: element must take 2 arguments, one for each schema input
// lines: 24
#include <tenon/plugin.hpp>
struct Arity {
  static constexpr auto schema = "my.arity(Tensor a, Tensor b) -> Tensor";
  static constexpr auto element = [](auto a) { return a; };
};
TENON_OP(Arity)
