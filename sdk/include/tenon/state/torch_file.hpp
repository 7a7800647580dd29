// Checkpoints of torch.save, since PyTorch 1.6: a zip file of a pickle and of the bytes of storages. The
// pickle is read as data; nothing that it names is imported or run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/state/tensor_file.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// The leaves of a checkpoint by their names: the keys of dictionaries and the positions in lists on the
// way to each, joined with dots. A state_dict has the names that load_state_dict knows, and
// {"epoch": 3, "model": model.state_dict()} "epoch", "model.0.weight" and so on.
struct TorchFile {
  NamedTensors tensors;                               // in the order of the file
  std::vector<std::pair<std::string, Value>> values;  // numbers, texts, bools and None
};

// Tensors that are views of one storage share it, as they did. ValueError names the path, the place in
// the pickle and the fault: a class or function beyond those of tensors and dictionaries, a storage
// that is too short, a view beyond its storage, a file of PyTorch before 1.6 or of TorchScript.
TorchFile load_torch(const std::string& path);

// load_torch without a copy, where the file stores a storage uncompressed and in this machine's byte
// order: a page of the file is read when it is first used. Writing to a tensor changes it and those
// that share its storage, never the file, which must not be shortened as long as a tensor is used.
TorchFile map_torch(const std::string& path);

}  // namespace state

TENON_NAMESPACE_END
