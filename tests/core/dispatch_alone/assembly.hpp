// The stand-in for autograd's layer, as the test reads it.
#pragma once

#include <cstdint>

namespace tenon::core::test {

// The calls that have gone through it.
extern int64_t calls_to_record;

}  // namespace tenon::core::test
