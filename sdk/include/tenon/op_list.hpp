// Registering several ops with one macro.
//
//   TENON_OPS(Relu, ReluBackward)
//   TENON_OPS_WITH_IN_PLACE(Exp, Log)   // exp, log, exp_, log_
#pragma once

#include "tenon/define.hpp"
#include "tenon/in_place.hpp"

// Registers each definition, as TENON_OP does: at global scope, up to 16.
#define TENON_OPS(...) TENON_EACH(TENON_OP, __VA_ARGS__)
// Registers each definition and its in-place form: at global scope, up to 16.
#define TENON_OPS_WITH_IN_PLACE(...) \
  TENON_EACH(TENON_OP, __VA_ARGS__) TENON_EACH(TENON_IN_PLACE_OP, __VA_ARGS__)

// The 17th argument of TENON_EACH_PICK is the macro for as many definitions as come before.
#define TENON_EACH(macro, ...)                                                             \
  TENON_EACH_PICK(__VA_ARGS__, TENON_EACH_16, TENON_EACH_15, TENON_EACH_14, TENON_EACH_13, \
                  TENON_EACH_12, TENON_EACH_11, TENON_EACH_10, TENON_EACH_9, TENON_EACH_8, \
                  TENON_EACH_7, TENON_EACH_6, TENON_EACH_5, TENON_EACH_4, TENON_EACH_3,    \
                  TENON_EACH_2, TENON_EACH_1, unused)                                      \
  (macro, __VA_ARGS__)
#define TENON_EACH_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, picked, ...) picked
#define TENON_EACH_1(macro, first) macro(first)
#define TENON_EACH_2(macro, first, ...) macro(first) TENON_EACH_1(macro, __VA_ARGS__)
#define TENON_EACH_3(macro, first, ...) macro(first) TENON_EACH_2(macro, __VA_ARGS__)
#define TENON_EACH_4(macro, first, ...) macro(first) TENON_EACH_3(macro, __VA_ARGS__)
#define TENON_EACH_5(macro, first, ...) macro(first) TENON_EACH_4(macro, __VA_ARGS__)
#define TENON_EACH_6(macro, first, ...) macro(first) TENON_EACH_5(macro, __VA_ARGS__)
#define TENON_EACH_7(macro, first, ...) macro(first) TENON_EACH_6(macro, __VA_ARGS__)
#define TENON_EACH_8(macro, first, ...) macro(first) TENON_EACH_7(macro, __VA_ARGS__)
#define TENON_EACH_9(macro, first, ...) macro(first) TENON_EACH_8(macro, __VA_ARGS__)
#define TENON_EACH_10(macro, first, ...) macro(first) TENON_EACH_9(macro, __VA_ARGS__)
#define TENON_EACH_11(macro, first, ...) macro(first) TENON_EACH_10(macro, __VA_ARGS__)
#define TENON_EACH_12(macro, first, ...) macro(first) TENON_EACH_11(macro, __VA_ARGS__)
#define TENON_EACH_13(macro, first, ...) macro(first) TENON_EACH_12(macro, __VA_ARGS__)
#define TENON_EACH_14(macro, first, ...) macro(first) TENON_EACH_13(macro, __VA_ARGS__)
#define TENON_EACH_15(macro, first, ...) macro(first) TENON_EACH_14(macro, __VA_ARGS__)
#define TENON_EACH_16(macro, first, ...) macro(first) TENON_EACH_15(macro, __VA_ARGS__)
