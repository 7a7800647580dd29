// expect: the schema has an unknown type at this column; the types are Tensor, Scalar, int, float
// expect: int column = 28; char ...word = {'T', 'e', 'n', 's', 'r'}
// expect: the schema has an unknown type at this column
// expect: the schema has no '->' behind its parameters: write '-> Tensor', or '-> ()'
// expect: a '(' of the schema is never closed
// expect: a parameter of the schema has no name: write its type, a space and its name

#include <tuple>

#include <tenon/plugin.hpp>

using tenon::Context, tenon::Tensor;

struct UnknownType {
  static constexpr auto schema = "my.typo(Tensor x, float k, Tensr y) -> Tensor";
  static tenon::Tensor forward(const tenon::Tensor& x, double, const tenon::Tensor&) { return x; }
};
TENON_OP(UnknownType)

struct UnknownResult {
  static constexpr auto schema = "my.typo(Tensor x) -> (Tensor y, tensor z)";
  static std::tuple<tenon::Tensor, tenon::Tensor> forward(const tenon::Tensor& x) { return {x, x}; }
};
TENON_OP(UnknownResult)

struct MissingArrow {
  static constexpr auto schema = "my.no_arrow(Tensor x) Tensor";
  static tenon::Tensor forward(const tenon::Tensor& x) { return x; }
};
TENON_OP(MissingArrow)

struct Unclosed {
  static constexpr auto schema = "my.unclosed(Tensor x -> Tensor";
  static tenon::Tensor forward(const tenon::Tensor& x) { return x; }
};
TENON_OP(Unclosed)

struct UnnamedParameter {
  static constexpr auto schema = "my.unnamed(Tensor) -> Tensor";
  static tenon::Tensor forward(const tenon::Tensor& x) { return x; }
};
TENON_OP(UnnamedParameter)
