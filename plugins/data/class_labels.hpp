// Classes of samples by their labels, and orders that a seed decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/tensor.hpp>

namespace data {

// A permutation that the seed decides, whatever was drawn before.
std::vector<int64_t> permutation(int64_t count, int64_t seed);

// The class of each label of a tensor [samples]; classes count from 0 in the order of the labels.
// ValueError for other shapes and for NaN.
std::vector<size_t> class_numbers(const tenon::Tensor& labels);

// How many labels each class has.
std::vector<int64_t> class_counts(const std::vector<size_t>& class_of);

}  // namespace data
