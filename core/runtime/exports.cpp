// The symbols that libtenon exports, nothing else.
#include "core/runtime/runtime.hpp"
#include "tenon/abi/host.h"

extern "C" const tenon_host* tenon_host_get(void) { return &tenon::core::host_table(); }
