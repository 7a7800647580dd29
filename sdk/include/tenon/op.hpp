// Op handles: an op found once by name, then called like a function.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/tuple.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

// How many results an op has, and whether they are a tuple: of one result both exist.
constexpr int64_t single_tuple = 1 + (int64_t{1} << 32);

inline int64_t result_count(const tenon_op* op) {
  const int64_t count = service::ops().result_count(op);
  return count == 1 && service::ops().returns_tuple(op) != 0 ? single_tuple : count;
}

// TypeError when the op does not give `asked` results. `any`: they are read as a Value, which holds
// the one result of a tuple, too.
__attribute__((cold, noinline)) inline void check_result_count(const tenon_op* op, int64_t asked,
                                                               bool any) {
  const int64_t has = result_count(op);
  if (has == asked || (any && has == single_tuple)) return;
  const auto number = [](int64_t count) { return count == single_tuple ? 1 : count; };
  const auto kind = [](int64_t count) { return count == single_tuple ? "a tuple of " : ""; };
  const auto noun = [&](int64_t count) { return number(count) == 1 ? " result" : " results"; };
  throw_message(TENON_ERROR_TYPE, {service::ops().name(op), "() has ", kind(has), number(has),
                                   noun(has), ", and is called for ", kind(asked), number(asked),
                                   noun(asked), ": name a result type that fits, such as ",
                                   has == 1              ? "Tensor"
                                   : has == single_tuple ? "std::tuple<Tensor>"
                                   : has == 0            ? "void"
                                                         : "std::tuple<Tensor, Tensor>"});
}

// An override, a handler or a mode has given a result of another kind than the caller reads.
[[noreturn]] __attribute__((cold, noinline)) inline void throw_result_kind(
    const tenon_op* op, tenon_value* results, int64_t count, int64_t at, const char* expected) {
  const std::string_view name = service::ops().name(op);
  const char* const found = kind_text(results[at]);
  for (int64_t i = 0; i < count; ++i) service::values().release(&results[i]);
  throw_message(TENON_ERROR_TYPE,
                {name.substr(name.rfind('.') + 1), "(): result ", at, " is ", found,
                 ", but the call reads it as ", expected, "; call tenon::Op(\"", name,
                 "\")(...) and take the Value, which is of any kind"});
}

// None is the undefined tensor. A separate call, so that a typed call compares one tag.
__attribute__((cold, noinline)) inline Tensor require_none(const tenon_op* op, tenon_value* results,
                                                           int64_t count, int64_t at) {
  if (results[at].tag != TENON_VALUE_NONE)
    throw_result_kind(op, results, count, at, ReadValue<Tensor>::expected);
  return Tensor();
}

// Turns given result values of an op into C++ results.
template <class Result>
struct FromResults {
  static constexpr int64_t count = 1;
  static Result make(const tenon_op* op, tenon_value* results) { return part(op, results, 1, 0); }
  // One of `total` results; those before it are taken.
  static Result part(const tenon_op* op, tenon_value* results, int64_t total, int64_t at) {
    if constexpr (std::is_same_v<Result, Value>) {
      return Value(std::exchange(results[at], tenon_value{}));
    } else {
      using Read = ReadValue<Result>;
      if constexpr (std::is_same_v<Result, Tensor>) {
        if (__builtin_expect(results[at].tag != TENON_VALUE_TENSOR, 0))
          return require_none(op, results, total, at);
        return Tensor::take(std::exchange(results[at], tenon_value{}).as.tensor);
      } else {
        if (__builtin_expect(!Read::fits(results[at]), 0))
          throw_result_kind(op, results, total, at, Read::expected);
        return Read::read(Value(std::exchange(results[at], tenon_value{})));
      }
    }
  }
};
template <>
struct FromResults<void> {
  static constexpr int64_t count = 0;
  static void make(const tenon_op*, tenon_value*) {}
};
template <class... Parts>
struct FromResults<std::tuple<Parts...>> {
  static constexpr int64_t count = sizeof...(Parts) == 1 ? single_tuple : sizeof...(Parts);
  static std::tuple<Parts...> make(const tenon_op* op, tenon_value* results) {
    return make(op, results, std::index_sequence_for<Parts...>{});
  }
  template <size_t... I>
  static std::tuple<Parts...> make(const tenon_op* op, tenon_value* results,
                                   std::index_sequence<I...>) {
    return std::tuple<Parts...>{FromResults<Parts>::part(op, results, sizeof...(Parts), I)...};
  }
};

