// broadcast: the elements of one rank on all.
#include "transfer.hpp"

namespace {

using namespace mpi;
using namespace tenon::literals;
using tenon::ContextOf;

void broadcast(const char* op, const Tensor& tensor, int64_t root) {
  const Turn turn;
  World& world = turn.world();
  if (root < 0 || root >= world.size) {
    throw tenon::IndexError(std::string(op) + "(): root " + std::to_string(root) +
                            " is out of range for " + std::to_string(world.size) +
                            (world.size == 1 ? " rank" : " ranks"));
  }
  if (world.size == 1) return;
  broadcast_in_place(world, tensor, static_cast<int>(root),
                     meet(world, Collective::broadcast, &tensor, 0, root));
}

struct Broadcast {
  static constexpr auto schema =
      "distributed.broadcast(Tensor input, *, int root=0, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}}])";
  static constexpr auto doc =
      "The input of the root, on each rank; the others' inputs have its shape and dtype. The "
      "gradients of the ranks are summed, for the root.";
  static constexpr bool any_dtype = true;
  static constexpr bool reads_elements = true;

  static Tensor forward(const Tensor& input, int64_t root, const Tensor& out) {
    const Tensor result = result_for("broadcast", out, input.shape(), input);
    tenon::copy_elements(result, input);
    broadcast("broadcast", result, root);
    return give(out, result);
  }
  static Tensor backward(ContextOf<Broadcast>& c, const Tensor& g) {
    static const tenon::Op all_reduce("distributed.all_reduce"), rank("distributed.rank");
    const auto sum = all_reduce.call<Tensor>(g);
    return rank.call<int64_t>() == int64_t{c["root"_arg]} ? sum : sum * 0;
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

struct BroadcastInPlace {
  static constexpr auto schema =
      "distributed.broadcast_(Tensor(a!) input, *, int root=0) -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "requires_grad": false}, "check": {"mutation": false}}])";
  static constexpr auto doc = "broadcast in place. Without a gradient: for parameters and buffers.";
  static constexpr bool any_dtype = true;
  static constexpr bool reads_elements = true;
  static Tensor forward(const Tensor& input, int64_t root) {
    const Tensor dense = tenon::contiguous_as(input, input.dtype());
    broadcast("broadcast_", dense, root);
    if (!dense.is_same(input)) tenon::copy_elements(input, dense);
    return input;
  }
};

}  // namespace
TENON_OPS(Broadcast, BroadcastInPlace)
