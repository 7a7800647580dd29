// The math plugin: elementwise ops, tensor creation, reductions and shape ops.
#include <tenon/plugin.hpp>

TENON_PLUGIN(math, "0.1.0")
