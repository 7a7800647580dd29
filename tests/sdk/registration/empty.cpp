// A plugin that provides nothing.
#include <tenon/plugin.hpp>

TENON_PLUGIN(empty, "1.0.0")
