// One call of an op, as handlers, overrides and modes see it, and what they give back for it.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/parameters.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

struct NotImplemented {};
inline constexpr NotImplemented not_implemented{};  // returned by a handler to decline

// Results of a call, or its refusal: as many values as the op has results. Move-only.
class Results {
 public:
  Results(NotImplemented) { values_[0].tag = TENON_VALUE_NOT_IMPLEMENTED; }  // declines
  template <class T, std::enable_if_t<!std::is_same_v<std::decay_t<T>, Results>, int> = 0>
  Results(T&& result) {  // one result, or a tuple of several
    detail::give_results(std::forward<T>(result), values_);
  }
  // To be filled through its slots.
  static Results of_count(int64_t count) {
    Results results{none};
    results.count_ = count;
    return results;
  }
  Results(Results&& other) noexcept : count_(other.count_) {
    for (int64_t i = 0; i < detail::max_results; ++i)
      values_[i] = std::exchange(other.values_[i], tenon_value{});
  }
  Results& operator=(Results&& other) noexcept {
    std::swap(count_, other.count_);
    for (int64_t i = 0; i < detail::max_results; ++i) std::swap(values_[i], other.values_[i]);
    return *this;
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    for (tenon_value& value : values_) {
      if (value.tag >= TENON_VALUE_STRING) service::values().release(&value);
    }
  }

  // The first result.
  bool declined() const { return values_[0].tag == TENON_VALUE_NOT_IMPLEMENTED; }
  int64_t size() const { return count_; }                                                // results
  Value take(int64_t i = 0) { return Value(std::exchange(values_[i], tenon_value{})); }  // owned
  // Replaces every tensor, in lists too, by what `body` makes of it.
  template <class Body>
  Results& transform(Body&& body) {
    for (tenon_value& value : values_) {
      if (value.tag == TENON_VALUE_TENSOR) {
        value.as.tensor = body(Tensor::take(std::exchange(value.as.tensor, nullptr))).give();
        if (value.as.tensor == nullptr) value.tag = TENON_VALUE_NONE;
      } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
        auto** tensors = const_cast<tenon_tensor**>(value.as.tensors);
        for (uint32_t k = 0; k < value.length; ++k) {
          if (tensors[k] == nullptr) continue;
          tensors[k] = body(Tensor::take(std::exchange(tensors[k], nullptr))).give();
        }
      }
    }
    return *this;
  }
  tenon_value* slots() { return values_; }        // size() of them; borrowed
  void give(tenon_value* slots, int64_t count) {  // to the host
    for (int64_t i = 0; i < count; ++i) slots[i] = std::exchange(values_[i], tenon_value{});
  }

 private:
  tenon_value values_[detail::max_results] = {};
  int64_t count_ = 1;
};

namespace detail {
template <>
struct MayDecline<Results> : std::true_type {};
}  // namespace detail

// As it is printed: None, 0.4, tensor(1.), ScalarTensor(N=5, value=2).
inline std::string text_of(const Argument& value) {
  Value text;
  detail::check(service::values().text, &value.value(), text.slot());
  return text.text();
}
// "f32[2, 3]", as messages have it.
inline std::string text_of(const Value& value) { return text_of(Argument(value.get())); }

enum class Spelling : uint32_t {        // how the call was written
  function = TENON_SPELLING_FUNCTION,   // add(a, b)
  method = TENON_SPELLING_METHOD,       // a.add(b)
  operator_ = TENON_SPELLING_OPERATOR,  // a + b, -a, a += b
  handle = TENON_SPELLING_HANDLE        // Op("add")(a, b), and calls with keywords
};

