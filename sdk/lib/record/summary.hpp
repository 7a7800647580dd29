// Tensors in numbers: checksum, extremes, mean, some elements.
#pragma once

#include <string>

#include <tenon/record/trace.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

// Reads the elements, those of other types through their conversion. Calls no op for plain tensors.
Summary summarize(const Tensor& tensor, std::string name, int64_t most_elements);
// The checksum alone; 0 where the elements cannot be read.
uint64_t checksum(const Tensor& tensor);

}  // namespace record

TENON_NAMESPACE_END
