// Tensors and results of checked calls: other layouts of the same elements, and comparisons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/op.hpp>

namespace cli {

bool has_data(const tenon::Tensor& tensor);
// The tensor, or what the conversion of its type makes where the type has no data; undefined where
// there is no conversion.
tenon::Tensor readable(const tenon::Tensor& tensor);
std::vector<tenon::Tensor> readable(std::vector<tenon::Tensor> tensors);

// The bytes of a tensor's elements in order.
std::vector<char> bytes_of(const tenon::Tensor& tensor);
std::vector<std::vector<char>> bytes_of(const std::vector<tenon::Tensor>& tensors);
bool shares_storage(const tenon::Tensor& a, const tenon::Tensor& b);
std::string shape_dtype_text(const tenon::Tensor& tensor);  // "[2, 3] f64"
bool has_floating(const std::vector<tenon::Tensor>& tensors);
bool any_half(const std::vector<tenon::Tensor>& tensors);  // f16 or bf16
// Whether differences say nothing of the gradient: some leaves, or what `function` makes of them, are
// of f16 or bf16.
template <class Function>
bool too_coarse(const Function& function, const std::vector<tenon::Tensor>& leaves) {
  return any_half(leaves) || any_half(function(leaves));
}
bool all_finite(const std::vector<tenon::Tensor>& tensors);

// ---- copies ----

tenon::Tensor converted(const tenon::Tensor& tensor, tenon::DType dtype);
inline tenon::Tensor copied(const tenon::Tensor& tensor) {
  return tensor.defined() ? converted(tensor, tensor.dtype()) : tensor;
}
std::vector<tenon::Tensor> copied(const std::vector<tenon::Tensor>& tensors);
// f64 tensors as f32, others as they are.
std::vector<tenon::Tensor> in_single(std::vector<tenon::Tensor> tensors);
// `count` copies one after the other along a dimension.
tenon::Tensor tiled(const tenon::Tensor& tensor, int64_t dim, int64_t count);
// A view of a contiguous tensor under another shape.
tenon::Tensor reshaped(const tenon::Tensor& tensor, const std::vector<int64_t>& shape);
// The real numbers that a tensor is made of: one for each element, two for each complex one.
std::vector<double> numbers_of(const tenon::Tensor& tensor);
int64_t number_count(const tenon::Tensor& tensor);
// A contiguous tensor of these numbers, again and again: of whole dtypes the next whole number below.
tenon::Tensor filled_with(tenon::IntList shape, tenon::DType dtype,
                          const std::vector<double>& numbers);
// Another tensor with these numbers, by position.
tenon::Tensor with_elements(const tenon::Tensor& like, const std::vector<double>& numbers);

// ---- layouts ----

struct Layout {
  const char* name;  // "other strides"
  tenon::Tensor (*make)(const tenon::Tensor&);
  bool repeats;  // elements share memory: their values are not those of the given tensor
};
extern const std::vector<Layout> kLayouts;

// ---- comparing results ----

// A result, or one tensor of a result that is a list of them.
struct Piece {
  tenon::Tensor tensor;
  tenon::Value other;  // a value that is not a tensor
  std::string type;    // type of the tensor as the op gave it
};
std::vector<Piece> pieces_of(std::vector<tenon::Value> results);
std::vector<tenon::Tensor> tensors_of(const std::vector<Piece>& pieces);

struct Tolerance {
  double absolute = 1e-9, relative = 1e-7;
  bool any_dtype = false;
};
inline constexpr Tolerance kExact{};
inline constexpr Tolerance kOtherDtype{1e-5, 1.2e-4, true};
inline constexpr Tolerance kSingle{1e-5, 1e-5, false};
// Some of the smallest numbers, which sums in another order differ by.
inline constexpr Tolerance kSubnormal{1e-322, 1e-2, false}, kSubnormalSingle{3e-44, 1e-2, false};

// With a few of the last places of the narrower dtype, where any dtype will do.
Tolerance wide_enough(Tolerance tolerance, const tenon::Tensor& a, const tenon::Tensor& b);

// "3 in one and 4 in the other at element 1": the first place where numbers differ by more; empty:
// none.
std::string difference(const tenon::Tensor& a, const tenon::Tensor& b, const Tolerance& tolerance);
std::string difference(const std::vector<tenon::Tensor>& a, const std::vector<tenon::Tensor>& b,
                       const Tolerance& tolerance);
// The first difference of results: "result 1 has 3 in one and 4 in the other at element 1".
std::string difference(const std::vector<Piece>& a, const std::vector<Piece>& b,
                       const Tolerance& tolerance);

}  // namespace cli
