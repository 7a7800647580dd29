// Binding arguments: values, conversions, and the words of every refusal.
#include "core/dispatch/binding/arguments.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/plugin.hpp"

using namespace tenon::core;
using test::Plugin;

namespace {

tenon_value integer(int64_t number) { return {TENON_VALUE_INT, 0, {number}}; }
tenon_value boolean(bool truth) { return {TENON_VALUE_BOOL, 0, {truth ? 1 : 0}}; }
tenon_value number(double real) {
  tenon_value value{TENON_VALUE_FLOAT, 0, {0}};
  value.as.number = real;
  return value;
}
tenon_value text(std::string_view characters) {
  tenon_value value{TENON_VALUE_STRING, static_cast<uint32_t>(characters.size()), {0}};
  value.as.string = characters.data();
  return value;
}
tenon_value integers(const std::vector<int64_t>& list) {
  tenon_value value{TENON_VALUE_INT_LIST, static_cast<uint32_t>(list.size()), {0}};
  value.as.integers = list.data();
  return value;
}
tenon_value tensor(tenon_tensor_view& view) {
  tenon_value value{TENON_VALUE_TENSOR, 0, {0}};
  value.as.tensor = reinterpret_cast<tenon_tensor*>(&view);
  return value;
}
tenon_value json_value(const tenon_json* node) {
  tenon_value value{TENON_VALUE_JSON, 0, {0}};
  value.as.json = const_cast<tenon_json*>(node);
  return value;
}
constexpr tenon_value kNone{};

// Only its view is looked at.
tenon_tensor_view plain{};
const tenon_value x = tensor(plain);

struct Keyword {
  std::string_view name;
  tenon_value value;
};

void bind_values(const Schema& schema, const std::vector<tenon_value>& positional,
                 const std::vector<Keyword>& keywords, BoundArguments& bound) {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;
  for (const Keyword& keyword : keywords) {
    names.push_back({keyword.name.data(), static_cast<int64_t>(keyword.name.size())});
    values.push_back(keyword.value);
  }
  bind_arguments(schema, {positional, names, values}, bound);
}

std::string fault(std::string_view schema, const std::vector<tenon_value>& positional,
                  const std::vector<Keyword>& keywords = {}, tenon_status kind = TENON_ERROR_TYPE) {
  BoundArguments bound;
  try {
    bind_values(parse_schema(schema), positional, keywords, bound);
  } catch (const Error& error) {
    CHECK(error.kind == kind);
    return error.message;
  }
  return "no error";
}

constexpr std::string_view kAdd =
    "add(Tensor input, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!)? out=None) -> Tensor";

}  // namespace

