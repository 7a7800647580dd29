// Errors, memory and strings as plugins make them.
#include <cstring>

#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

struct ErrorSlot {
  ~ErrorSlot() { slots().values.error_release(error); }
  tenon_error* error = nullptr;
};

tenon_string string_of(const char* text) {
  return {text, static_cast<int64_t>(std::string_view(text).size())};
}

}  // namespace

TEST_SUITE("runtime/value_slots") {
  TEST_CASE("an error is set with its kind and all of its message, a NUL byte escaped") {
    ErrorSlot slot;
    CHECK(slots().values.error_set(&slot.error, TENON_ERROR_VALUE, "a\0b", 3) == TENON_ERROR_VALUE);
    REQUIRE(slot.error != nullptr);
    CHECK(slots().values.error_kind(slot.error) == TENON_ERROR_VALUE);
    CHECK(slot.error->error.message == "a\\x00b");
    CHECK(std::string(slots().values.error_op(slot.error)).empty());
    CHECK(slots().values.error_cause(slot.error) == nullptr);
  }

  TEST_CASE("what is not a kind of error is a RuntimeError, also where no error is kept") {
    for (const tenon_status kind : {tenon_status{TENON_OK}, tenon_status{-1},
                                    tenon_status{TENON_ERROR_KIND_END}, tenon_status{1 << 30}}) {
      ErrorSlot slot;
      CHECK(slots().values.error_set(&slot.error, kind, "x", 1) == TENON_ERROR_RUNTIME);
      CHECK(slots().values.error_kind(slot.error) == TENON_ERROR_RUNTIME);
      CHECK(slots().values.error_set(nullptr, kind, "x", 1) == TENON_ERROR_RUNTIME);
    }
  }

  TEST_CASE("of no error all is empty") {
    CHECK(slots().values.error_kind(nullptr) == TENON_OK);
    for (const auto& text :
         {slots().values.error_message(nullptr), slots().values.error_op(nullptr),
          slots().values.error_provider(nullptr)})
      CHECK(std::string(text).empty());
    CHECK(slots().values.error_cause(nullptr) == nullptr);
    slots().values.error_release(nullptr);
    ErrorSlot slot;
    slots().values.error_pass(&slot.error, nullptr);
    CHECK(slot.error == nullptr);
  }

  TEST_CASE("an error that is passed on keeps op, provider and cause, beyond its original") {
    ErrorSlot copy;
    {
      ErrorSlot slot;
      slots().values.error_set(&slot.error, TENON_ERROR_INDEX, "outer", 5);
      slot.error->error.op = "an.op";
      slot.error->error.provider = "someone";
      slot.error->error.cause =
          std::make_shared<const tenon_error>(tenon_error{Error(TENON_ERROR_IO, "inner")});
      slots().values.error_pass(&copy.error, slot.error);
    }
    REQUIRE(copy.error != nullptr);
    CHECK(slots().values.error_kind(copy.error) == TENON_ERROR_INDEX);
    CHECK(std::string(slots().values.error_op(copy.error)) == "an.op");
    CHECK(std::string(slots().values.error_provider(copy.error)) == "someone");
    const tenon_error* cause = slots().values.error_cause(copy.error);
    REQUIRE(cause != nullptr);
    CHECK(std::string(slots().values.error_message(cause)) == "inner");
  }

  TEST_CASE("memory that there is not is null, not an exception") {
    CHECK(slots().values.allocate(INT64_MAX) == nullptr);
    void* memory = slots().values.allocate(100);
    REQUIRE(memory != nullptr);
    std::memset(memory, 1, 100);
    slots().values.free_memory(memory, 100);
    slots().values.free_memory(nullptr, 100);
  }

  TEST_CASE("strings are copies, and values are printed as messages print them") {
    char word[] = "ab";
    Given text, printed;
    CHECK(slots().values.string_create(word, 2, &text.value, nullptr) == TENON_OK);
    word[0] = 'x';
    CHECK(text.text() == "ab");
    const tenon_value number = integer(7);
    CHECK(slots().values.text(&number, &printed.value, nullptr) == TENON_OK);
    CHECK(printed.text() == "7");
    slots().values.release(&text.value);
    CHECK(text.value.tag == TENON_VALUE_NONE);
  }

  TEST_CASE("words are suggested, and what is not printable is escaped") {
    const tenon_string words[] = {string_of("softmax"), string_of("sigmoid")};
    Given text, printed;
    CHECK(slots().values.suggestion("sofmax", 6, words, 2, &text.value, nullptr) == TENON_OK);
    CHECK(text.text() == " (did you mean 'softmax'?)");
    Given none;
    CHECK(slots().values.suggestion("xyz", 3, words, 2, &none.value, nullptr) == TENON_OK);
    CHECK(none.text().empty());
    CHECK(slots().values.printable("a\033[0m", 5, &printed.value, nullptr) == TENON_OK);
    CHECK(printed.text().find('\033') == std::string::npos);
  }
}
