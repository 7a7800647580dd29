// Texts of messages, and the errors that own them.
#include <cstdint>
#include <limits>
#include <optional>
#include <random>

#include "tests/sdk/functions.hpp"

using namespace functions;
using tenon::detail::message;
using tenon::detail::throw_message;

namespace {

// As a failed call leaves it: with the op, and what caused it.
Error failed_call() {
  try {
    Op("add")(tensor({1.f, 2.f}), tensor({1.f, 2.f, 3.f}));
  } catch (const Error& error) {
    return error;
  }
  return Error(TENON_ERROR_RUNTIME, "add did not fail");
}

template <class T>
void check_numbers() {
  using Limits = std::numeric_limits<T>;
  for (const T number : {Limits::min(), T(0), T(7), Limits::max()}) {
    CAPTURE(number);
    CHECK(message({"<", number, ">"}) == "<" + std::to_string(number) + ">");
  }
}

}  // namespace

TEST_SUITE("sdk/message") {
  TEST_CASE("the pieces of a message follow one another as they are given") {
    const std::string owned = "of a string";
    CHECK(message({}).empty());
    CHECK(message({"literal, ", std::string_view("view, part").substr(0, 6), owned, ", ", 3}) ==
          "literal, view, of a string, 3");
    CHECK(message({"", std::string(), ""}).empty());
  }

  TEST_CASE("numbers are written as std::to_string does, to the limits of their type") {
    check_numbers<int8_t>();
    check_numbers<unsigned char>();
    check_numbers<int16_t>();
    check_numbers<uint16_t>();
    check_numbers<int32_t>();
    check_numbers<uint32_t>();
    check_numbers<int64_t>();
    check_numbers<uint64_t>();
    check_numbers<long long>();
    check_numbers<unsigned long long>();
  }

  TEST_CASE("random messages are those that operators of strings make") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      const auto a = static_cast<int64_t>(random());
      const uint64_t b = random();
      const auto c = static_cast<int16_t>(random());
      const std::string text(random() % 40, static_cast<char>('a' + random() % 26));
      CHECK(message({text, a, ": ", b, c, text}) ==
            text + std::to_string(a) + ": " + std::to_string(b) + std::to_string(c) + text);
    }
  }

  TEST_CASE("a thrown message is an error of its kind") {
    CHECK_THROWS_WITH_AS(throw_message(TENON_ERROR_VALUE, {"size ", 3, " of ", 2}), "size 3 of 2",
                         ValueError);
    CHECK_THROWS_AS(throw_message(TENON_ERROR_INDEX, {"x"}), IndexError);
    CHECK_THROWS_AS(throw_message(TENON_ERROR_INTERRUPTED, {"x"}), InterruptedError);
  }

  TEST_CASE("a copied error says all that the first one did, which may be gone") {
    std::optional<Error> first = failed_call();
    const std::string what = first->what(), op = first->op(), provider = first->provider();
    const tenon_status kind = first->kind();
    REQUIRE(op == "add");
    const Error copy = *first;
    Error assigned(TENON_ERROR_MEMORY, "another error");
    assigned = *first;
    CHECK(copy.handle() != first->handle());
    first.reset();
    for (const Error* error : {&copy, const_cast<const Error*>(&assigned)}) {
      CHECK(error->what() == what);
      CHECK(error->op() == op);
      CHECK(error->provider() == provider);
      CHECK(error->kind() == kind);
    }
    assigned = *&assigned;
    CHECK(assigned.what() == what);
  }

  TEST_CASE("an error without a cause has one of no kind, as often as it is asked") {
    const Error cause = ValueError("x").cause();
    CHECK(cause.kind() == TENON_OK);
    CHECK(cause.what() == std::string());
    CHECK(cause.op() == std::string());
    CHECK(Error(cause).cause().kind() == TENON_OK);
  }
}
