// expect: declines returns a const char*: null takes the call, a text says why not
// expect: declines takes forward's parameters, without its Context&
// lines: 40
#include <string>

#include <tenon/plugin.hpp>

using tenon::Tensor;

struct Declines {
  static constexpr auto schema = "my.op(Tensor x, int n) -> Tensor";
  static std::string declines(const Tensor&) { return ""; }
  static Tensor forward(const Tensor& x, int64_t) { return x; }
};
TENON_OP(Declines)
