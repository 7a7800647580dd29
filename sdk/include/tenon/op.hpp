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

// Turns given result values into C++ results.
template <class Result>
struct FromResults {
  static constexpr int64_t count = 1;
  static Result make(tenon_value* results) {
    Value value(results[0]);
    if constexpr (std::is_same_v<Result, Value>)
      return value;
    else if constexpr (std::is_same_v<Result, std::vector<Tensor>>)
      return value.tensors();
    else
      return value.scalar().template to<Result>();
  }
};
template <>
struct FromResults<Tensor> {
  static constexpr int64_t count = 1;
  static Tensor make(tenon_value* results) {
    if (__builtin_expect(results[0].tag == TENON_VALUE_TENSOR, 1))
      return Tensor::take(results[0].as.tensor);
    return Value(results[0]).tensor();
  }
};
template <>
struct FromResults<void> {
  static constexpr int64_t count = 0;
  static void make(tenon_value*) {}
};
template <class... Parts>
struct FromResults<std::tuple<Parts...>> {
  static constexpr int64_t count = sizeof...(Parts);
  static std::tuple<Parts...> make(tenon_value* results) {
    return make(results, std::index_sequence_for<Parts...>{});
  }
  template <size_t... I>
  static std::tuple<Parts...> make(tenon_value* results, std::index_sequence<I...>) {
    return std::tuple<Parts...>{FromResults<Parts>::make(results + I)...};
  }
};

inline constexpr int64_t max_results = 8;

// The call of typed wrappers: values in schema order, nothing to bind.
template <class Result, size_t Count>
inline Result call_values(const tenon_op* op, const std::array<tenon_value, Count>& values) {
  tenon_value results[max_results];  // room for all that any op gives
  tenon_error* error = nullptr;
  const tenon_status status =
      host().op_call(op, values.data(), static_cast<int64_t>(Count), results, &error);
  if (__builtin_expect(status != TENON_OK, 0)) throw_error(status, error);
  return FromResults<Result>::make(results);
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
      return detail::call_values<Result>(
          op_, std::array<tenon_value, sizeof...(Arguments)>{Argument(arguments).value()...});
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
      return detail::FromResults<Result>::make(results);
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
