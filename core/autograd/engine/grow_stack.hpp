// Continues in a new thread when the stack of the present one runs out.
#pragma once

namespace tenon::core {

// Whether little is left of this thread's stack.
bool stack_is_low();

void grow_stack(void (*body)(void* state), void* state);
// Runs the body in a new thread, with all of this thread's state, and waits for it. What it
// throws is thrown here.
template <class Body>
void grow_stack(Body body) {
  grow_stack([](void* state) { (*static_cast<Body*>(state))(); }, &body);
}
// Runs the body, in a new thread where the stack is low.
template <class Body>
void with_stack(const Body& body) {
  if (stack_is_low()) [[unlikely]]
    grow_stack(body);
  else
    body();
}

}  // namespace tenon::core
