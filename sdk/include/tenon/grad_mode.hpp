// Grad mode and inference mode: whether a thread records its calls.
#pragma once

#include <cstdint>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN

// Scopes: recording off, on, or as the argument says, for this thread, until the scope ends.
class GradMode {
 public:
  // Recording on or off, until it is destroyed.
  explicit GradMode(bool enabled) : previous_(service::autograd().grad_mode_set(enabled ? 1 : 0)) {}
  ~GradMode() { service::autograd().grad_mode_set(previous_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  static bool enabled() { return service::autograd().grad_mode() != 0; }  // for this thread

 private:
  int32_t previous_;
};
class NoGrad : public GradMode {  // recording off, until it is destroyed
 public:
  NoGrad() : GradMode(false) {}
};
class EnableGrad : public GradMode {  // recording on, until it is destroyed
 public:
  EnableGrad() : GradMode(true) {}
};

// Scope: tensors made in it are inference tensors, which no recording can save; nothing is
// recorded. Views of other tensors stay what those are. A clone made outside of it is an ordinary
// tensor.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true)  // enters, or with false leaves it
      : grad_mode_(!enabled), previous_(service::autograd().inference_mode_set(enabled ? 1 : 0)) {}
  ~InferenceMode() { service::autograd().inference_mode_set(previous_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool enabled() { return service::autograd().inference_mode() != 0; }  // for this thread

 private:
  GradMode grad_mode_;
  int32_t previous_;
};

TENON_NAMESPACE_END
