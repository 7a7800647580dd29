// Cases of the gradient suites of math, so that together they miss no op.
#pragma once

#include <set>
#include <string>

std::set<std::string> elementwise_gradient_ops();
std::set<std::string> complex_gradient_ops();
