// The metric plugin: what models are measured by.
#include <tenon/plugin.hpp>

TENON_PLUGIN(metric, "1.0.0")
