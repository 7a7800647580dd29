// Destruction without recursion: whatever dies meanwhile waits for its turn.
#include "core/base/deferred_deletes.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

struct Item {
  std::vector<Item*> owned;
  int id = 0;
  uint64_t next = 0;
};

// Destroys items, and notes what it saw.
struct Destroyer {
  DeferredDeletes<Item> deletes;
  std::vector<int> order;
  int depth = 0;
  int deepest = 0;

  void destroy(Item* item) {
    deletes.destroy(
        item, [](Item& dead) -> uint64_t& { return dead.next; },
        [this](Item* dead) {
          deepest = std::max(deepest, ++depth);
          order.push_back(dead->id);
          const std::vector<Item*> owned = dead->owned;
          delete dead;
          for (Item* each : owned) destroy(each);
          --depth;
        });
  }
};

Item* chain(int length) {
  Item* first = nullptr;
  for (int i = 0; i < length; ++i) {
    auto* item = new Item;
    if (first != nullptr) item->owned.push_back(first);
    first = item;
  }
  return first;
}

}  // namespace

TEST_SUITE("base/deferred_deletes") {
  TEST_CASE("a chain of any length is destroyed one item after another") {
    Destroyer destroyer;
    destroyer.destroy(chain(200000));
    CHECK(destroyer.order.size() == 200000);
    CHECK(destroyer.deepest == 1);
  }

  TEST_CASE("what dies meanwhile comes next, the last first") {
    Destroyer destroyer;
    auto* const root = new Item{{}, 1};
    for (const int id : {2, 5, 6}) root->owned.push_back(new Item{{}, id});
    for (const int id : {3, 4}) root->owned[0]->owned.push_back(new Item{{}, id});
    destroyer.destroy(root);
    CHECK(destroyer.order == std::vector<int>{1, 6, 5, 2, 4, 3});
  }

  TEST_CASE("it can begin again after the last item") {
    Destroyer destroyer;
    destroyer.destroy(chain(2));
    destroyer.destroy(chain(3));
    CHECK(destroyer.order.size() == 5);
  }
}
