// Stage "odd inputs": arguments that an op may refuse, in words, but must not fall over.
#include <cmath>
#include <functional>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

void check_odd_sample(OpCheck& check, const Sample& sample) {
  const auto attempt = [&](const std::function<void(TensorSpec&)>& change) {
    Sample odd = sample;
    for (SampleValue& value : odd.values) {
      for (TensorSpec& spec : value.tensors) change(spec);
    }
    check.listener.trying(odd);
    try {
      const SampleCall call = check.call_of(odd);
      call(call.tensors);
    } catch (const tenon::Error& error) {
      if (error.kind() == TENON_ERROR_INTERNAL || *error.what() == 0 ||
          contains_text(error.what(), "and no message")) {
        check.find("unexplained-error", format_text("refused with: {}", error.what()), &odd);
      }
    }
  };
  for (size_t dim = 0; dim < 3; ++dim) {
    attempt([dim](TensorSpec& spec) {
      if (dim < spec.shape.size()) spec.shape[dim] = 0;
    });
  }
  attempt([](TensorSpec& spec) {
    spec.shape.clear();
    if (spec.values.size() > 1) spec.values.erase(spec.values.begin() + 1, spec.values.end());
  });
  attempt([](TensorSpec& spec) { spec.shape.insert(spec.shape.begin(), 1); });
  attempt(
      [](TensorSpec& spec) { spec.shape.insert(spec.shape.begin(), 6 - spec.shape.size(), 1); });
  for (const tenon::DType dtype : {tenon::boolean, tenon::u8, tenon::i64, tenon::f32, tenon::c64})
    attempt([dtype](TensorSpec& spec) { spec.dtype = dtype; });
  attempt([](TensorSpec& spec) {
    if (tenon::is_differentiable(spec.dtype)) spec.values = {HUGE_VAL, -HUGE_VAL, NAN};
  });
}

}  // namespace

void check_odd_inputs(OpCheck& check) { check_odd_sample(check, check.samples[0]); }

}  // namespace cli
