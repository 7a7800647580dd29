// Modules and files of tensors: saving and loading a state, and modules from documents that name one.
#pragma once

#include <string>

#include <tenon/json.hpp>
#include <tenon/module.hpp>
#include <tenon/state/module_state.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Parameters and persistent buffers under each of their names. Replaces the file as a whole, or leaves
// the old one. `metadata` is an object of strings.
void save(const Module& module, const std::string& path, const Json& metadata = {});

// Copies values in, as load_state does. The file is one of safetensors, an index of several
// (tensor_file.hpp), a checkpoint of torch.save (torch_file.hpp), a .npz file (numpy_file.hpp) or one of GGUF (gguf_file.hpp), as its
// first bytes say. `assign`: the file is mapped, and the module's tensors share its memory. `prefix`: only tensors whose names begin with it, under the
// rest of their names; ValueError where there are none.
LoadReport load(const Module& module, const std::string& path, bool strict = true,
                bool assign = false, const std::string& prefix = "");

// A module from its document, which may have settings beside the attributes of each module:
//
//   "init": {"*.weight": "nn.init.xavier_uniform_", "bias": {"type": "nn.init.constant_", "val": 0}}
//   "load": {"file": "encoder.safetensors", "prefix": "encoder.", "strict": true}
//   "dtype": "bfloat16"
//   "frozen": true, or names of parameters: ["conv1.*", "fc.bias"]
//   "recompute": true, which keeps activations of the module for no backward (checkpoint.hpp)
//
// A type may be the path of a model's file (model_format.hpp). Settings hold for the module and all below it, and are applied in this order; settings of an inner module
// before those of the outer. An attribute of the same name takes precedence. A relative file is
// beside the document's own. ConfigError names every fault with its place.
Module create_module(const Json& document);

}  // namespace state

TENON_NAMESPACE_END
