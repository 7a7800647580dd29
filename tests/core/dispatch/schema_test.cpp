// The schema parser: what it takes, what it prints, and how it refuses.
#include "core/dispatch/schema/schema.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

std::string fault(std::string_view text) {
  try {
    parse_schema(text);
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    return error.message;
  }
  return "no error";
}

std::string normalized(std::string_view text) { return parse_schema(text).text; }

uint32_t tags(std::string_view type) {
  return parse_schema("f(" + std::string(type) + " x) -> Tensor").parameters[0].accept;
}

}  // namespace

TEST_SUITE("schema") {
  TEST_CASE("a full schema parses into its parts") {
    const Schema schema = parse_schema(
        "nn.functional.conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, *, "
        "str padding='same', float scale=2, dtype? dtype=None, Tensor(a!)? out=None) -> Tensor");
    CHECK(schema.name == "nn.functional.conv2d");
    CHECK(schema.short_name() == "conv2d");
    CHECK(schema.namespace_name() == "nn.functional");
    CHECK(schema.positional_count == 4);
    CHECK(schema.required_count == 2);
    REQUIRE(schema.parameters.size() == 8);
    CHECK(schema.find("scale") == 5);
    CHECK(schema.find("x") == -1);
    CHECK(schema.parameters[2].type.optional);
    CHECK(schema.parameters[2].default_value.value.tag == TENON_VALUE_NONE);
    CHECK(schema.parameters[3].type.length == 2);
    CHECK(schema.parameters[3].default_value.value.tag == TENON_VALUE_INT_LIST);
    CHECK(schema.parameters[3].default_value.value.length == 2);
    CHECK(schema.parameters[3].default_value.value.as.integers[1] == 1);
    CHECK(schema.parameters[5].keyword_only);
    CHECK(schema.parameters[5].default_value.value.tag == TENON_VALUE_FLOAT);
    CHECK(schema.parameters[5].default_value.text == "2.0");
    CHECK(schema.parameters[7].type.mutates);
    CHECK(schema.parameters[7].type.alias == 'a');
    CHECK(schema.returns.size() == 1);
    CHECK(parse_schema("add(Tensor a) -> Tensor").namespace_name() == "");
  }

  TEST_CASE("the text is normalized") {
    CHECK(normalized(" add ( Tensor  input ,Scalar|Tensor other, * ,Scalar alpha = 1)->Tensor ") ==
          "add(Tensor input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor");
    CHECK(normalized("f() -> ()") == "f() -> ()");
    CHECK(normalized("f(Tensor x) -> (Tensor)") == "f(Tensor x) -> (Tensor)");
    CHECK(normalized("max(Tensor x, int dim) -> (Tensor values, Tensor indices)") ==
          "max(Tensor x, int dim) -> (Tensor values, Tensor indices)");
    CHECK(normalized("f(Tensor x) -> (Tensor, int[])") == "f(Tensor x) -> (Tensor, int[])");
    CHECK(normalized("f(str mode=\"it's\") -> ()") == "f(str mode='it\\'s') -> ()");
    CHECK(normalized("relu_(Tensor(a!) input) -> Tensor(a!)") ==
          "relu_(Tensor(a!) input) -> Tensor(a!)");
    CHECK(normalized("view(Tensor(a) input, int[] shape) -> Tensor(a)") ==
          "view(Tensor(a) input, int[] shape) -> Tensor(a)");
    CHECK(normalized("Linear(int in_features, int out_features, bool bias=True)") ==
          "Linear(int in_features, int out_features, bool bias=True)");
    CHECK(normalized("f(dtype d=float32) -> Tensor") == "f(dtype d=f32) -> Tensor");
    for (const char* text :
         {"f(float[] x=[1.0, -inf, nan], json? t=None, any y=None, any z=[1, 2]) -> any",
          "cat(Tensor[] tensors, int dim=0) -> Tensor", "f(Tensor[]? x=None) -> Tensor?"}) {
      CHECK(normalized(text) == text);
      CHECK(normalized(normalized(text)) == text);
    }
  }

  TEST_CASE("signatures print in Python's form") {
    CHECK(signature_text(parse_schema("add(Tensor input, Tensor|Scalar other, *, Scalar alpha=1, "
                                      "Tensor(a!)? out=None) -> Tensor")) ==
          "(input, other, *, alpha=1, out=None)");
    CHECK(signature_text(
              parse_schema("add(Tensor input, Tensor other, Tensor? out=None) -> Tensor")) ==
          "(input, other, out=None)");
    CHECK(signature_text(parse_schema("f() -> ()")) == "()");
    CHECK(signature_text(parse_schema(
              "f(*, str reduction='mean', int[2] pad=[1, 2], bool b=True, float e=1e-5) -> ()")) ==
          "(*, reduction='mean', pad=[1, 2], b=True, e=1e-05)");
  }

  TEST_CASE("each type accepts its tags") {
    const auto bit = [](int tag) { return 1u << tag; };
    const uint32_t numbers = bit(TENON_VALUE_BOOL) | bit(TENON_VALUE_INT) | bit(TENON_VALUE_FLOAT);
    CHECK(tags("Tensor") == bit(TENON_VALUE_TENSOR));
    CHECK(tags("Tensor?") == (bit(TENON_VALUE_TENSOR) | bit(TENON_VALUE_NONE)));
    CHECK(tags("Tensor|Scalar") == (bit(TENON_VALUE_TENSOR) | numbers));
    CHECK(tags("Scalar") == numbers);
    CHECK(tags("int") == (bit(TENON_VALUE_INT) | bit(TENON_VALUE_BOOL)));
    CHECK(tags("float") == bit(TENON_VALUE_FLOAT));
    CHECK(tags("bool") == bit(TENON_VALUE_BOOL));
    CHECK(tags("str") == bit(TENON_VALUE_STRING));
    CHECK(tags("dtype") == bit(TENON_VALUE_DTYPE));
    CHECK(tags("json") == bit(TENON_VALUE_JSON));
    CHECK(tags("any") == bit(TENON_VALUE_TAG_COUNT) - 1);
    CHECK(tags("Tensor[]") == bit(TENON_VALUE_TENSOR_LIST));
    CHECK(tags("int[]?") == (bit(TENON_VALUE_INT_LIST) | bit(TENON_VALUE_NONE)));
    CHECK(tags("int[2]") == 0);
    CHECK(tags("float[]") == bit(TENON_VALUE_FLOAT_LIST));
    CHECK(tags("str[]") == bit(TENON_VALUE_STRING_LIST));
    CHECK(tags("bool[]") == bit(TENON_VALUE_BOOL_LIST));
  }

  TEST_CASE("defaults own their storage, also after a move") {
    Schema schema = parse_schema(
        "f(str s='a text', str[] l=['x', 'a longer text that is not stored inline'], bool[2] "
        "b=True, "
        "float f=-inf, float n=nan, Scalar i=-3, Scalar x=2.5, Tensor[] t=[], int "
        "m=-9223372036854775808) -> ()");
    const Schema moved = std::move(schema);
    const auto value = [&](const char* name) {
      return moved.parameters[static_cast<size_t>(moved.find(name))].default_value.value;
    };
    CHECK(std::string_view(value("s").as.string, value("s").length) == "a text");
    CHECK(value("l").length == 2);
    CHECK(std::string_view(value("l").as.strings[1].data,
                           static_cast<size_t>(value("l").as.strings[1].length)) ==
          "a longer text that is not stored inline");
    CHECK(value("b").length == 2);
    CHECK(value("b").as.booleans[1] == 1);
    CHECK(std::isinf(value("f").as.number));
    CHECK(std::isnan(value("n").as.number));
    CHECK(value("i").tag == TENON_VALUE_INT);
    CHECK(value("i").as.integer == -3);
    CHECK(value("x").as.number == 2.5);
    CHECK(value("t").tag == TENON_VALUE_TENSOR_LIST);
    CHECK(value("m").as.integer == INT64_MIN);
  }

  TEST_CASE("texts and lists of parameters have limits") {
    CHECK(fault(std::string(70000, 'x')).find("at most 65536") != std::string::npos);
    std::string many = "f(int p0";
    for (int i = 1; i <= 32; ++i) many += ", int p" + std::to_string(i);
    CHECK(fault(many + ") -> ()").find("more than 32 parameters") != std::string::npos);
  }

  TEST_CASE("F-304 the first difference of two schemas of one op is reported") {
    const auto difference = [](const char* a, const char* b) {
      return schema_difference(parse_schema(a), "a", parse_schema(b), "b");
    };
    CHECK(difference("f(Tensor x, int k=1) -> Tensor", "f(Tensor x,int k = 1)->Tensor") == "");
    CHECK(difference("f(Tensor x, int k=1) -> Tensor", "f(Tensor x, float k=1.0) -> int") ==
          "their schemas differ in parameter 2: 'int k=1' of 'a', 'float k=1.0' of 'b'");
    CHECK(difference("f(Tensor x, int k) -> Tensor", "f(Tensor x, *, int k) -> Tensor") ==
          "their schemas differ in parameter 2: 'int k' of 'a', 'int k' by name only of 'b'");
    CHECK(difference("f(Tensor x) -> Tensor", "f() -> Tensor") ==
          "their schemas differ in parameter 1: 'Tensor x' of 'a', nothing of 'b'");
    CHECK(difference("f(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, int)") ==
          "their schemas differ in what they return: 'Tensor' of 'a', '(Tensor, int)' of 'b'");
  }
}
