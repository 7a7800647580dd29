// Binding a call's arguments to a schema, with Python's words for every misuse.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch/schema/schema.hpp"
#include "tenon/abi/type.h"
#include "tenon/abi/value.h"

namespace tenon::core {

// True when the value can stand for the parameter as it is (tag-wise).
inline bool accepts(const Parameter& parameter, const tenon_value& value) {
  // Without a branch, and false for a forged tag.
  return ((parameter.accept >> (value.tag & 31u)) & static_cast<uint32_t>(value.tag < 32u)) != 0;
}

// Binds values in schema order where nothing has to be converted: as given, then the defaults of
// the other parameters. False when a parameter has neither; whether the values are accepted is not
// looked at. `bound` has a place for each parameter.
inline bool bind_plain(const Schema& schema, std::span<const tenon_value> given,
                       tenon_value* bound) {
  const size_t count = schema.parameters.size();
  if (given.size() > count) return false;
  for (size_t i = 0; i < given.size(); ++i) {
    // Field by field, as callers have just written it: one load of all fields would wait until the
    // stores are through.
    bound[i].tag = given[i].tag;
    bound[i].length = given[i].length;
    bound[i].as = given[i].as;
  }
  tenon_value* place = bound + given.size();
  const Parameter* const first = schema.parameters.data();
  for (const Parameter* left = first + given.size(); left != first + count; ++left) {
    if (!left->has_default) return false;
    *place++ = left->default_value.value;
  }
  return true;
}

// One value for each parameter, with storage for conversions that binding makes (an int for a
// float, an int for an int list, ...); lives as long as the call.
struct BoundArguments {
  tenon_value values[kMaxParameters];
  alignas(8) std::byte scratch[kMaxParameters * 24];
  size_t used = 0;                                     // bytes of `scratch`
  std::vector<std::unique_ptr<std::byte[]>> overflow;  // lists that do not fit there

  template <class Element>
  Element* room(size_t count) {
    const size_t bytes = (count * sizeof(std::array<Element, 1>) + 7) / 8 * 8;
    if (bytes > sizeof(scratch) - used)
      return reinterpret_cast<Element*>(overflow.emplace_back(new std::byte[bytes]).get());
    used += bytes;
    return reinterpret_cast<Element*>(scratch + used - bytes);
  }
};

// A call as its caller wrote it; borrowed for the call.
struct AsWritten {
  std::span<const tenon_value> positional{};  // past '*' they are keywords, in schema order
  std::span<const tenon_string> keywords{};
  std::span<const tenon_value> keyword_values{};
  uint64_t spelling = TENON_SPELLING_HANDLE;  // so wide that one store fills it
  // Typed wrappers pass their C++ default arguments as well: what equals the default, at the end or
  // past '*', counts as not given.
  bool filled() const { return spelling != TENON_SPELLING_HANDLE; }
};

// How a call on its way is written: as an AsWritten says, or in order by a typed wrapper. Its
// spelling then takes the place of the pointer: a recorded call stores one constant.
class Writing {
 public:
  constexpr Writing() = default;
  explicit constexpr Writing(uint32_t wrapper) : bits_(wrapper) {}
  explicit Writing(const AsWritten& written) : bits_(reinterpret_cast<uintptr_t>(&written)) {}
  bool in_order() const { return bits_ < TENON_SPELLING_HANDLE; }
  uint32_t spelling() const { return static_cast<uint32_t>(of({}).spelling); }
  // `bound`: the arguments of the call.
  AsWritten of(std::span<const tenon_value> bound) const {
    if (in_order()) return {bound, {}, {}, bits_};
    return *reinterpret_cast<const AsWritten*>(bits_);
  }

 private:
  uintptr_t bits_ = TENON_SPELLING_FUNCTION;
};

// The slow path of a call: fills `bound.values` with one value for each parameter. Converts int to
// float, bool to int where Python would, one int to an int list, an int list to a float list, a
// tensor to a tensor list of one, the name of a dtype to the dtype, an array of a document to a
// list; and throws TypeError otherwise:
//   add(): argument 'input' (position 1) must be Tensor, not int
//   conv2d(): argument 'stride' (position 4) must be list of 2 ints, not list of 3 ints
//   add() missing 1 required positional argument: 'other'
//   add() missing 2 required positional arguments: 'input' and 'other'
//   add() missing 1 required keyword-only argument: 'alpha'
//   add() takes 2 positional arguments but 3 were given
//   add() takes from 1 to 2 positional arguments but 3 were given
//   add() got an unexpected keyword argument 'alhpa' (did you mean 'alpha'?)
//   add() got multiple values for argument 'other'
// The parenthesis "did you mean" is there only when a name is close.
// Function names are without namespace; the position is left out for keyword arguments.
void bind_arguments(const Schema& schema, const AsWritten& written, BoundArguments& bound);

// One value for one parameter, passed by keyword, as bind_arguments converts it. `bound` gives
// memory to the conversion.
tenon_value bind_argument(const Schema& schema, size_t parameter, const tenon_value& value,
                          BoundArguments& bound);

// Throws `mean(): argument 'input' (position 1) must be Tensor, not ScalarTensor`. `position`
// counts from 0; negative: passed by keyword.
[[noreturn]] void throw_argument_type(const Schema& schema, int64_t parameter, int64_t position,
                                      const std::string& found);
// The expected type as such a message names it: "Tensor", "Tensor or Number", "list of 2 ints", ...
std::string expected_text(const SchemaType& type);

// How messages name the type of a value: "Tensor", "int", "float", "NoneType", "list of ints",
// "str", ...
std::string value_type_text(const tenon_value& value);

// The name of a tensor type in these messages. Defined with the table of types.
const std::string& tensor_type_name(uint32_t type);

}  // namespace tenon::core
