// expect: error: static assertion failed: the schema has no parameter of this name
// expect: error: static assertion failed: only a parameter that takes tensors has a gradient
// expect: error: static assertion failed: two gradients are named after one input
// expect: error: static assertion failed: a tensor list takes as many slots as it has tensors: return Gradients
// lines: 60
#include <tenon/plugin.hpp>

using namespace tenon;

struct Misspelt {
  static constexpr auto schema = "my.misspelt(Tensor input, int dim) -> Tensor";
  static Tensor forward(const Tensor& input, int64_t) { return input; }
  static std::array<Tensor, 1> backward(ContextOf<Misspelt>& c, const Tensor& g) {
    return needed_gradients(
        c, "inptu"_arg = [&] { return g; });
  }
};
struct NoTensor {
  static constexpr auto schema = "my.no_tensor(Tensor input, int dim) -> Tensor";
  static Tensor forward(const Tensor& input, int64_t) { return input; }
  static std::array<Tensor, 1> backward(ContextOf<NoTensor>& c, const Tensor& g) {
    return needed_gradients(
        c, "dim"_arg = [&] { return g; });
  }
};
struct Twice {
  static constexpr auto schema = "my.twice(Tensor input) -> Tensor";
  static Tensor forward(const Tensor& input) { return input; }
  static std::array<Tensor, 1> backward(ContextOf<Twice>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; }, "input"_arg = [&] { return g; });
  }
};
struct List {
  static constexpr auto schema = "my.list(Tensor[] tensors) -> Tensor";
  static Tensor forward(TensorList tensors) { return tensors[0]; }
  static Gradients backward(ContextOf<List>& c, const Tensor& g) {
    const auto made = needed_gradients(
        c, "tensors"_arg = [&] { return g; });
    return {made.begin(), made.end()};
  }
};
TENON_OPS(Misspelt, NoTensor, Twice, List)
