// A counted pointer to objects that count their own references: retain() and release(). Not
// boost::intrusive_ptr, which is made implicitly of plain pointers, and adopts by a flag.
#pragma once

#include <type_traits>
#include <utility>

namespace tenon::core {

// `IntrusivePtr(object)` shares, `IntrusivePtr::take(object)` adopts the caller's reference.
template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  explicit IntrusivePtr(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  static IntrusivePtr take(T* object) noexcept {
    IntrusivePtr pointer;
    pointer.object_ = object;
    return pointer;
  }
  IntrusivePtr(const IntrusivePtr& other) noexcept : IntrusivePtr(other.object_) {}
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  // To a base class.
  template <class Derived>
  requires std::is_convertible_v<Derived*, T*> IntrusivePtr(const IntrusivePtr<Derived>& other)
  noexcept : IntrusivePtr(other.get()) {}
  template <class Derived>
  requires std::is_convertible_v<Derived*, T*> IntrusivePtr(IntrusivePtr<Derived>&& other)
  noexcept : object_(other.give()) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IntrusivePtr() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const noexcept { return object_; }
  // The reference is the caller's now.
  T* give() noexcept { return std::exchange(object_, nullptr); }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace tenon::core
