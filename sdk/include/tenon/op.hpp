// Op handles: an op found once by name, then called like a function.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

// A result as a C++ type: whether it can be read as one, and how it is taken.
template <class Result>
struct ResultAs {
  static constexpr const char* expected = "a number";
  static bool fits(const tenon_value& value) {
    return value.tag >= TENON_VALUE_BOOL && value.tag <= TENON_VALUE_FLOAT;
  }
  static Result take(const tenon_value& value) { return Scalar(value).template to<Result>(); }
};
template <>
struct ResultAs<Value> {
  static constexpr const char* expected = "any value";
  static bool fits(const tenon_value&) { return true; }
  static Value take(const tenon_value& value) { return Value(value); }
};
template <>
struct ResultAs<Tensor> {
  static constexpr const char* expected = "Tensor";
  static bool fits(const tenon_value& value) {
    return value.tag == TENON_VALUE_TENSOR || value.tag == TENON_VALUE_NONE;
  }
  static Tensor take(const tenon_value& value) {
    return Tensor::take(value.tag == TENON_VALUE_TENSOR ? value.as.tensor : nullptr);
  }
};
template <>
struct ResultAs<std::vector<Tensor>> {
  static constexpr const char* expected = "list of Tensors";
  static bool fits(const tenon_value& value) { return value.tag == TENON_VALUE_TENSOR_LIST; }
  static std::vector<Tensor> take(const tenon_value& value) { return Value(value).tensors(); }
};

// An override, a handler or a mode has given a result of another kind than the caller reads.
[[noreturn]] inline void throw_result_kind(const tenon_op* op, tenon_value* results, int64_t count,
                                           int64_t at, const char* expected) {
  const std::string name = host().op_name(op);
  const std::string found = kind_text(results[at]);
  for (int64_t i = 0; i < count; ++i) host().value_release(&results[i]);
  throw TypeError(name.substr(name.rfind('.') + 1) + "(): result " + std::to_string(at) + " is " +
                  found + ", but the call reads it as " + expected + "; call tenon::Op(\"" + name +
                  "\")(...) and take the Value, which is of any kind");
}

// Turns given result values of an op into C++ results.
template <class Result>
struct FromResults {
  static constexpr int64_t count = 1;
  static Result make(const tenon_op* op, tenon_value* results) {
    if (__builtin_expect(!ResultAs<Result>::fits(results[0]), 0))
      throw_result_kind(op, results, count, 0, ResultAs<Result>::expected);
    return ResultAs<Result>::take(results[0]);
  }
};
template <>
struct FromResults<void> {
  static constexpr int64_t count = 0;
  static void make(const tenon_op*, tenon_value*) {}
};
template <class... Parts>
struct FromResults<std::tuple<Parts...>> {
  static constexpr int64_t count = sizeof...(Parts);
  static std::tuple<Parts...> make(const tenon_op* op, tenon_value* results) {
    return make(op, results, std::index_sequence_for<Parts...>{});
  }
  template <size_t... I>
  static std::tuple<Parts...> make(const tenon_op* op, tenon_value* results,
                                   std::index_sequence<I...>) {
    const auto check_part = [&](int64_t at, bool fits, const char* expected) {
      if (__builtin_expect(!fits, 0)) throw_result_kind(op, results, count, at, expected);
    };
    (check_part(I, ResultAs<Parts>::fits(results[I]), ResultAs<Parts>::expected), ...);
    return std::tuple<Parts...>{ResultAs<Parts>::take(results[I])...};
  }
};

inline constexpr int64_t max_results = 8;

// Values in schema order, nothing to bind.
template <class Result, size_t Count, class Slot>
inline Result call_in_order(Slot slot, const tenon_op* op,
                            const std::array<tenon_value, Count>& values) {
  tenon_value results[max_results];  // room for all that any op gives
  tenon_error* error = nullptr;
  const tenon_status status = slot(op, values.data(), static_cast<int64_t>(Count), results, &error);
  if (__builtin_expect(status != TENON_OK, 0)) throw_error(status, error);
  return FromResults<Result>::make(op, results);
}
// The call of typed wrappers. They pass their default arguments as well: in handlers and modes what
// equals its default, at the end or behind '*', counts as not given.
template <class Result, size_t Count>
inline Result call_values(const tenon_op* op, const std::array<tenon_value, Count>& values) {
  return call_in_order<Result>(host().op_call_filled, op, values);
}

}  // namespace detail

// A registered op. Cheap to copy; valid for the life of the process; any thread.
class Op {
 public:
  // Finds it by full name ("add", "nn.functional.linear"), loading its plugin when need be.
  explicit Op(std::string_view name) {
    detail::check(host().op_find, name.data(), static_cast<int64_t>(name.size()), &op_);
    result_count_ = host().op_result_count(op_);
  }
  explicit Op(const tenon_op* handle)
      : op_(handle), result_count_(host().op_result_count(handle)) {}
  std::string name() const { return host().op_name(op_); }
  const tenon_op* handle() const { return op_; }
  bool operator==(const Op& other) const { return op_ == other.op_; }
  bool operator!=(const Op& other) const { return op_ != other.op_; }

  // Arguments in schema order, then keywords: op(a, b, arg("alpha") = 2).
  template <class... Arguments>
  Value operator()(const Arguments&... arguments) const {
    return call<Value>(arguments...);
  }
  // With the result type named: Tensor, double, std::vector<Tensor>, std::tuple<Tensor, Tensor>,
  // void.
  template <class Result, class... Arguments>
  Result call(const Arguments&... arguments) const {
    constexpr size_t keywords = (0 + ... + (std::is_same_v<Arguments, Keyword> ? 1 : 0));
    if (__builtin_expect(result_count_ != detail::FromResults<Result>::count, 0)) {
      throw TypeError(name() + "() has " + std::to_string(result_count_) +
                      " results, and is called for " +
                      std::to_string(detail::FromResults<Result>::count) +
                      ": name a result type that fits, such as " + "std::tuple<Tensor, Tensor>");
    }
    if constexpr (keywords == 0) {
      return detail::call_in_order<Result>(
          host().op_call, op_,
          std::array<tenon_value, sizeof...(Arguments)>{Argument(arguments).value()...});
    } else {
      constexpr size_t positional = sizeof...(Arguments) - keywords;
      std::array<tenon_value, positional + 1> values{};
      std::array<tenon_string, keywords> names{};
      std::array<tenon_value, keywords> named{};
      size_t v = 0, k = 0;
      (place(arguments, values.data(), v, names.data(), named.data(), k), ...);
      tenon_value results[detail::max_results];
      detail::check(host().op_call_keywords, op_, values.data(), static_cast<int64_t>(positional),
                    names.data(), named.data(), static_cast<int64_t>(keywords), results);
      return detail::FromResults<Result>::make(op_, results);
    }
  }

 private:
  static void place(const Keyword& keyword, tenon_value*, size_t&, tenon_string* names,
                    tenon_value* named, size_t& k) {
    names[k] = {keyword.name.data(), static_cast<int64_t>(keyword.name.size())};
    named[k++] = keyword.value.value();
  }
  static void place(const Argument& argument, tenon_value* values, size_t& v, tenon_string*,
                    tenon_value*, size_t&) {
    values[v++] = argument.value();
  }
  const tenon_op* op_ = nullptr;
  int64_t result_count_ = 0;
};

TENON_NAMESPACE_END
