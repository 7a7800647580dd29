// movedim and meshgrid: dimensions in other places.
#include <vector>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Movedim {
  static constexpr auto schema =
      "movedim(Tensor(a) input, int[] source, int[] destination) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 2]}, "source": [0], "destination": [-1]},
          {"input": {"shape": [2, 3, 2]}, "source": [0, 1], "destination": [2, 0]}])";
  static constexpr auto doc =
      "A view with the source dimensions at the destinations; the others keep their order.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList source, IntList destination) {
    const int64_t rank = input.dim();
    if (source.size() != destination.size()) {
      throw ValueError("movedim(): source " + shape_text(source) + " and destination " +
                       shape_text(destination) + " have different lengths");
    }
    const uint32_t moved = dimension_mask("movedim", source, rank);
    dimension_mask("movedim", destination, rank);
    if (rank == 0) return permute(input, IntList());
    Shape order;
    for (int64_t i = 0; i < rank; ++i) order.push(-1);
    for (int64_t i = 0; i < source.size(); ++i)
      order[wrap_dimension("movedim", destination[i], rank)] =
          wrap_dimension("movedim", source[i], rank);
    int64_t next = 0;
    for (int64_t i = 0; i < rank; ++i) {
      if (order[i] >= 0) continue;
      while ((moved >> next & 1) != 0) ++next;
      order[i] = next++;
    }
    return permute(input, IntList(order));
  }
};

struct Meshgrid {
  static constexpr auto schema =
      "meshgrid(Tensor(a)[] tensors, *, str indexing=\"ij\") -> Tensor(a)[]";
  static constexpr auto samples =
      R"([{"tensors": [{"shape": [2]}, {"shape": [3]}]},
          {"tensors": [{"shape": [2]}, {"shape": [3]}, {"shape": []}], "indexing": "xy"}])";
  static constexpr auto doc =
      "Views of vectors, expanded to the grid that they span: element (i, j, ...) of result k is "
      "that of vector k. With indexing \"xy\" the first two dimensions are swapped.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(TensorList tensors, std::string_view indexing) {
    if (indexing != "ij" && indexing != "xy") {
      throw ValueError("meshgrid(): indexing is '" + std::string(indexing) + "'; choose ij or xy");
    }
    if (tensors.empty()) throw ValueError("meshgrid(): the list of tensors is empty");
    kernel::check_rank("meshgrid", tensors.size());
    Shape grid;
    for (const Tensor& tensor : tensors) {
      if (tensor.dim() > 1) {
        throw ValueError("meshgrid(): takes vectors, but tensor " + std::to_string(grid.rank) +
                         " has shape " + shape_text(tensor.shape()));
      }
      grid.push(tensor.numel());
    }
    const bool swapped = indexing == "xy" && grid.rank > 1;
    if (swapped) std::swap(grid[0], grid[1]);
    std::vector<Tensor> results;
    for (int64_t i = 0; i < tensors.size(); ++i) {
      const int64_t at = swapped && i < 2 ? 1 - i : i;
      Shape own;
      for (int64_t k = 0; k < grid.rank; ++k) own.push(k == at ? grid[k] : 1);
      results.push_back(expand(reshape(tensors[i], IntList(own)), IntList(grid)));
    }
    return results;
  }
};

}  // namespace

TENON_OPS(Movedim, Meshgrid)
