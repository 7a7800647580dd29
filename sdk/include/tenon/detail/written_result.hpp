// Results that go into a tensor of the caller: `out`, or the operand that an in-place form changes.
#pragma once

#include <string>
#include <type_traits>

#include "tenon/detail/parameters.hpp"
#include "tenon/kernel/shape.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// bool, integers, floating, complex: a result is never written into a kind before its own.
constexpr int kind_rank(DType dtype) {
  if (dtype == DType::boolean) return 0;
  return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : 1;
}

// "cumsum()" of "cumsum(Tensor input, ...", as the host's messages have it.
inline std::string call_text(std::string_view schema) {
  const std::string_view name = schema_name(schema);
  return std::string(name.substr(name.rfind('.') + 1)) + "()";
}

// Checks that `result` may be written into `target`, by the rules of elementwise ops.
template <class Result>
void check_written(std::string_view schema, const char* target_name, const Tensor& target,
                   const Result& result) {
  if (!kernel::same_shape(target.shape(), result.shape())) {
    throw_message(TENON_ERROR_VALUE,
                  {call_text(schema), ": ", target_name, " has shape ",
                   kernel::shape_text(target.shape()), " but the result has shape ",
                   kernel::shape_text(result.shape()), ": pass a tensor of that shape"});
  }
  if (kind_rank(result.dtype()) > kind_rank(target.dtype())) {
    throw_message(TENON_ERROR_TYPE,
                  {call_text(schema), ": the result has dtype ", dtype_text(result.dtype()),
                   ", which cannot be written into ", target_name, " of ",
                   dtype_text(target.dtype()), ": pass a tensor of the result's dtype"});
  }
}

// ---- out, where forward does not take it ----

// A forward that computes its result elsewhere: into `out`, which becomes the result. Tensors of
// types without data are written by copy_, which these may override.
template <class Result>
void write_out(std::string_view schema, Result& result, const Tensor& out) {
  if (!result.defined() || result.is_same(out)) return;
  check_written(schema, "'out'", out, result);
  if (((result.view_record().flags | out.view_record().flags) & TENON_TENSOR_TYPED) != 0) {
    static const Op copy("copy_");
    copy.call<Tensor>(out, result);
  } else {
    copy_elements(out, result);
  }
  result = out;
}
template <class... Results, size_t... I>
void write_outs(std::string_view schema, std::tuple<Results...>& results, TensorList out,
                std::index_sequence<I...>) {
  if (!(out[I].defined() && ...))
    throw_message(TENON_ERROR_VALUE,
                  {call_text(schema), ": 'out' has an undefined tensor: pass one for each result"});
  using std::get;  // and that of std::tuple, which is found by its argument
  // All are checked before one is written.
  (check_written(schema, "a tensor of 'out'", out[I], get<I>(results)), ...);
  (write_out(schema, get<I>(results), out[I]), ...);
}
// `given` is the argument `out`: a tensor, or a list of one for each result.
template <class R>
void write_into(std::string_view schema, R& result, const tenon_value& given) {
  if constexpr (IsTuple<R>::value) {
    if (given.tag != TENON_VALUE_TENSOR_LIST) return;
    const auto out = from_value<TensorList>(given);
    constexpr auto count = static_cast<int64_t>(std::tuple_size_v<R>);
    if (out.size() != count) {
      throw_message(
          TENON_ERROR_VALUE,
          {call_text(schema), ": 'out' has ", out.size(), out.size() == 1 ? " tensor" : " tensors",
           " but the op has ", count, " results: pass one tensor for each"});
    }
    write_outs(schema, result, out, std::make_index_sequence<static_cast<size_t>(count)>{});
  } else {
    if (given.tag == TENON_VALUE_TENSOR)
      write_out(schema, result, from_value<const Tensor&>(given));
  }
}
// Whether write_into can write what forward returns.
template <class R>
struct Writable : std::is_same<R, Tensor> {};
template <class... Results>
struct Writable<std::tuple<Results...>> : std::conjunction<std::is_same<Results, Tensor>...> {};

}  // namespace detail
TENON_NAMESPACE_END
