// Errors that arrive after their call has returned, and the calls as such errors name them.
//
// Library tenon::device: a plugin links tenon::plugin_device.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "tenon/call.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

// "f32[2, 3]"
std::string shape_text(DType dtype, IntList shape);

// A call that has returned: its op, its arguments by dtype and shape, and where it was made. Any
// thread may read it.
class CallRecord {
 public:
  // Copies what it needs of the call that a handler or an override answers. Calling thread only.
  explicit CallRecord(const Call& call);
  // "mm(f32[2, 3], f32[3, 4])"
  const std::string& text() const { return text_; }
  // "called from step()+0x1d (./program+0x21d), from main+0x40 (./program+0x240)": the innermost
  // functions outside of the runtime and of the device's plugin; "" where there are none.
  std::string place() const;

 private:
  static constexpr int kFrames = 48;
  std::string text_;
  void* frames_[kFrames];
  int count_ = 0;
};

// The error of work that had been begun when its call returned. Whatever that work should have
// written has it: each use raises it, and `device::synchronize` raises those that no use has. Any
// thread.
class Failure {
 public:
  // `device` is the instance, "sim:1".
  Failure(const CallRecord& call, const std::string& device, const Error& error);
  // Throws an error of its kind, which names the call.
  [[noreturn]] void raise() const;
  bool was_raised() const { return raised_; }  // by an earlier call

 private:
  tenon_status kind_;
  std::string text_;
  mutable std::atomic<bool> raised_{false};
};

}  // namespace device
TENON_NAMESPACE_END
