// Reductions that run while this rank computes.
#include <functional>
#include <optional>
#include <string>

#include <tenon/device.hpp>
#include <tenon/kernel/check.hpp>

#include "transfer.hpp"

namespace {

using namespace mpi;

// MPI reads memory of the CPU: a tensor on a device is reduced as a copy, which `wait` writes back.
Tensor on_cpu(const Tensor& tensor) { return tenon::device::to(tensor, "cpu"); }
std::function<void()> written_back(const Tensor& to, const Tensor& from) {
  if (to.is_same(from)) return {};
  return [to, from] { tenon::copy_elements(to, from); };
}

struct BeginAllReduce {
  static constexpr auto schema =
      "distributed.begin_all_reduce_(Tensor(a!) input, *, str reduce='sum') -> int";
  static constexpr auto doc =
      "Begins an all_reduce in place and returns the handle that distributed.wait takes. Until "
      "then "
      "the tensor, which is contiguous, is neither read nor written. Begun reductions run in their "
      "order, on a thread where each rank has a core for it; other collectives wait for them.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "requires_grad": false},
                                       "check": {"deterministic": false, "mutation": false, "leaks": false}}])";
  static constexpr bool any_dtype = true;
  // With a context, so that a tensor on a device arrives as it is.
  static int64_t forward(tenon::Context&, const Tensor& input, std::string_view reduce) {
    constexpr auto op = "begin_all_reduce_";
    tenon::kernel::check_dtype(op, "input", input.dtype(), reduced_dtypes);
    const Reduce how = parse_reduce(op, reduce, input.dtype());
    if (!input.is_contiguous()) {
      throw tenon::ValueError("begin_all_reduce_(): 'input' must be contiguous, got strides " +
                              tenon::kernel::shape_text(input.strides()));
    }
    const Tensor here = on_cpu(input);
    return begin(
        [here, how](World& world) {
          if (world.size > 1)
            reduce_in_place(world, here, how, meet(world, Collective::all_reduce, &here, how));
        },
        written_back(input, here));
  }
};

struct BeginReduceScatter {
  static constexpr auto schema =
      "distributed.begin_reduce_scatter(Tensor input, Tensor(a!) part) -> int";
  static constexpr auto doc =
      "Begins a reduce_scatter along dimension 0 into this rank's part, and returns the handle "
      "that "
      "distributed.wait takes. Until then neither of the tensors, which are contiguous, is read or "
      "written.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "requires_grad": false},
                                       "part": {"shape": [2, 3], "requires_grad": false},
                                       "check": {"deterministic": false, "mutation": false, "leaks": false}}])";
  static constexpr bool any_dtype = true;
  static int64_t forward(tenon::Context&, const Tensor& input, const Tensor& part) {
    constexpr auto op = "begin_reduce_scatter";
    tenon::kernel::check_dtype(op, "input", input.dtype(), reduced_dtypes);
    tenon::kernel::check_same_dtype(op, "part", part, "input", input);
    parse_reduce(op, "sum", input.dtype());
    if (!input.is_contiguous() || !part.is_contiguous() || input.dim() == 0)
      throw tenon::ValueError(
          "begin_reduce_scatter(): 'input' and 'part' must be contiguous, with a dimension");
    if (rank_count() == 1) {
      tenon::kernel::check_shape(op, "input", input, part.shape());
      tenon::copy_elements(part, input);
      return begin([](World&) {});
    }
    const Tensor here = on_cpu(input), part_here = on_cpu(part);
    return begin(
        [here, part_here](World& world) {
          tenon::kernel::Shape whole = part_here.shape();
          if (part_here.dim() > 0) whole[0] *= world.size;
          tenon::kernel::check_shape(op, "input", here, whole);
          sum_scatter(world, here, part_here, meet(world, Collective::reduce_scatter, &here, 0, 0));
        },
        written_back(part, part_here));
  }
};

struct Wait {
  static constexpr auto schema = "distributed.wait(int handle) -> ()";
  static constexpr auto doc = "Waits until a begun reduction has ended; once for each handle.";
  static constexpr auto samples =
      R"([{"handle": {"op": "distributed.begin_all_reduce_", "input": {"shape": [2, 3]}}}])";
  static void forward(int64_t handle) { finish(handle); }
};

struct Overlap {
  static constexpr auto schema = "distributed.overlap(*, bool? thread=None) -> ()";
  static constexpr auto samples = R"([{}])";
  static constexpr auto doc =
      "Whether begun reductions run on a thread; None: where each rank has a core for it. Before "
      "the first is begun.";
  static void forward(std::optional<bool> thread) { set_overlap(thread); }
};

}  // namespace
TENON_OPS(BeginAllReduce, BeginReduceScatter, Wait, Overlap)
