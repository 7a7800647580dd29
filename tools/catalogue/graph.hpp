// tenon graph: graphs of models as text for Graphviz, or as images.
#pragma once

#include "options.hpp"

namespace cli {

// Returns the exit code. IOError where an image is asked for and Graphviz is not installed.
int draw_graph(const GraphOptions& options);

}  // namespace cli
