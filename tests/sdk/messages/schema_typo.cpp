// expect: error: static assertion failed: the schema has an unknown type at this column
// lines: 24
#include <tenon/plugin.hpp>

struct Typo {
  static constexpr auto schema = "my.typo(Tensr x) -> Tensor";
  static tenon::Tensor forward(const tenon::Tensor& x) { return x; }
};
TENON_OP(Typo)
