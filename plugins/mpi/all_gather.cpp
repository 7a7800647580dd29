// all_gather: the elements of all ranks side by side, the result on each of them.
#include "dimension.hpp"
#include "transfer.hpp"

namespace {

using namespace mpi;
using namespace tenon::literals;
using tenon::arg;
using tenon::ContextOf;

// The part of this rank.
Tensor own_part(const Tensor& all, int64_t dim) {
  const int64_t at = dimension("all_gather", all, dim), size = all.shape()[at] / rank_count();
  return narrow(all, at, own_rank() * size, size);
}

struct AllGather {
  static constexpr auto schema =
      "distributed.all_gather(Tensor input, *, int dim=0, str gradient='sum', Tensor(a!)? "
      "out=None) "
      "-> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [2, 3]}, "dim": -1}])";
  static constexpr auto doc =
      "The inputs of all ranks, which have one shape and dtype, along a dimension in the order of "
      "ranks. gradient says what the ranks' losses are: 'sum', parts whose sum is differentiated "
      "(the "
      "gradients of the ranks are summed), or 'identity', copies of one loss.";
  static constexpr bool any_dtype = true;
  static constexpr bool reads_elements = true;

  static Tensor forward(const Tensor& input, int64_t dim, std::string_view gradient,
                        const Tensor& out) {
    check_gradient("all_gather", gradient);
    const int64_t at = dimension("all_gather", input, dim);
    const Turn turn;
    World& world = turn.world();
    tenon::kernel::Shape shape = input.shape();
    shape[at] *= world.size;
    const Tensor result = result_for("all_gather", out, shape, input);
    if (world.size == 1) {
      tenon::copy_elements(result, input);
      return give(out, result);
    }
    const Call call = meet(world, Collective::all_gather, &input, 0, at);
    const Tensor from = front(input, at);
    if (at == 0) {
      gather(world, from, result, call);
      return give(out, result);
    }
    tenon::kernel::Shape in_front = from.shape();
    in_front[0] *= world.size;
    const Tensor to = tenon::empty_tensor(in_front, input.dtype());
    gather(world, from, to, call);
    tenon::copy_elements(result, to.movedim(0, at));
    return give(out, result);
  }
  static Tensor backward(ContextOf<AllGather>& c, const Tensor& g) {
    const int64_t dim = c["dim"_arg];
    if (std::string_view(c["gradient"_arg]) == "identity") return own_part(g, dim);
    static const tenon::Op reduce_scatter("distributed.reduce_scatter");
    return reduce_scatter.call<Tensor>(g, arg("dim") = dim);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace
TENON_OP(AllGather)
