// Tensors in GGUF files, as llama.cpp and its like write them.
#pragma once

#include <string>
#include <vector>

#include <tenon/state/tensor_file.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// The tensors of these names, of all names where there are none, in the order of the file. Sizes are in
// the order of other formats, the last one that of neighbours in memory. Numbers keep their dtype; blocks of
// q8_0 and q4_0 become f32. IOError for what the system refuses and for a file that ends early, ValueError
// for what is not of the format, for a name that is not there and for a tensor in blocks of another kind,
// which is a fault only when it is asked for.
NamedTensors load_gguf(const std::string& path, const std::vector<std::string>& names = {});

}  // namespace state

TENON_NAMESPACE_END
