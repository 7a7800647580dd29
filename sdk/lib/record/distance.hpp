// How far results of two traces are from each other.
#pragma once

#include <optional>

#include <tenon/record/trace.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

// The difference of the element that differs most, else of the extremes and the mean, relative to the largest
// element; 0 where nothing that is kept differs. Both have the same shape.
struct Distance {
  double relative = 0;
  std::optional<Worst> worst;  // none: no kept element differs
};
Distance distance(const Summary& one, const Summary& other);

}  // namespace record

TENON_NAMESPACE_END
