// Stands for the generated header while math and blas are built: math_ops.hpp has them all.
#pragma once

#include "tenon/math_ops.hpp"
