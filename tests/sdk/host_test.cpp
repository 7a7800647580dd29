// The host table: every slot that the header declares is there.
#include <cstring>

#include "tests/sdk/functions.hpp"

TEST_SUITE("sdk/host") {
  TEST_CASE("no slot is null") {
    const tenon_host& host = tenon::host();
    const auto* const bytes = reinterpret_cast<const char*>(&host);
    REQUIRE(host.size == sizeof(tenon_host));
    for (size_t at = offsetof(tenon_host, error_set); at < sizeof(tenon_host);
         at += sizeof(void*)) {
      const void* slot = nullptr;
      std::memcpy(&slot, bytes + at, sizeof(slot));
      CHECK_MESSAGE(slot != nullptr, "the slot at byte ", at);
    }
  }
}
