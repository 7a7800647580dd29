// The destruction of graphs and trees without recursion, so that any depth fits any stack.
#pragma once

#include <bit>
#include <type_traits>

namespace tenon::core {

// Objects whose last reference goes while another of their kind is being destroyed on the thread
// wait until that one is gone. One for each kind and thread; without a destructor, because objects
// with static storage die after the thread's own.
template <class T>
class DeferredDeletes {
 public:
  // Calls destroy_now(T*) for the object, then for all that died meanwhile, the last first.
  // link(T&) is a place in a dead object, of a pointer's size, that holds the next one.
  template <class Link, class Destroy>
  void destroy(T* dead, Link&& link, Destroy&& destroy_now) noexcept {
    using Place = std::remove_reference_t<decltype(link(*dead))>;
    if (draining_) {
      link(*dead) = std::bit_cast<Place>(waiting_);
      waiting_ = dead;
      return;
    }
    draining_ = true;
    for (;;) {
      destroy_now(dead);
      dead = waiting_;
      if (dead == nullptr) break;
      waiting_ = std::bit_cast<T*>(link(*dead));
    }
    draining_ = false;
  }

 private:
  T* waiting_ = nullptr;
  bool draining_ = false;
};

}  // namespace tenon::core
