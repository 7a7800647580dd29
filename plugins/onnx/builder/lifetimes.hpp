// When values of a program are released.
#pragma once

#include "program.hpp"

namespace onnx {

// Each step releases what no later one of its body reads, if it is the body's own. A body's inputs of a
// loop are replaced in the next iteration.
void set_releases(Body& body);

}  // namespace onnx
