// Counted pointers: who owns a reference after each way to make one.
#include "core/base/intrusive_ptr.hpp"

#include <utility>

#include <doctest/doctest.h>

using tenon::core::IntrusivePtr;

namespace {

struct Base {
  int references = 1;
  int* destroyed = nullptr;
  void retain() { ++references; }
  void release() {
    if (--references == 0) ++*destroyed;
  }
};
struct Derived : Base {};

}  // namespace

TEST_SUITE("intrusive_ptr") {
  TEST_CASE("copies share, moves take, the last one releases") {
    int destroyed = 0;
    Derived object;
    object.destroyed = &destroyed;
    {
      IntrusivePtr<Derived> first = IntrusivePtr<Derived>::take(&object);
      CHECK(object.references == 1);
      const IntrusivePtr<Derived> second = first;
      CHECK(object.references == 2);
      const IntrusivePtr<Base> base = std::move(first);
      CHECK(object.references == 2);
      CHECK_FALSE(first);
      CHECK(base.get() == &object);
      const IntrusivePtr<Base> shared = second;
      CHECK(object.references == 3);
    }
    CHECK(destroyed == 1);
  }

  TEST_CASE("assignment releases what was there, of itself too") {
    int destroyed = 0;
    Base one, two;
    one.destroyed = two.destroyed = &destroyed;
    IntrusivePtr<Base> pointer = IntrusivePtr<Base>::take(&one);
    const IntrusivePtr<Base>& same = pointer;
    pointer = same;
    CHECK(one.references == 1);
    pointer = IntrusivePtr<Base>::take(&two);
    CHECK(destroyed == 1);
    Base* const given = pointer.give();
    CHECK(given == &two);
    CHECK_FALSE(pointer);
    CHECK(two.references == 1);
  }
}
