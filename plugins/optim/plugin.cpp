// The optim plugin: steps of optimizers, clipping of gradients, learning-rate schedules.
#include <tenon/plugin.hpp>

TENON_PLUGIN(optim, "1.0.0")
