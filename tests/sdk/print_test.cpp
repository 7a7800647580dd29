// Values on streams and in fmt: the text that the runtime prints everywhere.
#define FMT_HEADER_ONLY 1  // fmt's code becomes part of this file
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tenon/format.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

template <class T>
std::string streamed(const T& value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

// On a stream, which fmt must agree with.
template <class T>
std::string shown(const T& value) {
  const std::string text = streamed(value);
  CHECK(fmt::format("{}", value) == text);
  return text;
}

}  // namespace

TEST_SUITE("printing") {
  TEST_CASE("tensors print as their text, and so does what an index selects") {
    const Tensor x = tensor({{1.5, 2}, {3, 4}});
    CHECK(shown(x) == x.text());
    CHECK(streamed(x[0]) == x[0].text());
    CHECK(shown(Tensor()) == "None");
  }

  TEST_CASE("shapes, strides and lists print between brackets") {
    const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
    CHECK(shown(x.shape()) == "[2, 3]");
    CHECK(shown(x.strides()) == "[3, 1]");
    CHECK(shown(tensor(1).shape()) == "[]");
    const double numbers[] = {0.5, 2};
    CHECK(shown(FloatList(numbers, 2)) == "[0.5, 2]");
    const Tensor list[] = {tensor(1), tensor(2)};
    CHECK(shown(TensorList(list, 2)) == text_of(Argument(TensorList(list, 2))));
  }

  TEST_CASE("every dtype prints as schemas spell it") {
#define TENON_PRINTED(constant, code, bytes, type, name, kind, identifier) \
  CHECK(shown(DType::identifier) == name);
    TENON_ALL_DTYPES(TENON_PRINTED)
#undef TENON_PRINTED
  }

  TEST_CASE("numbers, values, arguments, ops and JSON print") {
    CHECK(shown(Scalar(2)) == "2");
    CHECK(shown(Scalar(0.5)) == "0.5");
    CHECK(shown(Op("relu")) == Op("relu").schema());
    CHECK(shown(Argument("text")) == text_of(Argument("text")));
    CHECK(streamed(Op("add")(tensor(1), 2)) == "tensor(3)");
    CHECK(shown(Json::parse(R"({"a": [1, 2]})")) == Json::parse(R"({"a": [1, 2]})").dump());
  }

  TEST_CASE("fmt pads and cuts them as texts") {
    CHECK(fmt::format("{:>5}|{:<5}|{:^5}", f32, i64, boolean) == "  f32|i64  |bool ");
    CHECK(fmt::format("{:.3}", tensor({1, 2})) == "ten");
  }

  TEST_CASE("what converts to a value keeps its own printing") {
    CHECK(streamed(7) == "7");
    CHECK(streamed("text") == "text");
    CHECK(streamed(std::string("text")) == "text");
  }
}
