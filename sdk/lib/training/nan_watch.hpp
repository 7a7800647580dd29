// Finding the first op of a forward that makes a NaN.
#pragma once

#include <tenon/mode.hpp>
#include <tenon/ops.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// ValueError, naming the op, at the first call with a NaN among its results.
class NanWatch : public Mode {
 public:
  NanWatch() : Mode("nan_watch") {}
  Results tenon_function(const Call& call) override {
    bool given = false, made = false;
    call.each_tensor([&](const Tensor& input) { given = given || has_nan(input); });
    Results results = call.call_parent();
    results.transform([&](Tensor result) {
      made = made || has_nan(result);
      return result;
    });
    if (!made) return results;
    throw ValueError(lib::format_text("{}() gave the first nan, from inputs {} nan", call.name(),
                                      given ? "that have" : "without"));
  }

 private:
  static bool has_nan(const Tensor& tensor) {
    return tensor.defined() && is_floating(tensor.dtype()) && tensor.numel() > 0 &&
           isnan(tensor.detach()).any().item() != 0;
  }
};

}  // namespace training

TENON_NAMESPACE_END
