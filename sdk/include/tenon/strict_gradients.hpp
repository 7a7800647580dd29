// A scope in which a Function's gradient must have the shape of its input.
#pragma once

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN

// Outside of it a gradient that is broadcast-larger is summed, with a warning once for each op;
// inside it is a RuntimeError of the backward that runs on this thread.
class StrictGradients {
 public:
  explicit StrictGradients(bool enabled = true)  // until destroyed, on this thread
      : previous_(service::autograd().strict_gradients_set(enabled ? 1 : 0)) {}
  ~StrictGradients() { service::autograd().strict_gradients_set(previous_); }
  StrictGradients(const StrictGradients&) = delete;
  StrictGradients& operator=(const StrictGradients&) = delete;

 private:
  int32_t previous_;
};

TENON_NAMESPACE_END
