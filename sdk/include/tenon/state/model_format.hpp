// Files of models in formats that plugins read. A plugin declares which module opens files of an ending:
//
//   TENON_CONVERSIONS(files, "file", "*.onnx = onnx.Model(path); onnx.inputs(path)")
//
// The attribute of the module takes the path. The op behind ';' may be absent: it takes the path as well,
// and lists what the model is called with, before the model is made, as the JSON text
// [{"name": "x", "dtype": "f32", "shape": ["N", 3]}], where a text is a size that the model leaves open, and
// null a dtype or shape that is not declared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/value.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

struct ModelFormat {      // a format of models and its module
  std::string ending;     // ".onnx"
  std::string module;     // "onnx.Model"
  std::string attribute;  // "path"
  std::string inputs;     // "onnx.inputs"; empty: none
  std::string plugin;     // the one that declares it
};

// All of them, by the facts of plugins that can be used: nothing is loaded. ValueError for a rule that
// cannot be read.
std::vector<ModelFormat> model_formats();
// The one whose ending the path has; PluginError where several plugins declare it.
std::optional<ModelFormat> find_model_format(const std::string& path);
// As above; ValueError, with the endings that there are, where no plugin declares it.
ModelFormat require_model_format(const std::string& path);

// An input of a model's file.
struct ModelInput {
  std::string name;                // name of the tensor
  DType dtype = DType::none;       // none: not declared
  bool has_shape = false;          // `shape` is known
  std::vector<std::string> shape;  // sizes, or the symbols of those that are open

  // The size of a dimension; nothing: it is open.
  std::optional<int64_t> size(size_t dimension) const;
};

// Inputs that the file declares, in their order; nothing where its format lists none. Runs code of the plugin.
std::optional<std::vector<ModelInput>> model_inputs(const std::string& path);

// The document of a module with paths of models in place of types, {"type": "det.onnx"}, as the modules that
// open them, {"type": "onnx.Model", "path": "/models/det.onnx"}; within it too. A relative path is beside the
// document's own file. Members keep their places.
Json with_model_files(const Json& document);

}  // namespace state

TENON_NAMESPACE_END
