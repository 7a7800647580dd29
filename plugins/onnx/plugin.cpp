// The onnx plugin: models in the ONNX format as modules.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_PLUGIN(onnx, "1.0.0")
TENON_CONVERSIONS(model_files, "file", "*.onnx = onnx.Model(path); onnx.inputs(path)")
