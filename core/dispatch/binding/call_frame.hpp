// A handler, override or mode that is running, and how its call is written.
#pragma once

#include "core/dispatch/call/layer.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

struct Plan;
struct DispatchChain;

struct CallFrame {
  explicit CallFrame(Call& running) : call(running) {}

  tenon_call view;  // the handler gets its address; filled by the caller of the handler
  Call& call;
  const Plan* plan = nullptr;
  const DispatchChain* chain = nullptr;  // null: a mode
  size_t index = 0;                      // index of the running candidate in the chain
  uint32_t hidden = 0;                   // flags that only components of the operands carry
  const CallFrame* outer = nullptr;
  int depth = 0;
};

// Makes a frame the innermost of those that are running.
class FrameScope {
 public:
  explicit FrameScope(CallFrame& frame) : previous_(thread_state.frame) {
    frame.outer = previous_;
    frame.depth = previous_ == nullptr ? 1 : previous_->depth + 1;
    thread_state.frame = &frame;
  }
  ~FrameScope() { thread_state.frame = previous_; }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  const CallFrame* previous_;
};

// Room for a call's keywords.
struct WrittenCall {
  tenon_string names[kMaxParameters];
  tenon_value values[kMaxParameters];
};
// Fills in the op, its arguments, and how they are written.
void fill_view(tenon_call& view, const Call& call, WrittenCall& room);

// How a call is written with other bound arguments: what is the same stays
// as it was written, what is new to it goes by name.
class Rewritten {
 public:
  Rewritten(const Call& call, const tenon_value* arguments);
  Rewritten(const Rewritten&) = delete;
  Rewritten& operator=(const Rewritten&) = delete;
  const AsWritten& get() const { return written_; }

 private:
  AsWritten written_;
  tenon_value positional_[kMaxParameters];
  WrittenCall room_;
};

// Whether two values of one tag and length are equal.
bool same_content(const tenon_value& a, const tenon_value& b);
// Whether the value is the one that the parameter takes when it is not given.
inline bool is_default(const Parameter& parameter, const tenon_value& value) {
  if (!parameter.has_default) return false;
  const tenon_value& usual = parameter.default_value.value;
  if (usual.tag != value.tag || usual.length != value.length) return false;
  return usual.as.integer == value.as.integer || same_content(usual, value);
}

}  // namespace tenon::core
