// Rewrites of the calls of prepared models (<tenon/rewrite.hpp>): calls that change nothing or cancel, and one
// order of operands, so that rules of other plugins need no other.
#include <tenon/rewrite.hpp>

TENON_REWRITES(order, R"(
# Constants on the right.
math.mul_by_constant: mul(c, x) => mul(x, c) where constant(c), not constant(x)
math.add_constant: add(c, x) => add(x, c) where constant(c), not constant(x), dtype(c) == dtype(x)
math.product_with_itself: mul(x, x) => square(x) where dtype(x) in [f32, f64]
math.cube_by_square: mul(x, square(x)) => mul(square(x), x)
math.cube: pow(x, c) => mul(square(x), x) where value(c) == 3, dtype(x) in [f32, f64] within 1e-6
)")

TENON_REWRITES(nothing, R"(
# x + 0 changes -0, x - 0 and x + -0 change nothing.
math.mul_by_one: mul(x, c) => x where value(c) == 1
math.div_by_one: div(x, c) => x where value(c) == 1, dtype(x) in [f32, f64]
math.sub_zero: sub(x, c) => x where value(c) == 0, 1 / value(c) > 0
math.add_minus_zero: add(x, c) => x where value(c) == 0, 1 / value(c) < 0
math.add_whole_zero: add(x, c) => x where value(c) == 0, dtype(x) in [i8, i16, i32, i64, u8]
)")

TENON_REWRITES(views, R"(
math.transposed_back: transpose(transpose(x, a, b), a, b) => x
math.turned_back: transpose(transpose(x, a, b), b, a) => x
math.permute_2: permute(x, p) => x where p == [0, 1]
math.permute_3: permute(x, p) => x where p == [0, 1, 2]
math.permute_4: permute(x, p) => x where p == [0, 1, 2, 3]
math.permuted_twice_2: permute(permute(x, p), q) => permute(x, [(p[q[0]]), (p[q[1]])]) where len(p) == 2
math.permuted_twice_3: permute(permute(x, p), q) => permute(x, [(p[q[0]]), (p[q[1]]), (p[q[2]])]) where len(p) == 3
math.permuted_twice_4: permute(permute(x, p), q) => permute(x, [(p[q[0]]), (p[q[1]]), (p[q[2]]), (p[q[3]])])
  where len(p) == 4
math.reshaped_twice: reshape(reshape(x, _), s) => reshape(x, s)
math.reshape_to_own_shape: reshape(x, s) => x where s == shape(x)
math.squeezed_back: squeeze(unsqueeze(x, d), d) => x
math.unsqueezed_back: unsqueeze(squeeze(x, d), d) => x where size(x, d) == 1
)")

TENON_REWRITE_SAMPLES(math, R"(
  math.permuted_twice_3: [{"x": {"shape": [2, 3, 4]}, "p": [1, 2, 0], "q": [0, 2, 1]}]
  math.permuted_twice_4: [{"x": {"shape": [2, 3, 4, 5]}, "p": [1, 2, 0, 3], "q": [3, 0, 2, 1]}]
)")
