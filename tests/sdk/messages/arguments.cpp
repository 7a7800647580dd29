// expect: a Context does not know its op: take a ContextOf<Op>&, whose arguments have names
// expect: invalid initialization of reference of type
// expect: the schema has no result of this name
// expect: rules read results that are tensors
// expect: only a parameter that takes tensors has a gradient
// expect: behind one of several tensor lists a slot has no fixed place
// expect: a rule takes the ContextOf of another op, whose parameters differ
// expect: the schema has no attribute of this name
#include <tuple>

#include <tenon/plugin.hpp>
#include <tenon/module_definition.hpp>

using tenon::Context, tenon::ContextOf, tenon::ModuleOf, tenon::Tensor;
using namespace tenon::literals;

struct Untyped {
  static constexpr auto schema = "my.untyped(Tensor input) -> Tensor";
  static Tensor forward(const Tensor& input) { return input; }
  static Tensor backward(Context& c, const Tensor& g) { return g * c["input"_arg]; }
};
TENON_OP(Untyped)

struct IntAsTensor {
  static constexpr auto schema = "my.int_as_tensor(Tensor input, int dim) -> Tensor";
  static Tensor forward(const Tensor& input, int64_t) { return input; }
  static Tensor backward(ContextOf<IntAsTensor>& c, const Tensor& g) {
    const Tensor& dim = c["dim"_arg];
    return g * dim;
  }
};
TENON_OP(IntAsTensor)

struct UnknownResult {
  static constexpr auto schema = "my.unknown_result(Tensor x) -> (Tensor values, int count)";
  static std::tuple<Tensor, int64_t> forward(const Tensor& x) { return {x, 1}; }
  static Tensor backward(ContextOf<UnknownResult>& c, const Tensor& g, const Tensor&) {
    return g * c["value"_result];
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<UnknownResult>& c, const Tensor& t) {
    return {t * c["count"_result], {}};
  }
};
TENON_OP(UnknownResult)

struct NeedsInt {
  static constexpr auto schema = "my.needs_int(Tensor input, int dim) -> Tensor";
  static Tensor forward(const Tensor& input, int64_t) { return input; }
  static Tensor backward(ContextOf<NeedsInt>& c, const Tensor& g) {
    return c.needs_input_grad("dim"_arg) ? g : Tensor();
  }
};
TENON_OP(NeedsInt)

struct NeedsBehindLists {
  static constexpr auto schema = "my.behind(Tensor[] a, Tensor[] b, Tensor c) -> Tensor";
  static Tensor forward(tenon::TensorList, tenon::TensorList, const Tensor& c) { return c; }
  static tenon::Gradients backward(ContextOf<NeedsBehindLists>& c, const Tensor& g) {
    return {c.needs_input_grad("c"_arg) ? g : Tensor()};
  }
};
TENON_OP(NeedsBehindLists)

struct Copied {
  static constexpr auto schema = "my.copied(Tensor x) -> Tensor";
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(ContextOf<NeedsInt>& c, const Tensor& g) { return g * c["input"_arg]; }
};
TENON_OP(Copied)

struct Unattributed : ModuleOf<Unattributed> {
  static constexpr auto schema = "my.Unattributed(int size)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  Tensor forward(const Tensor& input) const { return input * (*this)["sise"_arg]; }
};
TENON_MODULE(Unattributed)
