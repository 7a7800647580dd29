// Lengths of the batches into which samples are cut.
#pragma once

#include <cstdint>
#include <vector>

#include <tenon/prepare/prepare.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

// As many of one length as there are, and the rest.
std::vector<int64_t> equal_lengths(int64_t count, int64_t length);

// The fewest that a model of a file has lists for, the longest first. ValueError where it has none for such
// inputs, or they do not add up to the samples.
std::vector<int64_t> listed_lengths(const Prepared& opened, const Tensor& inputs);

}  // namespace training

TENON_NAMESPACE_END
