// libsodium, started: Ed25519, BLAKE2b, SHA-256 and base64.
#pragma once

#include <sodium.h>

#include <tenon/error.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// To be called before any other function of libsodium. Any thread.
inline void start_sodium() {
  static const bool started = sodium_init() >= 0;
  if (!started)
    throw RuntimeError("libsodium does not start: it finds no source of random numbers");
}

}  // namespace trust

TENON_NAMESPACE_END