inline constexpr int64_t max_results = 8;

// Values in schema order, nothing to bind.
template <class Result, class Slot>
inline Result call_in_order(Slot slot, const tenon_op* op, const tenon_value* values,
                            int64_t count) {
  tenon_value results[max_results];  // room for all that any op gives
  tenon_error* error = nullptr;
  const tenon_status status = slot(op, values, count, results, &error);
  if (__builtin_expect(status != TENON_OK, 0)) throw_error(status, error);
  return FromResults<Result>::make(op, results);
}

// Without the arguments at the end that are not given.
template <class Result>
inline Result call_given(const tenon_op* op, const std::array<tenon_value, 8>& values) {
  auto count = static_cast<int64_t>(values.size());
  while (count > 0 && values[static_cast<size_t>(count - 1)].tag == not_given.value().tag) --count;
  tenon_value results[max_results];
  check(service::ops().call_filled, op, values.data(), count, results);
  return FromResults<Result>::make(op, results);
}

}  // namespace detail

// A registered op. Cheap to copy; valid for the life of the process: calls throw PluginError once its
// plugin is unloaded. Any thread.
class Op {
 public:
  // Finds it by full name ("add", "nn.functional.linear"), loading its plugin when need be. A
  // static object of a plugin, which is made before its entry has run, finds it at the first use.
  explicit Op(std::string_view name) { find(name); }
  // An op of the host; borrowed.
  explicit Op(const tenon_op* handle) : op_(handle), result_count_(detail::result_count(handle)) {}
  std::string name() const { return service::ops().name(handle()); }  // full name: "math.add"
  // "relu(Tensor input) -> Tensor"; empty once its plugin is unloaded.
  std::string schema() const {
    Value text;
    detail::check(service::ops().schema, handle(), text.slot());
    return text.text();
  }
  // RuntimeError where undefined.
  const tenon_op* handle() const {
    const tenon_op* op = __atomic_load_n(&op_, __ATOMIC_ACQUIRE);
    return __builtin_expect(op == nullptr, 0) ? find_later() : op;
  }
  bool operator==(const Op& other) const { return handle() == other.handle(); }  // one op
  bool operator!=(const Op& other) const { return handle() != other.handle(); }  // another op

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
    const tenon_op* const op = handle_for<Result>();
    if constexpr (keywords == 0) {
      const std::array<tenon_value, sizeof...(Arguments)> values{Argument(arguments).value()...};
      return detail::call_in_order<Result>(service::ops().call, op, values.data(),
                                           static_cast<int64_t>(values.size()));
    } else {
      constexpr size_t positional = sizeof...(Arguments) - keywords;
      std::array<tenon_value, positional + 1> values{};
      std::array<tenon_string, keywords> names{};
      std::array<tenon_value, keywords> named{};
      size_t v = 0, k = 0;
      (place(arguments, values.data(), v, names.data(), named.data(), k), ...);
      tenon_value results[detail::max_results];
      detail::check(service::ops().call_keywords, op, values.data(),
                    static_cast<int64_t>(positional), names.data(), named.data(),
                    static_cast<int64_t>(keywords), results);
      return detail::FromResults<Result>::make(op, results);
    }
  }

  // Throws TypeError when a call does not give a `Result`.
  template <class Result>
  void check_result() const {
    detail::check_result_count(handle(), detail::FromResults<Result>::count,
                               std::is_same_v<Result, Value>);
  }

 private:
  // One comparison: the number of results is known once the handle is.
  template <class Result>
  const tenon_op* handle_for() const {
    constexpr int64_t expected = detail::FromResults<Result>::count;
    if (__builtin_expect(__atomic_load_n(&result_count_, __ATOMIC_ACQUIRE) != expected, 0))
      check_result<Result>();
    return __atomic_load_n(&op_, __ATOMIC_RELAXED);
  }
  // Away from the calls that typed wrappers inline. Not cold: that would make the function that owns
  // the Op cold as well, with the loop that calls it.
  __attribute__((noinline)) void find(std::string_view name) {
    if (!detail::host_entered()) {
      later_ = new std::string(name);  // as long as the plugin
      return;
    }
    detail::check(service::ops().find, name.data(), static_cast<int64_t>(name.size()), &op_);
    result_count_ = detail::result_count(op_);
  }
  __attribute__((cold, noinline)) const tenon_op* find_later() const {
    if (later_ == nullptr) throw ArgumentError("the op handle is null");
    const tenon_op* op = nullptr;
    detail::check(service::ops().find, later_->data(), static_cast<int64_t>(later_->size()), &op);
    const int64_t count = detail::result_count(op);
    __atomic_store_n(&op_, op, __ATOMIC_RELEASE);
    __atomic_store_n(&result_count_, count, __ATOMIC_RELEASE);
    return op;
  }
  static void place(const Keyword& keyword, tenon_value*, size_t&, tenon_string* names,
                    tenon_value* named, size_t& k) {
    names[k] = {keyword.name.data(), static_cast<int64_t>(keyword.name.size())};
    named[k++] = keyword.value.value();
  }
  static void place(const Argument& argument, tenon_value* values, size_t& v, tenon_string*,
                    tenon_value*, size_t&) {
    values[v++] = argument.value();
  }
  mutable const tenon_op* op_ = nullptr;
  mutable int64_t result_count_ = -1;
  const std::string* later_ = nullptr;  // the name, until the first use
};

