// The onnx plugin: models in the ONNX format as modules.
#include <tenon/plugin.hpp>

TENON_PLUGIN(onnx, "0.1.0")