// One call, as handlers, overrides and modes see it. Valid during the callback, on its thread.
class Call {
 public:
  explicit Call(const tenon_call* call) : call_(call) {}  // borrowed
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Op op() const { return Op(call_->op); }                              // the op
  std::string name() const { return service::ops().name(call_->op); }  // "nn.functional.gelu"
  std::string short_name() const {                                     // "gelu"
    const std::string full = name();
    const size_t dot = full.rfind('.');
    return dot == std::string::npos ? full : full.substr(dot + 1);
  }
  // How the program spelled the call: all spellings are one op, and are handled as one. Below
  // autograd, Functions and ops on half floats are spelled as functions.
  Spelling spelling() const { return static_cast<Spelling>(call_->spelling); }
  // The distinct types of the operands that have a handler, an override or a fallback, in the order
  // of asking. Empty in a mode where types are disabled.
  Span<const uint32_t> types() const { return {call_->types, call_->type_count}; }
  std::vector<std::string> type_names() const {  // in the order of asking
    std::vector<std::string> names(static_cast<size_t>(types().size()));
    for (size_t i = 0; i < names.size(); ++i) names[i] = service::types().name(call_->types[i]);
    return names;
  }
  // One for each parameter, defaults filled in.
  int64_t size() const { return call_->argument_count; }
  Argument argument(int64_t i) const { return Argument(call_->arguments[i]); }  // borrowed
  Tensor tensor(int64_t i) const {  // ArgumentError unless it is a tensor
    const tenon_value& value = call_->arguments[i];
    return value.tag == TENON_VALUE_TENSOR ? Tensor::borrow(value.as.tensor) : Tensor();
  }
  // An argument by its name in the op's schema, looked up in each call; `tensor` is undefined where
  // the argument is not one. IndexError when the op has no parameter of the name. Not for
  // overrides, which have the parameters of the override's schema.
  Argument argument(std::string_view name) const { return argument(index_of(name)); }
  // Argument of this parameter; ArgumentError unless it is a tensor.
  Tensor tensor(std::string_view name) const { return tensor(index_of(name)); }
  // The arguments as the caller wrote them, before conversions: values by position, then values by
  // name, a value that equals its default too. A typed wrapper (tenon::add, x.add, x + y) passes
  // its C++ default arguments as well: of its values those that equal the default, at the end or
  // behind '*', count as not given. Empty in an override, which has its own parameters.
  Span<const tenon_value> args() const { return {call_->positional, call_->positional_count}; }
  std::vector<Keyword> kwargs() const {  // as the caller wrote them
    std::vector<Keyword> list;
    for (int64_t i = 0; i < call_->keyword_count; ++i) {
      const tenon_string& keyword = call_->keywords[i];
      list.push_back({std::string_view(keyword.data, static_cast<size_t>(keyword.length)),
                      Argument(call_->keyword_values[i])});
    }
    return list;
  }
  // (tensor([1.]), 2) and {'alpha': 2}
  std::string args_text() const {
    std::string text = "(";
    for (const tenon_value& value : args())
      text += (text.size() > 1 ? ", " : "") + text_of(Argument(value));
    return text + (args().size() == 1 ? ",)" : ")");
  }
  std::string kwargs_text() const {  // "alpha=2"
    std::string text = "{";
    for (const Keyword& keyword : kwargs()) {
      text += (text.size() > 1 ? ", '" : "'") + std::string(keyword.name) +
              "': " + text_of(keyword.value);
    }
    return text + "}";
  }
  // Calls `body` with every tensor among the arguments, in order, those in lists too.
  template <class Body>
  void each_tensor(Body&& body) const {
    for (int64_t i = 0; i < size(); ++i) {
      const tenon_value& value = call_->arguments[i];
      if (value.tag == TENON_VALUE_TENSOR) body(Tensor::borrow(value.as.tensor));
      for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
        if (value.as.tensors[k] != nullptr) body(Tensor::borrow(value.as.tensors[k]));
      }
    }
  }

  // Runs the next handler up the line of descent; at its end the op itself, results made the type.
  Results call_parent() const {
    Results results = Results::of_count(service::ops().result_count(call_->op));
    detail::check(service::types().call_parent, call_, static_cast<const tenon_value*>(nullptr),
                  results.slots());
    return results;
  }
  // Calls the op again, written as this call is, with every tensor among the arguments replaced by
  // what `body` makes of it.
  template <class Body>
  Results call_with(Body&& body) const {
    const bool own = call_->positional == nullptr;  // an override: its own parameters, in order
    const tenon_value* first = own ? call_->arguments : call_->positional;
    std::vector<tenon_value> values(first, first + (own ? size() : call_->positional_count));
    std::vector<tenon_value> named(call_->keyword_values,
                                   call_->keyword_values + call_->keyword_count);
    std::vector<Tensor> owned;
    std::vector<std::vector<tenon_tensor*>> lists;
    lists.reserve(values.size() + named.size());
    const auto replace = [&](tenon_value& value) {
      if (value.tag == TENON_VALUE_TENSOR) {
        owned.push_back(body(Tensor::borrow(value.as.tensor)));
        value.as.tensor = owned.back().handle();
      } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
        std::vector<tenon_tensor*>& list = lists.emplace_back();
        for (uint32_t k = 0; k < value.length; ++k) {
          owned.push_back(body(Tensor::borrow(value.as.tensors[k])));
          list.push_back(owned.back().handle());
        }
        value.as.tensors = list.data();
      }
    };
    for (tenon_value& value : values) replace(value);
    for (tenon_value& value : named) replace(value);
    Results results = Results::of_count(service::ops().result_count(call_->op));
    const auto count = static_cast<int64_t>(values.size());
    if (named.empty())
      detail::check(service::ops().call, call_->op, values.data(), count, results.slots());
    else
      detail::check(service::ops().call_keywords, call_->op, values.data(), count, call_->keywords,
                    named.data(), call_->keyword_count, results.slots());
    return results;
  }
  const tenon_call* handle() const { return call_; }  // borrowed

 private:
  int64_t index_of(std::string_view name) const {
    if (call_->positional == nullptr)
      detail::throw_message(TENON_ERROR_TYPE,
                            {"an override of ", this->name(),
                             " has the parameters of the override's schema: forward takes them"});
    int64_t index = 0;
    detail::check(service::ops().parameter, call_->op, name.data(),
                  static_cast<int64_t>(name.size()), &index);
    return index;
  }
  const tenon_call* call_;
};

