// expect: error: static assertion failed: the schema has no parameter of this name
// expect: with char ...name = {'i', 'n', 'p', 't', 'u'}; Definition = Misspelt
// lines: 12
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::ContextOf, tenon::Tensor;
using namespace tenon::literals;

struct Misspelt {
  static constexpr auto schema = "my.misspelt(Tensor input, int dim) -> Tensor";
  static Tensor forward(const Tensor& input, int64_t) { return input; }
  static Tensor backward(ContextOf<Misspelt>& c, const Tensor& g) {
    return g * c["inptu"_arg].sum(0);
  }
};
TENON_OP(Misspelt)
