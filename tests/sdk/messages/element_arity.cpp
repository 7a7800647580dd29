// expect: 2 arguments, the schema's inputs, are what element takes
// lines: 24
#include <tenon/plugin.hpp>
struct Arity {
  static constexpr auto schema = "my.arity(Tensor a, Tensor b) -> Tensor";
  static constexpr auto element = [](auto a) { return a; };
};
TENON_OP(Arity)
