// Releasing saved tensors, and the errors of those that changed.
#include "core/autograd/graph/saved_tensor.hpp"

#include <string>
#include <utility>

#include "core/autograd/graph/node.hpp"
#include "core/autograd/hooks/saved_hooks.hpp"
#include "core/autograd/typed/component_history.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

void SavedTensor::release_packed() {
  delete std::exchange(packed, nullptr);
  state = 0;
}

int64_t data_bytes(tenon_dtype dtype, Shape shape) {
  int64_t bytes = dtype_bytes(dtype);
  for (const int64_t size : shape) bytes *= size;
  return bytes;
}

int64_t SavedTensor::bytes() const {
  return packs() ? data_bytes(packed->dtype, packed->shape)
                 : data_bytes(tensor->view.dtype, tensor->shape());
}

void fail_changed(const SavedTensor& saved, const Node& node) {
  const Tensor& tensor = *saved.tensor;
  const Tensor& changed = last_changed(tensor);
  const tenon_op* writer = changed.storage == nullptr
                               ? nullptr
                               : changed.storage->last_writer.load(std::memory_order_relaxed);
  std::string origin;
  if (saved.own_result()) {
    origin = format_text(", which is output {} of {},", saved.index, node.name());
  } else if (tensor.node != nullptr) {
    origin = format_text(", which is output {} of {},", tensor.node_output,
                         static_cast<Node*>(tensor.node)->name());
  }
  std::string message = format_text(
      "one of the variables needed for gradient computation has been modified by an inplace "
      "operation: [{} {}]{} is at version {}; expected version {} instead, to compute the "
      "gradients of {}.",
      dtype_text(tensor.view.dtype), shape_text(tensor.shape()), origin, version_of(tensor),
      saved.version, node.name());
  if (writer != nullptr) {
    const Implementation* by = writer->implementation.load();
    message += format_text(" It was last changed by '{}'{}.", writer->name,
                           by == nullptr ? "" : format_text(" (plugin '{}')", by->provider));
  }
  message += " Hint: clone the tensor before changing it, or change it after backward.";
  throw Error(TENON_ERROR_INPLACE, message);
}

void fail_inference_saved() {
  throw Error(TENON_ERROR_RUNTIME,
              "Inference tensors cannot be saved for backward. To work around you can make a clone "
              "to get a normal tensor and use it in autograd.");
}

}  // namespace tenon::core
