// The math plugin: elementwise ops, tensor creation, reductions and shape ops.
#include <tenon/plugin.hpp>
#include <tenon/kernel/close_functions.hpp>

TENON_PLUGIN(math, "1.0.0")
