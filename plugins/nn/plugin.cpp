// The nn plugin: what neural networks are made of, as functions and as modules.
#include <tenon/plugin.hpp>
#include <tenon/kernel/close_functions.hpp>

TENON_PLUGIN(nn, "1.0.0")
