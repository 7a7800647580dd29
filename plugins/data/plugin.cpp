// The data plugin: tensors from files and back.
#include <tenon/plugin.hpp>

TENON_PLUGIN(data, "1.0.0")
