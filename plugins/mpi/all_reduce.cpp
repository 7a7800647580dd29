// all_reduce: the elements of all ranks put together, the result on each of them.
#include <string>
#include <vector>

#include <tenon/kernel/check.hpp>

#include "transfer.hpp"

namespace {

using namespace mpi;
using namespace tenon::literals;
using tenon::arg;
using tenon::ContextOf;
using tenon::TensorList;

// In place. f16 and bf16 are reduced in f32.
void reduce_over_ranks(const char* op, const Tensor& tensor, std::string_view reduce) {
  const tenon::DType dtype = tenon::compute_dtype(tensor.dtype());
  tenon::kernel::check_dtype(op, "input", dtype, reduced_dtypes);
  const Reduce how = parse_reduce(op, reduce, dtype);
  const Turn turn;
  World& world = turn.world();
  if (world.size == 1) return;
  const Tensor dense = tenon::contiguous_as(tensor, dtype);
  reduce_in_place(world, dense, how, meet(world, Collective::all_reduce, &dense, how));
  if (!dense.is_same(tensor)) tenon::copy_elements(tensor, dense);
}

// The op itself, for its rules, and that of all_gather.
Tensor all_reduce(const Tensor& input, const char* reduce) {
  static const tenon::Op op("distributed.all_reduce");
  return op.call<Tensor>(input, arg("reduce") = reduce);
}
Tensor all_gather(const Tensor& input) {
  static const tenon::Op op("distributed.all_gather");
  return op.call<Tensor>(input);
}

// 1 where this rank has the extremum, the first of equal ones.
Tensor owned(const Tensor& input, const Tensor& result) {
  const int64_t rank = own_rank(), none = rank_count();
  const tenon::NoGrad no_grad;
  const Tensor same = eq(input, result).logical_or(isnan(input));
  const Tensor candidate =
      tenon::where(same, tenon::full(input.shape(), rank), tenon::full(input.shape(), none));
  return eq(all_reduce(candidate, "min"), rank).to(input.dtype());
}

// The product of the other ranks' elements.
Tensor others(const Tensor& input) {
  const int64_t rank = own_rank(), size = rank_count();
  const Tensor all = all_gather(input.unsqueeze(0));
  const std::vector<Tensor> rest = {narrow(all, 0, 0, rank),
                                    narrow(all, 0, rank + 1, size - rank - 1)};
  return tenon::concatenate(rest, 0).prod(0);
}

// d(out) = sum over ranks of weight * d(input).
template <class Op>
Tensor weighted(ContextOf<Op>& c, std::string_view reduce, const Tensor& x) {
  if (reduce == "sum") return x;
  if (reduce == "mean") return x / static_cast<double>(rank_count());
  const Tensor input = c.saved(0);
  return x * (reduce == "prod" ? others(input) : owned(input, c.saved(1)));
}

struct AllReduce {
  static constexpr auto schema =
      "distributed.all_reduce(Tensor input, *, str reduce='sum', str gradient='sum', Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [4]}, "reduce": "mean"},
          {"input": {"shape": [3]}, "reduce": "max"}, {"input": {"shape": []}, "reduce": "prod"}])";
  static constexpr auto doc =
      "The sum, mean, max, min or prod over ranks of their inputs, which have one shape and dtype; "
      "the same on each rank. gradient says what the ranks' losses are: 'sum', parts whose sum is "
      "differentiated (the gradients of the ranks are summed), or 'identity', copies of one loss. "
      "Of equal extrema the lowest rank's has the gradient; NaN wins.";
  static constexpr bool twice_differentiable = true;
  static constexpr bool any_dtype = true;
  static constexpr bool reads_elements = true;

  static Tensor forward(tenon::Context& c, const Tensor& input, std::string_view reduce,
                        std::string_view gradient, const Tensor& out) {
    check_gradient("all_reduce", gradient);
    Tensor result = result_for("all_reduce", out, input.shape(), input);
    tenon::copy_elements(result, input);
    reduce_over_ranks("all_reduce", result, reduce);
    result = give(out, result);
    if (reduce == "max" || reduce == "min" || reduce == "prod") {
      c.save_for_backward({input, result});
      c.save_for_forward({input, result});
    }
    return result;
  }
  static Tensor backward(ContextOf<AllReduce>& c, const Tensor& g) {
    const std::string_view gradient = c["gradient"_arg];
    return weighted(c, c["reduce"_arg], gradient == "sum" ? all_reduce(g, "sum") : g);
  }
  static Tensor jvp(ContextOf<AllReduce>& c, TensorList tangents) {
    return all_reduce(weighted(c, c["reduce"_arg], tangents[0]), "sum");
  }
};

struct AllReduceInPlace {
  static constexpr auto schema =
      "distributed.all_reduce_(Tensor(a!) input, *, str reduce='sum') -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "requires_grad": false}, "check": {"mutation": false}}])";
  static constexpr bool any_dtype = true;
  static constexpr bool reads_elements = true;
  static constexpr auto doc = "all_reduce in place. Without a gradient: for gradients and buffers.";
  static Tensor forward(const Tensor& input, std::string_view reduce) {
    reduce_over_ranks("all_reduce_", input, reduce);
    return input;
  }
};

}  // namespace
TENON_OPS(AllReduce, AllReduceInPlace)