namespace detail {
// Passes on what `body`, a handler, makes of the call; of an op without results whether it handled
// it.
template <class Body>
tenon_status answer(const tenon_call* call, tenon_value* results, tenon_error** error,
                    Body&& body) {
  try {
    Results given = body();
    const int64_t count = service::ops().result_count(call->op);
    given.give(results, count == 0 ? 1 : count);
    return TENON_OK;
  } catch (...) {
    return report_exception(error);
  }
}
}  // namespace detail

namespace detail {
class DispatchDisabled {
 public:
  explicit DispatchDisabled(uint32_t what)
      : previous_(service::modes().disable(service::modes().disabled() | what)) {}
  ~DispatchDisabled() { service::modes().disable(previous_); }
  DispatchDisabled(const DispatchDisabled&) = delete;
  DispatchDisabled& operator=(const DispatchDisabled&) = delete;

 private:
  uint32_t previous_;
};
}  // namespace detail

// As long as it lives, the ops that this thread calls, and those that they call, ask no operand
// types: objects of a subclass of Tensor are plain tensors, and so are results made of them; other
// types are refused where a Tensor is expected. Modes are asked. Scopes nest.
//
//   static Results tenon_function(const Call& call) {        // the handler of a parent type
//     const DisableTenonFunctionSubclass off;
//     return call.call_with([](const Tensor& tensor) { return tensor; });
//   }
class DisableTenonFunctionSubclass : detail::DispatchDisabled {
 public:
  DisableTenonFunctionSubclass() : DispatchDisabled(TENON_DISABLE_TYPES) {}
};
// Skips types of operands, and modes above autograd, not even those that are entered in the scope.
class DisableTenonFunction : detail::DispatchDisabled {
 public:
  DisableTenonFunction() : DispatchDisabled(TENON_DISABLE_TYPES | TENON_DISABLE_MODES) {}
};

TENON_NAMESPACE_END