namespace detail {

// The op of a typed wrapper: a static object that needs no code to be made, and finds the op at the
// first call. Any thread.
class WrappedOp {
 public:
  explicit constexpr WrappedOp(const char* name) : name_(name) {}
  // TypeError when the op does not give a `Result`.
  template <class Result>
  const tenon_op* handle() {
    const tenon_op* op = __atomic_load_n(&op_, __ATOMIC_ACQUIRE);
    return __builtin_expect(op != nullptr, 1)
               ? op
               : find(FromResults<Result>::count, std::is_same_v<Result, Value>);
  }
  // The call of a typed wrapper, which passes its default arguments as well: in handlers and modes
  // what equals its default, at the end or behind '*', counts as not given. An array, because
  // braces for a std::array in each wrapper take a twentieth of the compile time of a small plugin.
  template <class Result, size_t Count>
  Result call(const tenon_value (&values)[Count]) {
    return call_in_order<Result>(service::ops().call_filled, handle<Result>(), values,
                                 static_cast<int64_t>(Count));
  }
  // Calls of a method and of an operator, for handlers that look at the spelling.
  template <class Result, size_t Count>
  Result call_method(const tenon_value (&values)[Count]) {
    return call_in_order<Result>(service::ops().call_method, handle<Result>(), values,
                                 static_cast<int64_t>(Count));
  }
  template <class Result, size_t Count>
  Result call_operator(const tenon_value (&values)[Count]) {
    return call_in_order<Result>(service::ops().call_operator, handle<Result>(), values,
                                 static_cast<int64_t>(Count));
  }
  template <class Result>
  Result call() {
    return call_in_order<Result>(service::ops().call_filled, handle<Result>(),
                                 static_cast<const tenon_value*>(nullptr), int64_t{0});
  }

 private:
  __attribute__((cold, noinline)) const tenon_op* find(int64_t asked, bool any) {
    const tenon_op* op = nullptr;
    check(service::ops().find, name_, static_cast<int64_t>(std::string_view(name_).size()), &op);
    check_result_count(op, asked, any);
    __atomic_store_n(&op_, op, __ATOMIC_RELEASE);
    return op;
  }
  const char* name_;
  const tenon_op* op_ = nullptr;
};

}  // namespace detail

TENON_NAMESPACE_END

// A function that calls an op by name, for a plugin whose own typed wrappers do not exist before it
// is built: up to eight arguments in schema order, checked when it is called. `Result` is what
// Op::call takes.
//
//   TENON_OP_FUNCTION(Tensor, conv2d_weight, "nn.functional.conv2d_weight")
#define TENON_OP_FUNCTION(Result, function, op_name)                                               \
  inline Result function(TENON_OPTIONAL(a), TENON_OPTIONAL(b), TENON_OPTIONAL(c),                  \
                         TENON_OPTIONAL(d), TENON_OPTIONAL(e), TENON_OPTIONAL(f),                  \
                         TENON_OPTIONAL(g), TENON_OPTIONAL(h)) {                                   \
    static ::tenon::detail::WrappedOp op(op_name);                                                 \
    return ::tenon::detail::call_given<Result>(                                                    \
        op.handle<Result>(),                                                                       \
        {a.value(), b.value(), c.value(), d.value(), e.value(), f.value(), g.value(), h.value()}); \
  }
#define TENON_OPTIONAL(name) const ::tenon::Argument& name = ::tenon::detail::not_given
