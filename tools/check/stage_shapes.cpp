// Stage "shapes": what is computed from shapes alone against what a call returns.
#include <algorithm>

#include <tenon/shapes_only.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// Results that are computed from shapes alone must have the shapes of the call.
void check_shape(OpCheck& check, const Sample& sample, bool single) {
  const SampleCall call = check.call_of(sample), again = check.call_of(sample);
  const std::vector<Tensor> given = single ? in_single(call.tensors) : call.tensors;
  std::vector<Tensor> zeros;
  for (const Tensor& tensor : single ? in_single(again.tensors) : again.tensors) {
    if (tensor.defined() && !has_data(tensor)) return;
    zeros.push_back(tensor.defined() ? converted(tensor, tensor.dtype()) : tensor);
    if (tensor.defined()) tenon::fill_elements(zeros.back(), 0);
  }
  check.listener.trying(sample);
  std::vector<Tensor> expected;
  try {
    expected = tensors_of(call(given));
  } catch (const tenon::Error&) {
    return;
  }
  std::vector<Tensor> found;
  try {
    const tenon::ShapesOnly shapes;
    found = tensors_of(again(zeros));
  } catch (const tenon::NotImplementedError&) {  // declared data_dependent_shape
    return;
  } catch (const tenon::Error& error) {
    check.find("shape",
               format_text("where shapes alone are computed, from zeros, the op refuses them: {}",
                           error.what()),
               &sample);
    return;
  }
  for (size_t r = 0; r < expected.size() && r < found.size(); ++r) {
    if (!expected[r].defined() || !found[r].defined()) continue;
    if (expected[r].sizes() == found[r].sizes() && expected[r].dtype() == found[r].dtype())
      continue;
    check.find(
        "shape",
        format_text("where shapes alone are computed, result {} is {}, but the call gives {}", r,
                    shape_dtype_text(found[r]), shape_dtype_text(expected[r])),
        &sample);
  }
}

}  // namespace

void check_shapes(OpCheck& check) {
  for (const Sample& sample : check.samples) {
    check_shape(check, sample, false);
    if (sample.precision) check_shape(check, sample, true);
  }
  Sample higher = check.samples[0];
  for (SampleValue& value : higher.values) {
    for (TensorSpec& spec : value.tensors)
      spec.shape.insert(spec.shape.begin(), 5 - std::min<size_t>(spec.shape.size(), 5), 1);
  }
  check_shape(check, higher, false);
}

}  // namespace cli
