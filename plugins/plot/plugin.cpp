// The plot plugin: images of curves.
#include <tenon/plugin.hpp>
TENON_PLUGIN(plot, "1.0.0")
