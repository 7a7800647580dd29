// MPI counts elements by int: what is larger goes in pieces, or is refused.
#include "transfer.hpp"

#include <algorithm>
#include <climits>

#include <tenon/kernel/check.hpp>
#include <tenon/kernel/view.hpp>

#include "watchdog.hpp"

namespace mpi {

namespace {

constexpr int64_t kPiece = int64_t{1} << 30;

// body(first, count) for pieces that an int can count.
template <class Body>
void in_pieces(int64_t count, Body&& body) {
  for (int64_t first = 0; first < count; first += kPiece)
    body(first, static_cast<int>(std::min(kPiece, count - first)));
}

char* bytes(const Tensor& tensor) { return static_cast<char*>(tensor.view_record().data); }

int64_t byte_count(const Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tenon::element_size(tensor.dtype()));
}

// Elements that one rank sends to one other, in elements of `type`.
int block(const char* op, int64_t count) {
  if (count > INT_MAX) {
    throw tenon::ValueError(std::string(op) + "(): a rank's part has " + std::to_string(count) +
                            " elements, at most 2147483647 are possible; split the tensor");
  }
  return static_cast<int>(count);
}

// Divides the sum that becomes a mean.
void divide_by_size(const World& world, const Tensor& tensor) {
  tenon::kernel::visit<tenon::floating_dtypes>(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* data = tenon::kernel::elements<T>(tensor);
    const auto size = static_cast<T>(world.size);
    for (int64_t i = 0; i < tensor.numel(); ++i) data[i] /= size;
  });
}

}  // namespace

void reduce_in_place(World& world, const Tensor& tensor, Reduce reduce, const Call& call) {
  const auto width = static_cast<int64_t>(tenon::element_size(tensor.dtype()));
  in_pieces(tensor.numel(), [&](int64_t first, int count) {
    const Watched watched(world, call);
    check_status("all_reduce", MPI_Allreduce(MPI_IN_PLACE, bytes(tensor) + first * width, count,
                                             mpi_type(tensor.dtype()),
                                             mpi_op(reduce, tensor.dtype()), world.data));
  });
  if (reduce == mean) divide_by_size(world, tensor);
}

void broadcast_in_place(World& world, const Tensor& tensor, int root, const Call& call) {
  in_pieces(byte_count(tensor), [&](int64_t first, int count) {
    const Watched watched(world, call);
    check_status("broadcast", MPI_Bcast(bytes(tensor) + first, count, MPI_BYTE, root, world.data));
  });
}

void gather(World& world, const Tensor& from, const Tensor& to, const Call& call) {
  const int count = block("all_gather", byte_count(from));
  const Watched watched(world, call);
  check_status("all_gather",
               MPI_Allgather(bytes(from), count, MPI_BYTE, bytes(to), count, MPI_BYTE, world.data));
}

void sum_scatter(World& world, const Tensor& from, const Tensor& to, const Call& call) {
  const int count = block("reduce_scatter", to.numel());
  const Watched watched(world, call);
  check_status("reduce_scatter",
               MPI_Reduce_scatter_block(bytes(from), bytes(to), count, mpi_type(to.dtype()),
                                        MPI_SUM, world.data));
}

Tensor result_for(const char* op, const Tensor& out, tenon::IntList shape, const Tensor& input) {
  if (!out.defined()) return tenon::empty_tensor(shape, input.dtype());
  tenon::kernel::check_shape(op, "out", out, shape);
  tenon::kernel::check_same_dtype(op, "out", out, "input", input);
  const bool direct = out.is_contiguous() &&
                      tenon::service::tensors().shares_storage(out.handle(), input.handle()) == 0;
  return direct ? out : tenon::empty_tensor(shape, input.dtype());
}

Tensor give(const Tensor& out, const Tensor& result) {
  if (!out.defined() || out.is_same(result)) return result;
  tenon::copy_elements(out, result);
  return out;
}

}  // namespace mpi
