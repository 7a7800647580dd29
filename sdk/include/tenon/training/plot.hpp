// Plots as files: SVG, or PNG drawn from it by an op.
#pragma once

#include <string>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// The op that draws a file of this name from SVG text, plot.write_png; null: none is needed.
const char* plot_op(const std::string& path);

// Why the file cannot be a plot: its ending, or no plugin draws it; empty: it can. Runs no plugin
// code.
std::string plot_fault(const std::string& path);

// Writes SVG text as the ending says; the file is replaced as a whole. Throws IOError.
void write_plot(const std::string& path, const std::string& svg);

}  // namespace training

TENON_NAMESPACE_END
