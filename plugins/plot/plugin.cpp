// The plot plugin: images of curves.
#include <tenon/plugin.hpp>
TENON_PLUGIN(plot, "0.1.0")
