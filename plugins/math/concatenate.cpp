// cat and stack.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

DType common_dtype(TensorList tensors) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) {
    dtype = tenon::common_dtype(dtype, tensor.dtype());
  }
  return dtype;
}
// Shape [0] adds nothing to any shape, as it always did.
bool is_nothing(const Tensor& tensor) { return tensor.dim() == 1 && tensor.shape()[0] == 0; }

struct Cat {
  static constexpr auto schema =
      "cat(Tensor[] tensors, int dim=0, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Joins tensors along a dimension; their other sizes must agree.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(tensors)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(TensorList tensors, int64_t dim) {
    if (tensors.empty()) throw ValueError("cat(): the list of tensors is empty");
    const Tensor* first = nullptr;
    int64_t position = 0;
    for (const Tensor& tensor : tensors) {
      if (tensor.dim() == 0) {
        throw ValueError("cat(): tensor " + std::to_string(position) +
                         " has 0 dimensions: use stack");
      }
      if (first == nullptr && !is_nothing(tensor)) first = &tensor;
      ++position;
    }
    if (first == nullptr) first = tensors.begin();
    const int64_t along = wrap_dimension("cat", dim, first->dim());
    Shape shape(first->shape());
    shape[along] = 0;
    for (int64_t i = 0; i < tensors.size(); ++i) {
      if (is_nothing(tensors[i])) continue;
      const IntList own = tensors[i].shape();
      bool fits = own.size() == shape.rank;
      for (int64_t k = 0; fits && k < shape.rank; ++k) fits = k == along || own[k] == shape[k];
      if (!fits) {
        throw ValueError("cat(): tensor " + std::to_string(i) + " has shape " + shape_text(own) +
                         ", which differs from " + shape_text(first->shape()) +
                         " in more than the size of dimension " + std::to_string(along));
      }
      if (__builtin_add_overflow(shape[along], own[along], &shape[along])) {
        throw ValueError("cat(): the sizes of dimension " + std::to_string(along) +
                         " add up to more than can be addressed");
      }
    }
    const Tensor result = empty_tensor(shape, common_dtype(tensors));
    int64_t offset = 0;
    for (const Tensor& tensor : tensors) {
      if (tensor.numel() == 0) continue;
      copy_elements(alias_tensor(result, tensor.shape(), result.strides(), offset), tensor);
      offset += tensor.shape()[along] * result.strides()[along];
    }
    return result;
  }
  static Gradients backward(ContextOf<Cat>& c, const Tensor& g) {
    const auto tensors = c["tensors"_arg];
    const auto dim = c["dim"_arg];
    Gradients gradients(static_cast<size_t>(tensors.size()));
    int64_t start = 0;
    for (int64_t i = 0; i < tensors.size(); ++i) {
      const IntList shape = tensors[i].shape();
      if (is_nothing(tensors[i])) {
        if (c.needs_input_grad("tensors"_arg, i))
          gradients[static_cast<size_t>(i)] = zeros(shape, g.dtype());
        continue;
      }
      const int64_t length = shape[wrap_dimension("cat", dim, shape.size())];
      if (c.needs_input_grad("tensors"_arg, i))
        gradients[static_cast<size_t>(i)] = g.narrow(dim, start, length);
      start += length;
    }
    return gradients;
  }
};

struct Stack {
  static constexpr auto schema =
      "stack(Tensor[] tensors, int dim=0, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Joins tensors of one shape along a new dimension.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(TensorList tensors, int64_t dim) {
    if (tensors.empty()) throw ValueError("stack(): the list of tensors is empty");
    const IntList own = tensors[0].shape();
    kernel::check_rank("stack", own.size() + 1);
    const int64_t along = wrap_dimension("stack", dim, own.size() + 1);
    for (int64_t i = 1; i < tensors.size(); ++i) {
      if (!same_shape(tensors[i].shape(), own)) {
        throw ValueError("stack(): tensor " + std::to_string(i) + " has shape " +
                         shape_text(tensors[i].shape()) + ", but tensor 0 has " + shape_text(own));
      }
    }
    Shape shape(own);
    shape.insert(along, tensors.size());
    const Tensor result = empty_tensor(shape, common_dtype(tensors));
    Shape strides(result.strides());
    const int64_t step = strides[along];
    strides.erase(along);
    for (int64_t i = 0; i < tensors.size() && result.numel() != 0; ++i) {
      copy_elements(alias_tensor(result, own, strides, i * step), tensors[i]);
    }
    return result;
  }
  static Gradients backward(ContextOf<Stack>& c, const Tensor& g) {
    const auto dim = c["dim"_arg];
    Gradients gradients(static_cast<size_t>(g.size(dim)));
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (c.needs_input_grad("tensors"_arg, static_cast<int64_t>(i)))
        gradients[i] = g.select(dim, static_cast<int64_t>(i));
    }
    return gradients;
  }
};

}  // namespace

TENON_OPS(Cat, Stack)
