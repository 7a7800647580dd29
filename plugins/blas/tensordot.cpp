// tensordot: sums of products over chosen dimensions of two tensors.
#include <numeric>

#include <tenon/call.hpp>

#include "contraction.hpp"

namespace {

using blas::Labelled;
using tenon::IntList;
using tenon::Tensor;

struct Tensordot {
  static constexpr auto schema =
      "tensordot(Tensor a, Tensor b, int dims=2, *, int[]? dims_a=None, int[]? dims_b=None, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"a": {"shape": [2, 3]}, "b": {"shape": [3, 2]}, "dims": 1},
          {"a": {"shape": [2, 3, 2]}, "b": {"shape": [3, 2]}},
          {"a": {"shape": [2, 3]}, "b": {"shape": [2, 3]}, "dims_a": [0, -1], "dims_b": [0, 1]}])";
  static constexpr auto doc =
      "Sums of products over the last dims dimensions of a and the first of b, or over the pairs "
      "of dimensions in dims_a and dims_b; what is left of a is followed by what is left of b.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& a, const Tensor& b, int64_t dims,
                        std::optional<IntList> dims_a, std::optional<IntList> dims_b) {
    blas::check_dtypes("tensordot", "a", a, "b", b);
    std::vector<int64_t> from_a, from_b;
    if (dims_a.has_value() != dims_b.has_value() || (dims_a && dims_a->size() != dims_b->size())) {
      throw tenon::ValueError("tensordot(): dims_a and dims_b must be as many, got " +
                              text_of(dims_a) + " and " + text_of(dims_b));
    }
    if (dims_a) {
      tenon::kernel::dimension_mask("tensordot", *dims_a, a.dim());
      tenon::kernel::dimension_mask("tensordot", *dims_b, b.dim());
      for (const int64_t dim : *dims_a)
        from_a.push_back(tenon::kernel::wrap_dimension("tensordot", dim, a.dim()));
      for (const int64_t dim : *dims_b)
        from_b.push_back(tenon::kernel::wrap_dimension("tensordot", dim, b.dim()));
    } else {
      if (dims < 0 || dims > a.dim() || dims > b.dim()) {
        throw tenon::ValueError("tensordot(): dims must be from 0 to the dimensions of both, got " +
                                std::to_string(dims) + " for shapes " + blas::shape_text(a) +
                                " and " + blas::shape_text(b));
      }
      for (int64_t i = 0; i < dims; ++i) {
        from_a.push_back(a.dim() - dims + i);
        from_b.push_back(i);
      }
    }
    return product(a, b, from_a, from_b);
  }

 private:
  static std::string text_of(const std::optional<IntList>& dims) {
    return dims ? tenon::kernel::shape_text(*dims) : "None";
  }
  static Tensor product(const Tensor& a, const Tensor& b, const std::vector<int64_t>& from_a,
                        const std::vector<int64_t>& from_b) {
    const auto a_rank = static_cast<size_t>(a.dim()), b_rank = static_cast<size_t>(b.dim());
    Labelled x{a, std::vector<int>(a_rank)}, y{b, std::vector<int>(b_rank)};
    std::iota(x.labels.begin(), x.labels.end(), 0);
    std::iota(y.labels.begin(), y.labels.end(), static_cast<int>(a_rank));
    std::vector<bool> keep(a_rank + b_rank, true);
    for (size_t i = 0; i < from_a.size(); ++i) {
      if (a.shape()[from_a[i]] != b.shape()[from_b[i]]) {
        throw tenon::ValueError(
            "tensordot(): sizes differ along dimension " + std::to_string(from_a[i]) +
            " of 'a' of shape " + blas::shape_text(a) + " and dimension " +
            std::to_string(from_b[i]) + " of 'b' of shape " + blas::shape_text(b));
      }
      const auto at = static_cast<size_t>(from_a[i]);
      y.labels[static_cast<size_t>(from_b[i])] = static_cast<int>(at);
      keep[at] = false;
    }
    tenon::kernel::check_rank("tensordot",
                              a.dim() + b.dim() - 2 * static_cast<int64_t>(from_a.size()));
    return blas::contract(std::move(x), std::move(y), keep).tensor;
  }
};

}  // namespace
TENON_OP(Tensordot)
