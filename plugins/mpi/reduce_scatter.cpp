// reduce_scatter: the sum over ranks, of which each rank gets its part.
#include "dimension.hpp"
#include "transfer.hpp"

namespace {

using namespace mpi;
using namespace tenon::literals;
using tenon::arg;
using tenon::ContextOf;

struct ReduceScatter {
  static constexpr auto schema =
      "distributed.reduce_scatter(Tensor input, *, int dim=0, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [4, 3]}}, {"input": {"shape": [2, 3]}, "dim": -1}])";
  static constexpr auto doc =
      "The sum over ranks of their inputs, which have one shape and dtype, in equal parts along a "
      "dimension: the first for rank 0. The size of the dimension is a multiple of the ranks.";

  static constexpr bool any_dtype = true;
  static constexpr bool reads_elements = true;

  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& out) {
    const tenon::DType dtype = tenon::compute_dtype(input.dtype());
    tenon::kernel::check_dtype("reduce_scatter", "input", dtype, reduced_dtypes);
    parse_reduce("reduce_scatter", "sum", dtype);
    const int64_t at = dimension("reduce_scatter", input, dim);
    const Turn turn;
    World& world = turn.world();
    if (input.shape()[at] % world.size != 0) {
      throw tenon::ValueError("reduce_scatter(): dimension " + std::to_string(at) + " of shape " +
                              tenon::kernel::shape_text(input) + " is not divisible by the " +
                              std::to_string(world.size) + " ranks; pad it");
    }
    tenon::kernel::Shape shape = input.shape();
    shape[at] /= world.size;
    const Tensor result = result_for("reduce_scatter", out, shape, input);
    if (world.size == 1) {
      tenon::copy_elements(result, input);
      return give(out, result);
    }
    const Tensor from = tenon::contiguous_as(front(input, at), dtype);
    const Call call = meet(world, Collective::reduce_scatter, &input, 0, at);
    tenon::kernel::Shape in_front = from.shape();
    in_front[0] /= world.size;
    const Tensor to = tenon::empty_tensor(in_front, dtype);
    sum_scatter(world, from, to, call);
    tenon::copy_elements(result, to.movedim(0, at));
    return give(out, result);
  }
  static Tensor backward(ContextOf<ReduceScatter>& c, const Tensor& g) {
    static const tenon::Op all_gather("distributed.all_gather");
    return all_gather.call<Tensor>(g, arg("dim") = int64_t{c["dim"_arg]});
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace
TENON_OP(ReduceScatter)
