// What the surroundings of a test take from the machine: sanitizers, and the emulation of another
// processor by qemu.
#pragma once

#if defined(TENON_EMULATED)  // set by tests/CMakeLists.txt for a build for another processor
#define TENON_TEST_EMULATED true
#else
#define TENON_TEST_EMULATED false
#endif

// Whether terabytes of memory that is never written can be mapped: ThreadSanitizer has no room for
// them, and qemu keeps a record of each page.
#if defined(__SANITIZE_THREAD__) || defined(TENON_EMULATED)
#define TENON_TEST_MAPS_TERABYTES false
#else
#define TENON_TEST_MAPS_TERABYTES true
#endif
