// A plugin whose definitions are in other files, where nothing refers to them.
#include <tenon/plugin.hpp>

TENON_PLUGIN(registration, "1.0.0")
