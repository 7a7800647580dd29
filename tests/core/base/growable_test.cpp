// Structs from older and newer SDKs.
#include "core/base/growable.hpp"

#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

using tenon::core::copy_growable;

namespace {

struct Known {
  uint32_t size;
  int32_t first;
  int64_t second;
};
struct Newer {
  Known known;
  int64_t third;
};

}  // namespace

TEST_SUITE("growable") {
  TEST_CASE("what an older struct lacks reads as zero") {
    const Known older{offsetof(Known, second), 3, 4};
    const Known copy = copy_growable(older);
    CHECK(copy.size == sizeof(Known));
    CHECK(copy.first == 3);
    CHECK(copy.second == 0);
  }

  TEST_CASE("what a newer struct adds is left out") {
    const Newer newer{{sizeof(Newer), 3, 4}, 5};
    const Known copy = copy_growable(newer.known);
    CHECK(copy.size == sizeof(Known));
    CHECK(copy.first == 3);
    CHECK(copy.second == 4);
  }
}
