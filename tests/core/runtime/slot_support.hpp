// Slots as a plugin calls them.
#pragma once

#include <string>

#include "core/runtime/slots.hpp"
#include "tests/core/dispatch/support.hpp"

namespace tenon::core::test {

// Calls a slot with a place for its error: the message of what it refuses, "" where it does not.
template <class Call>
std::string message_of_slot(tenon_status expected, Call&& call) {
  tenon_error* error = nullptr;
  CHECK(call(&error) == expected);
  Outcome outcome;
  outcome.take(error);
  return outcome.message;
}

// A value that a slot gave, released at the end.
struct Given {
  Given() = default;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given() { release_value(value); }
  std::string text() const {
    REQUIRE(value.tag == TENON_VALUE_STRING);
    return {value.as.string, value.length};
  }
  std::vector<std::string> texts() const {
    REQUIRE(value.tag == TENON_VALUE_STRING_LIST);
    std::vector<std::string> list;
    for (uint32_t i = 0; i < value.length; ++i)
      list.emplace_back(value.as.strings[i].data, static_cast<size_t>(value.as.strings[i].length));
    return list;
  }
  tenon_value value{};
};

}  // namespace tenon::core::test
