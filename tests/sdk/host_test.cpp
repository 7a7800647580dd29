// The host and its services: every slot that a header declares is there.
#include <cstring>

#include "tests/sdk/functions.hpp"

namespace {

void require_complete(const char* name, const tenon_service& table, size_t size, uint32_t version) {
  CAPTURE(name);
  REQUIRE(table.size == size);
  CHECK(table.version == version);
  for (size_t at = sizeof(tenon_service); at < size; at += sizeof(void*)) {
    const void* slot = nullptr;
    std::memcpy(&slot, reinterpret_cast<const char*>(&table) + at, sizeof(slot));
    CHECK_MESSAGE(slot != nullptr, "the slot at byte ", at);
  }
}

}  // namespace

TEST_SUITE("sdk/host") {
  TEST_CASE("no slot of a service is null, and who asks again gets the same table") {
#define CHECK_SERVICE(name, NAME)                                                            \
  {                                                                                          \
    const tenon_##name##_service& table = tenon::service::name();                            \
    require_complete("tenon." #name, table.head, sizeof(table), TENON_##NAME##_VERSION);     \
    const void* again = nullptr;                                                             \
    REQUIRE(tenon::host().service("tenon." #name, 1, &again, nullptr, nullptr) == TENON_OK); \
    CHECK(again == &table);                                                                  \
  }
    TENON_SERVICES(CHECK_SERVICE)
#undef CHECK_SERVICE
    CHECK(tenon::host().size == sizeof(tenon_host));
  }
}