TEST_SUITE("arguments") {
  TEST_CASE("positional, keyword and default values fall into place") {
    const Schema schema = parse_schema(kAdd);
    BoundArguments bound;
    bind_values(schema, {x, integer(2)}, {}, bound);
    CHECK(bound.values[0].as.tensor == x.as.tensor);
    CHECK(bound.values[1].as.integer == 2);
    CHECK(bound.values[2].as.integer == 1);
    CHECK(bound.values[3].tag == TENON_VALUE_NONE);
    bind_values(schema, {}, {{"alpha", number(0.5)}, {"other", x}, {"input", x}}, bound);
    CHECK(bound.values[1].tag == TENON_VALUE_TENSOR);
    CHECK(bound.values[2].as.number == 0.5);
    bind_values(parse_schema("f() -> ()"), {}, {}, bound);
  }

  TEST_CASE("values convert where Python would") {
    BoundArguments bound;
    const Schema schema = parse_schema(
        "f(float a, int b, int[2] c, int[] d, float[] e, dtype f, Tensor[] g, Scalar[] h, bool[] "
        "i, float[2] j) -> ()");
    const std::vector<int64_t> pair = {3, 4};
    bind_values(schema,
                {integer(2), boolean(true), integer(3), integer(5), integers(pair), text("f32"), x,
                 integer(1), boolean(true), integer(7)},
                {}, bound);
    CHECK(bound.values[0].tag == TENON_VALUE_FLOAT);
    CHECK(bound.values[0].as.number == 2.0);
    CHECK(bound.values[1].as.integer == 1);
    CHECK(bound.values[2].length == 2);
    CHECK(bound.values[2].as.integers[1] == 3);
    CHECK(bound.values[3].length == 1);
    CHECK(bound.values[3].as.integers[0] == 5);
    CHECK(bound.values[4].tag == TENON_VALUE_FLOAT_LIST);
    CHECK(bound.values[4].as.numbers[1] == 4.0);
    CHECK(bound.values[5].as.integer == TENON_F32);
    CHECK(bound.values[6].tag == TENON_VALUE_TENSOR_LIST);
    CHECK(bound.values[6].as.tensors[0] == x.as.tensor);
    CHECK(bound.values[7].tag == TENON_VALUE_INT_LIST);
    CHECK(bound.values[8].as.booleans[0] == 1);
    CHECK(bound.values[9].as.numbers[1] == 7.0);
    // The scratch of one call does not overlap.
    CHECK(bound.values[2].as.integers[0] == 3);

    // An empty list has no element type.
    bind_values(parse_schema("f(Tensor[] a, str[] b, float[] c) -> ()"),
                {integers({}), integers({}), integers({})}, {}, bound);
    CHECK(bound.values[0].tag == TENON_VALUE_TENSOR_LIST);
    CHECK(bound.values[1].tag == TENON_VALUE_STRING_LIST);
    CHECK(bound.values[2].tag == TENON_VALUE_FLOAT_LIST);

    const std::vector<int64_t> long_list(1000, 6);
    bind_values(parse_schema("f(float[] a, float[] b) -> ()"),
                {integers(long_list), integers(long_list)}, {}, bound);
    CHECK(bound.values[0].as.numbers[999] == 6.0);
    CHECK(bound.values[1].as.numbers[0] == 6.0);
  }

  TEST_CASE("arrays of a document become lists") {
    const Json document = parse_json(R"([[3, 3], [1, 2.5], ["a", "b"], [true, false], [], 4])");
    BoundArguments bound;
    bind_values(
        parse_schema("f(int[2] a, float[] b, str[] c, bool[] d, Tensor[] e, int g, any h, "
                     "Scalar[] i) -> ()"),
        {json_value(document->at(0)), json_value(document->at(1)), json_value(document->at(2)),
         json_value(document->at(3)), json_value(document->at(4)), json_value(document->at(5)),
         json_value(document->at(0)), json_value(document->at(1))},
        {}, bound);
    CHECK(bound.values[0].as.integers[1] == 3);
    CHECK(bound.values[1].as.numbers[1] == 2.5);
    CHECK(std::string_view(bound.values[2].as.strings[1].data, 1) == "b");
    CHECK(bound.values[3].as.booleans[0] == 1);
    CHECK(bound.values[4].length == 0);
    CHECK(bound.values[5].as.integer == 4);
    CHECK(bound.values[6].tag == TENON_VALUE_INT_LIST);
    CHECK(bound.values[6].as.integers[1] == 3);
    BoundArguments others;
    bind_values(parse_schema("f(any a, any b) -> ()"),
                {json_value(document->at(5)), json_value(document->at(2))}, {}, others);
    CHECK(others.values[0].as.integer == 4);
    CHECK(others.values[1].tag == TENON_VALUE_JSON);
    CHECK(bound.values[7].tag == TENON_VALUE_FLOAT_LIST);
    CHECK(fault("f(int[] a) -> ()", {json_value(document->at(1))}) ==
          "f(): argument 'a' (position 1) must be list of ints, but found element of type float at "
          "position 2");
    CHECK(fault("f(int[3] a) -> ()", {json_value(document->at(0))}) ==
          "f(): argument 'a' (position 1) must be list of 3 ints, not list of length 2");
    CHECK(fault("f(Tensor[] a) -> ()", {json_value(document->at(0))}) ==
          "f(): argument 'a' (position 1) must be list of Tensors, not list");
    CHECK(fault("f(int a) -> ()", {json_value(document->at(0))}) ==
          "f(): argument 'a' (position 1) must be int, not list");
  }

  TEST_CASE("a wrong type is reported with name, position and both types") {
    CHECK(fault("nn.mean(Tensor input) -> Tensor", {integer(1)}) ==
          "mean(): argument 'input' (position 1) must be Tensor, not int");
    CHECK(fault(kAdd, {x, text("a")}) ==
          "add(): argument 'other' (position 2) must be Tensor or Number, not str");
    CHECK(fault(kAdd, {x, x}, {{"alpha", x}}) ==
          "add(): argument 'alpha' must be Number, not Tensor");
    CHECK(fault(kAdd, {kNone, x}) ==
          "add(): argument 'input' (position 1) must be Tensor, not NoneType");
    CHECK(fault("f(int x) -> ()", {number(1.0)}) ==
          "f(): argument 'x' (position 1) must be int, not float");
    CHECK(fault("f(bool x) -> ()", {integer(1)}) ==
          "f(): argument 'x' (position 1) must be bool, not int");
    CHECK(fault("f(int[2] x) -> ()", {integers({1, 2, 3})}) ==
          "f(): argument 'x' (position 1) must be list of 2 ints, not list of 3 ints");
    CHECK(fault("f(int[] x) -> ()", {number(1.5)}) ==
          "f(): argument 'x' (position 1) must be list of ints, not float");
    CHECK(fault("f(Tensor x) -> ()", {integers({1})}) ==
          "f(): argument 'x' (position 1) must be Tensor, not list of ints");
    CHECK(fault("f(str[] x) -> ()", {text("a")}) ==
          "f(): argument 'x' (position 1) must be list of str, not str");
    CHECK(fault("f(dtype x) -> ()", {text("f23")}, {}, TENON_ERROR_VALUE) ==
          "f(): argument 'x' (position 1): unknown dtype 'f23' (did you mean 'f32'?); the dtypes "
          "are bool, u8, "
          "i8, i16, i32, i64, f32, f64, f16, bf16, u16, u32, u64, c64, c128, f8_e4m3, f8_e5m2, "
          "f8_e8m0, f6_e2m3, f6_e3m2 and f4_e2m1");
  }

  TEST_CASE("other tensor types are called by their name") {
    Plugin plugin{"arguments", {}, {}};
    plugin.type("ArgumentType");
    plugin.commit(TypeTable::process());
    tenon_tensor_view typed{};
    typed.type = TypeTable::process().find("ArgumentType")->id;
    const tenon_value other = tensor(typed);
    CHECK(value_type_text(other) == "ArgumentType");
    CHECK(value_type_text(x) == "Tensor");
    const Schema mean = parse_schema("mean(Tensor input) -> Tensor");
    CHECK_THROWS_WITH(throw_argument_type(mean, 0, 0, value_type_text(other)),
                      "mean(): argument 'input' (position 1) must be Tensor, not ArgumentType");
  }

  TEST_CASE("missing arguments are listed as Python lists them") {
    CHECK(fault(kAdd, {x}) == "add() missing 1 required positional argument: 'other'");
    CHECK(fault(kAdd, {}) == "add() missing 2 required positional arguments: 'input' and 'other'");
    CHECK(fault("f(int a, int b, int c) -> ()", {}) ==
          "f() missing 3 required positional arguments: 'a', 'b', and 'c'");
    CHECK(fault("f(int a, *, int b) -> ()", {integer(1)}) ==
          "f() missing 1 required keyword-only argument: 'b'");
    CHECK(fault("f(*, int b, int c) -> ()", {}) ==
          "f() missing 2 required keyword-only arguments: 'b' and 'c'");
    CHECK(fault(kAdd, {}, {{"other", x}}) ==
          "add() missing 1 required positional argument: 'input'");
    // Before a wrong type.
    CHECK(fault(kAdd, {text("a")}) == "add() missing 1 required positional argument: 'other'");
  }

  TEST_CASE("too many arguments are counted as Python counts them") {
    CHECK(fault(kAdd, {x, x, x}) == "add() takes 2 positional arguments but 3 were given");
    CHECK(fault(kAdd, {x, x, x}, {{"alpha", integer(1)}}) ==
          "add() takes 2 positional arguments but 3 positional arguments (and 1 keyword-only "
          "argument) were given");
    CHECK(fault("f(int a, int b=1) -> ()", {x, x, x}) ==
          "f() takes from 1 to 2 positional arguments but 3 were given");
    CHECK(fault("f(int a=1) -> ()", {x, x}) ==
          "f() takes from 0 to 1 positional arguments but 2 were given");
    CHECK(fault("f(int a) -> ()", {x, x}) == "f() takes 1 positional argument but 2 were given");
    CHECK(fault("f() -> ()", {x}) == "f() takes 0 positional arguments but 1 was given");
    CHECK(fault("f() -> ()", std::vector<tenon_value>(100, x)) ==
          "f() takes 0 positional arguments but 100 were given");
  }

  TEST_CASE("unexpected and repeated keywords are refused") {
    CHECK(fault("add(Tensor input, Tensor other) -> Tensor", {x, x}, {{"alpha", integer(2)}}) ==
          "add() got an unexpected keyword argument 'alpha'");
    CHECK(fault(kAdd, {x, x}, {{"alhpa", integer(2)}}) ==
          "add() got an unexpected keyword argument 'alhpa' (did you mean 'alpha'?)");
    CHECK(fault(kAdd, {x, x}, {{"other", x}}) == "add() got multiple values for argument 'other'");
    CHECK(fault(kAdd, {x}, {{"other", x}, {"other", x}}) ==
          "add() got multiple values for keyword argument 'other'");
    CHECK(fault(kAdd, {x}, {{"", x}}) == "add() got an unexpected keyword argument ''");
  }

  TEST_CASE("every kind of value has a name") {
    CHECK(value_type_text(kNone) == "NoneType");
    CHECK(value_type_text(boolean(true)) == "bool");
    CHECK(value_type_text(integers({})) == "empty list");
    for (uint32_t tag = 0; tag < TENON_VALUE_TAG_COUNT; ++tag) {
      tenon_value value{};
      value.tag = tag;
      value.length = 1;
      CHECK(!value_type_text(value).empty());
    }
    tenon_value forged{};
    forged.tag = 31;
    CHECK(value_type_text(forged) == "value with unknown tag 31");
  }

  TEST_CASE("a value with a forged tag is refused, not read") {
    tenon_value forged{};
    forged.tag = 77;
    CHECK(fault("f(Tensor a) -> ()", {forged}) ==
          "f(): argument 'a' (position 1) must be Tensor, not value with unknown tag 77");
  }
}
