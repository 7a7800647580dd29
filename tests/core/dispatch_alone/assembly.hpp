// What the test reads of the layer that it has in the place of autograd's.
#pragma once

#include <cstdint>

namespace tenon::core::test {

// The calls that have gone through it.
extern int64_t calls_to_record;

}  // namespace tenon::core::test
