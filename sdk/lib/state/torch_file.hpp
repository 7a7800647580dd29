// Checkpoints of torch.save as the other readers of files see them.
#pragma once

#include <string>

#include <tenon/state/torch_file.hpp>

#include "stored_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// Whether the zip file holds a pickle, as those of torch.save do.
bool is_torch(const std::string& path);
TorchFile read_torch(const std::string& path, Access access);

}  // namespace state

TENON_NAMESPACE_END
