// Inputs that fit the pattern of a rewrite: found from samples and schemas, and changed a little.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rewrite_run.hpp"

namespace cli {

// Random numbers, equal for equal seeds.
class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed * 2 + 1) {}
  size_t below(size_t count) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((state_ >> 33) % (count == 0 ? 1 : count));
  }

 private:
  uint64_t state_;
};

// Inputs that the ops of the pattern take, of which conditions are not yet known to hold; most likely
// ones first.
std::vector<RewriteCase> find_inputs(const RewritePattern& pattern, uint64_t seed);

// Values in place of one that is not a tensor, or is a tensor of one element in a condition.
std::vector<SampleValue> other_values(const RewritePattern& pattern, const RewriteCase& given,
                                      size_t slot);

// Cases with other shapes, each in one respect: sizes, ranks, sizes of 1 in one operand.
std::vector<RewriteCase> other_sizes(const RewritePattern& pattern, const RewriteCase& given);
// Cases with other dtypes: of all operands, of each alone.
std::vector<RewriteCase> other_dtypes(const RewriteCase& given);
// Cases with another value in one place.
std::vector<RewriteCase> other_attributes(const RewritePattern& pattern, const RewriteCase& given);
// A case of these lists, drawn at random.
RewriteCase changed_case(const RewritePattern& pattern, const RewriteCase& given, Choices& choices);

// Which tensors the model keeps: as conditions ask for, or all but the first.
std::set<size_t> least_constants(const RewritePattern& pattern);
std::set<size_t> most_constants(const RewritePattern& pattern, const RewriteCase& given);

}  // namespace cli
