// expect: forward returns a type that is not the schema's result
// expect: forward returns a type that is not the schema's result
// expect: the schema's result is a tuple of one: forward returns a std::tuple<Tensor>
// expect: the schema's result is not a tuple: forward returns it bare

#include <tuple>

#include <tenon/plugin.hpp>

using tenon::Context, tenon::Tensor;

struct WrongResult {
  static constexpr auto schema = "my.wrong_result(Tensor x) -> Tensor";
  static double forward(const tenon::Tensor&) { return 1; }
};
TENON_OP(WrongResult)

struct WrongListResult {
  static constexpr auto schema = "my.wrong_result(Tensor x) -> (Tensor, int[])";
  static std::tuple<tenon::Tensor, std::vector<double>> forward(const tenon::Tensor& x) {
    return {x, {}};
  }
};
TENON_OP(WrongListResult)

struct BareForTuple {
  static constexpr auto schema = "my.bare(Tensor x) -> (Tensor y)";
  static tenon::Tensor forward(const tenon::Tensor& x) { return x; }
};
TENON_OP(BareForTuple)

struct TupleForBare {
  static constexpr auto schema = "my.tuple(Tensor x) -> Tensor";
  static std::tuple<tenon::Tensor> forward(const tenon::Tensor& x) { return {x}; }
};
TENON_OP(TupleForBare)
