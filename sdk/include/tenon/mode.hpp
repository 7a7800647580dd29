// Modes: handlers in force for a scope, asked for every op that the thread calls; and those that
// are shipped: to count, to trace, to deny.
//
//   CountMode count;
//   {
//     ModeScope scope(count);
//     model(input);
//   }
//   count.calls();  // {"add": 3, ...}
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/type.hpp"

TENON_NAMESPACE_BEGIN

// Derive from it. Above autograd it sees what is called; below, what is run, the ops of backward
// among it. While tenon_function runs the mode is not in force; call_parent goes on outside of it.
class Mode {
 public:
  explicit Mode(std::string mode_name) : name(std::move(mode_name)) {}
  virtual ~Mode() = default;
  virtual Results tenon_function(const Call& call) = 0;

  const std::string name;
};

enum class Level { above_autograd, below_autograd };

// Puts a mode in force on this thread as long as the scope lives; scopes nest.
class ModeScope {
 public:
  explicit ModeScope(Mode& mode, Level level = Level::above_autograd) {
    detail::check(host().mode_enter, mode.name.c_str(), &ModeScope::ask, static_cast<void*>(&mode),
                  level == Level::below_autograd ? 1 : 0, &mode_);
  }
  // Without a word when it is not the innermost: call leave() to be told.
  ~ModeScope() {
    if (mode_ != nullptr) host().mode_leave(mode_, nullptr);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

  // RuntimeError when it is not the innermost, or was entered on another thread; out of force in
  // any case.
  void leave() {
    if (mode_ != nullptr) detail::check(host().mode_leave, std::exchange(mode_, nullptr));
  }

 private:
  static tenon_status ask(void* self, const tenon_call* call, tenon_value* results,
                          tenon_error** error) {
    try {
      Results answer = static_cast<Mode*>(self)->tenon_function(Call(call));
      const int64_t count = host().op_result_count(call->op);
      answer.give(results, count == 0 ? 1 : count);
      return TENON_OK;
    } catch (...) {
      return detail::report_exception(error);
    }
  }
  tenon_mode* mode_ = nullptr;
};

// How often each op is called.
class CountMode : public Mode {
 public:
  CountMode() : Mode("count") {}
  Results tenon_function(const Call& call) override {
    ++calls_[call.name()];
    return call.call_parent();
  }
  const std::map<std::string, int64_t>& calls() const { return calls_; }

 private:
  std::map<std::string, int64_t> calls_;
};

// A line for each call: `add(Tensor f32[2, 2], 1, alpha=2)`, or as JSON
// {"op":"add","arguments":["Tensor f32[2, 2]","1"],"keywords":{"alpha":"2"}}.
class TraceMode : public Mode {
 public:
  explicit TraceMode(bool json = false) : Mode("trace"), json_(json) {}
  Results tenon_function(const Call& call) override {
    lines_.push_back(json_ ? json_line(call) : text_line(call));
    return call.call_parent();
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  static std::string value_text(const Argument& argument) {
    const tenon_value& value = argument.value();
    if (value.tag == TENON_VALUE_TENSOR) return tensor_text(value.as.tensor);
    if (value.tag != TENON_VALUE_TENSOR_LIST) return text_of(argument);
    std::string text = "[";
    for (uint32_t i = 0; i < value.length; ++i)
      text += (i > 0 ? ", " : "") + tensor_text(value.as.tensors[i]);
    return text + "]";
  }
  static std::string tensor_text(tenon_tensor* handle) {
    const Tensor tensor = Tensor::borrow(handle);
    if (!tensor.defined()) return "None";
    return type_name(tensor) + " " + dtype_text(tensor.dtype()) + text_of(Argument(tensor.shape()));
  }
  static std::string text_line(const Call& call) {
    std::string text;
    for (const tenon_value& value : call.args())
      text += (text.empty() ? "" : ", ") + value_text(Argument(value));
    for (const Keyword& keyword : call.kwargs()) {
      text +=
          (text.empty() ? "" : ", ") + std::string(keyword.name) + "=" + value_text(keyword.value);
    }
    return call.name() + "(" + text + ")";
  }
  static std::string quoted(const std::string& text) {
    detail::FactsWriter measure;
    measure.string(text);
    std::string result(measure.size, ' ');
    detail::FactsWriter writer{result.data(), 0};
    writer.string(text);
    return result;
  }
  static std::string json_line(const Call& call) {
    std::string arguments, keywords;
    for (const tenon_value& value : call.args())
      arguments += (arguments.empty() ? "" : ",") + quoted(value_text(Argument(value)));
    for (const Keyword& keyword : call.kwargs()) {
      keywords += (keywords.empty() ? "" : ",") + quoted(std::string(keyword.name)) + ":" +
                  quoted(value_text(keyword.value));
    }
    return "{\"op\":" + quoted(call.name()) + ",\"arguments\":[" + arguments + "],\"keywords\":{" +
           keywords + "}}";
  }
  bool json_;
  std::vector<std::string> lines_;
};

// Refuses some ops; all when none is named.
class DenyMode : public Mode {
 public:
  explicit DenyMode(std::vector<std::string> ops = {}) : Mode("deny"), ops_(std::move(ops)) {}
  Results tenon_function(const Call& call) override {
    bool denied = ops_.empty();
    for (const std::string& op : ops_) denied = denied || op == call.name();
    if (denied) throw RuntimeError(call.short_name() + "(): denied by mode deny");
    return call.call_parent();
  }

 private:
  std::vector<std::string> ops_;
};

TENON_NAMESPACE_END
