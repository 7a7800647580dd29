// Shapes under each other, the last dimensions aligned, as broadcasting reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

// A shape with its name, which may be empty.
using NamedShape = std::pair<std::string, std::vector<int64_t>>;

//     input  8  1  6
//     other     7  5
//                  ^
//
// `marks`: a mark is under sizes that differ where none of them is 1. Of rows that are longer than `width` the first
// dimensions are left out. 0: no limit.
std::string drawn_shapes(const std::vector<NamedShape>& shapes, bool marks, int64_t width);
// The drawing of the shapes in a message such as "shapes [8, 1, 6] and [7, 5] cannot be broadcast together"; empty
// where it has not two, or they are equal.
std::string drawn_shapes_of(std::string_view message, int64_t width);

}  // namespace cli
