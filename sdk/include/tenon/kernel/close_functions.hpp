// More functions for a whole register at a time, closer than those of libmvec: tan, asin, atan, atan2, expm1
// and (by AVX-512) erf of f32; exp, expm1, sin, cos and tan of f64. A plugin that includes this header in one of its
// sources computes these in all of its loops by AVX2 and AVX-512.
//
// Why a header apart from close_math.hpp: these functions are compiled once for a plugin, not in each source,
// and not for plugins that have no use for them. Timings and errors: sdk/docs/reference/accuracy.md.
//
// Constants fill whole registers in memory, and are read through a pointer that compilers cannot follow: by
// AVX2 an operand from memory is free, and one that is spread from a single number costs an instruction.
#pragma once

#include "tenon/kernel/math.hpp"

#if TENON_HAS_VECTOR_CALLS
TENON_NAMESPACE_BEGIN
namespace kernel::detail {

template <class T, int Bytes, int Count>
struct Constants {
  alignas(Bytes) T lanes[Count][Bytes / static_cast<int>(sizeof(T))];
  constexpr Constants(const T (&list)[Count]) : lanes() {
    for (int i = 0; i < Count; ++i)
      for (T& lane : lanes[i]) lane = list[i];
  }
};
template <class V, class Table>
TENON_INLINE const V* read_constants(const Table& table) {
  const V* constants = reinterpret_cast<const V*>(table.lanes);
  __asm__("" : "+r"(constants));
  return constants;
}
template <int Bytes>
using WholeNumbers = Vector<long long, Bytes>;

// The bits of a number in each lane.
template <class T, class W, int Bytes>
TENON_INLINE void set_bits(Vector<W, Bytes>& lanes, T number) {
  Vector<T, Bytes> numbers = Vector<T, Bytes>{} + number;
  __asm__("" : "+v"(numbers));
  lanes = reinterpret_cast<Vector<W, Bytes>>(numbers);
}
// The bits of the size of each number, and those of the limit.
template <class T, class W, int Bytes>
TENON_INLINE void sizes(const Vector<T, Bytes>& x, T limit, Vector<W, Bytes>& bits,
                        Vector<W, Bytes>& most) {
  set_bits<T, W, Bytes>(bits, __builtin_bit_cast(T, std::numeric_limits<W>::max()));
  bits &= reinterpret_cast<Vector<W, Bytes>>(x);
  set_bits<T, W, Bytes>(most, limit);
}

// e^r - 1 for |r| <= ln 2 / 2 is r + r^2 p, with a relative error of 6e-18.
template <int Bytes>
struct ExpOfF64 {
  static constexpr double numbers[] = {0x1.8p52,
                                       1.44269504088896340736,
                                       -0x1.62e42fefa3800p-1,
                                       -0x1.ef35793c76730p-45,
                                       2.5110049895858716e-8,
                                       2.7632655759332031e-7,
                                       2.7557242336680357e-6,
                                       2.4801487326012337e-5,
                                       0.00019841269886590999,
                                       0.0013888888947820891,
                                       0.0083333333333222073,
                                       0.041666666666521991,
                                       0.16666666666666675,
                                       0.50000000000000102,
                                       1,
                                       -0.0};
  static constexpr Constants<double, Bytes, 16> table = numbers;
};
// r and p, and n in the last bits of `rounded`.
template <int Bytes>
TENON_INLINE void parts_of_exp(const Vector<double, Bytes>& x, const Vector<double, Bytes>* c,
                               Vector<double, Bytes>& r, Vector<double, Bytes>& p,
                               Vector<double, Bytes>& rounded) {
  using V = Vector<double, Bytes>;
  rounded = x * c[1] + c[0];
  const V n = rounded - c[0];
  r = n * c[2] + x;
  r = n * c[3] + r;
  p = r * c[4] + c[5];
  p = p * r + c[6];
  p = p * r + c[7];
  p = p * r + c[8];
  p = p * r + c[9];
  p = p * r + c[10];
  p = p * r + c[11];
  p = p * r + c[12];
  p = p * r + c[13];
}
template <int Bytes>
TENON_INLINE void close_exp(Vector<double, Bytes>& x) {
  using V = Vector<double, Bytes>;
  using W = WholeNumbers<Bytes>;
  const V* c = read_constants<V>(ExpOfF64<Bytes>::table);
  V r, p, rounded;
  parts_of_exp<Bytes>(x, c, r, p, rounded);
  p = p * r + c[14];
  x = reinterpret_cast<V>(reinterpret_cast<W>(p * r + c[14]) +
                          (reinterpret_cast<W>(rounded) << 52));
}
// 2^n (e^r - 1) + (2^n - 1), with the sign of x, which 0 has too.
template <int Bytes>
TENON_INLINE void close_expm1(Vector<double, Bytes>& x) {
  using V = Vector<double, Bytes>;
  using W = WholeNumbers<Bytes>;
  const V* c = read_constants<V>(ExpOfF64<Bytes>::table);
  V r, p, rounded;
  parts_of_exp<Bytes>(x, c, r, p, rounded);
  const V power =
      reinterpret_cast<V>(reinterpret_cast<W>(c[14]) + (reinterpret_cast<W>(rounded) << 52));
  const V result = (p * (r * r) + r) * power + (power - c[14]);
  x = reinterpret_cast<V>(reinterpret_cast<W>(result) |
                          (reinterpret_cast<W>(x) & reinterpret_cast<W>(c[15])));
}

// e^x - 1 of f32 in the same way, where p has a relative error of 6e-8.
template <int Bytes>
TENON_INLINE void close_expm1(Vector<float, Bytes>& x) {
  using V = Vector<float, Bytes>;
  using W = Vector<int32_t, Bytes>;
  constexpr float rounding = 12582912;  // 1.5 * 2^23
  const V one = V{} + 1, rounded = x * 1.44269504F + rounding, n = rounded - rounding;
  const V r = x - n * 0.693359375F + n * 2.12194440e-4F, square = r * r;
  V p = r * 8.3687454462e-3F + 4.1668388993e-2F;
  p = square * 1.3814540580e-3F + p;
  p = p * square + (r * 1.6666521132e-1F + 4.9999994040e-1F);
  const V power = reinterpret_cast<V>(reinterpret_cast<W>(one) +
                                      (reinterpret_cast<W>(rounded) << kMantissaBits));
  const V result = (p * square + r) * power + (power - one);
  x = reinterpret_cast<V>(reinterpret_cast<W>(result) |
                          (reinterpret_cast<W>(x) & reinterpret_cast<W>(-V{})));
}

// x less the nearest multiple n of pi (or of pi / 2), in three parts: the difference has a relative error of
// one rounding. All parts are below 0, so that -0 stays -0.
template <class V>
TENON_INLINE void subtract_turns(V& x, const V& n, const V* c) {
  x = n * c[2] + x;
  x = n * c[3] + x;
  x = n * c[4] + x;
}

// sin r for |r| <= pi / 2 is r + r^3 p, with a relative error of 4e-17: the coefficient of r^5 is 2 units below
// the closest one, so that roundings seldom lead above 1 (of numbers beside multiples of pi a fourteenth of those
// of libmvec do). 4 units would exclude it, but the cosine of 0 would be below 1. The cosine takes the multiples
// of pi from half of it on.
template <int Bytes>
struct SineOfF64 {
  static constexpr double numbers[] = {0x1.8p52,
                                       0.318309886183790671538,
                                       -0x1.921fb54442d18p+1,
                                       -0x1.1a62633145c06p-53,
                                       -0x1.c1cd129024e09p-106,
                                       2.7215644944002028e-15,
                                       -7.6430560217207475e-13,
                                       1.6058943470782641e-10,
                                       -2.5052106979063338e-8,
                                       2.7557319212723033e-6,
                                       -0.00019841269841221597,
                                       0.008333333333333236,
                                       -0.16666666666666666,
                                       -0.0,
                                       0.5};
  static constexpr Constants<double, Bytes, 15> table = numbers;
};
template <int Bytes, bool Cosine>
TENON_INLINE void close_sine(Vector<double, Bytes>& x) {
  using V = Vector<double, Bytes>;
  using W = WholeNumbers<Bytes>;
  const V* c = read_constants<V>(SineOfF64<Bytes>::table);
  const V rounded = (Cosine ? x * c[1] - c[14] : x * c[1]) + c[0];
  V r = x;
  subtract_turns(r, Cosine ? (rounded - c[0]) + c[14] : rounded - c[0], c);
  const V s = r * r;
  V p = s * c[5] + c[6];
  p = p * s + c[7];
  p = p * s + c[8];
  p = p * s + c[9];
  p = p * s + c[10];
  p = p * s + c[11];
  p = p * s + c[12];
  const W sine = reinterpret_cast<W>((r * s) * p + r), minus = reinterpret_cast<W>(c[13]),
          turned = reinterpret_cast<W>(rounded) << 63;
  // The sum of 0 and 0 has lost its sign.
  x = reinterpret_cast<V>((Cosine ? sine ^ minus : sine | (reinterpret_cast<W>(r) & minus)) ^
                          turned);
}

// tan r for |r| <= pi / 4 is (r q + r^3 p) / q, with a relative error of 1e-19 (f32 1e-10), and for odd
// multiples of pi / 2 the inverse of that: one division serves both.
template <int Bytes>
struct TanOfF64 {
  using Bits = WholeNumbers<Bytes>;
  static constexpr double numbers[] = {0x1.8p52,
                                       0.636619772367581343076,
                                       -0x1.921fb54442d18p+0,
                                       -0x1.1a62633145c06p-54,
                                       -0x1.c1cd129024e09p-107,
                                       0.0002429790024217812,
                                       -0.021411395993914366,
                                       0.33333333333333333,
                                       -1.8526423338299102e-8,
                                       -0.00025388005329942812,
                                       0.024517850295199451,
                                       -0.46423418798174305,
                                       1};
  static constexpr Constants<double, Bytes, 13> table = numbers;
  template <class V>
  TENON_INLINE static void ratio(const V& s, const V* c, V& p, V& q) {
    p = s * c[5] + c[6];
    p = p * s + c[7];
    q = s * c[8] + c[9];
    q = q * s + c[10];
    q = q * s + c[11];
    q = q * s + c[12];
  }
};
template <int Bytes>
struct TanOfF32 {
  using Bits = Vector<int32_t, Bytes>;
  static constexpr float numbers[] = {0x1.8p23F,
                                      0.636619772367581343076F,
                                      -0x1.921fb40000000p+0F,
                                      -0x1.4442d00000000p-24F,
                                      -0x1.84698a0000000p-48F,
                                      -0.014880700242113486F,
                                      0.33333333321477775F,
                                      0.015952226212842325F,
                                      -0.44464211897605081F,
                                      1};
  static constexpr Constants<float, Bytes, 10> table = numbers;
  template <class V>
  TENON_INLINE static void ratio(const V& s, const V* c, V& p, V& q) {
    p = s * c[5] + c[6];
    q = s * c[7] + c[8];
    q = q * s + c[9];
  }
};
template <class Numbers, class V>
TENON_INLINE void close_tan(V& x) {
  using W = typename Numbers::Bits;
  constexpr int last = 8 * static_cast<int>(sizeof(x[0])) - 1;
  const V* c = read_constants<V>(Numbers::table);
  const V rounded = x * c[1] + c[0];
  V r = x, p, q;
  subtract_turns(r, rounded - c[0], c);
  const V s = r * r;
  Numbers::ratio(s, c, p, q);
  const V above = r * q + (r * s) * p;
  const W sign = reinterpret_cast<W>(rounded) << last;
  const W swap = (reinterpret_cast<W>(q) ^ reinterpret_cast<W>(above)) & (sign < 0);
  x = reinterpret_cast<V>(reinterpret_cast<W>(above) ^ swap) /
      reinterpret_cast<V>(reinterpret_cast<W>(q) ^ swap ^ sign);
}

// atan z for z of [0, 1] is z + z^3 p, with a relative error of 3e-8; of a larger number it is pi / 2 less that
// of its inverse.
template <int Bytes>
struct AtanOfF32 {
  static constexpr float numbers[] = {1,
                                      -0.0F,
                                      1.57079637F,
                                      3.14159274F,
                                      0.002834089319F,
                                      -0.01611410994F,
                                      0.04297343393F,
                                      -0.07549192955F,
                                      0.1067399126F,
                                      -0.1421586674F,
                                      0.199947573F,
                                      -0.3333321386F};
  static constexpr Constants<float, Bytes, 12> table = numbers;
};
template <class V>
TENON_INLINE void atan_up_to_1(V& z, const V* c) {
  const V s = z * z;
  V p = s * c[4] + c[5];
  p = p * s + c[6];
  p = p * s + c[7];
  p = p * s + c[8];
  p = p * s + c[9];
  p = p * s + c[10];
  p = p * s + c[11];
  z = (z * s) * p + z;
}
template <int Bytes>
TENON_INLINE void close_atan(Vector<float, Bytes>& x) {
  using V = Vector<float, Bytes>;
  using W = Vector<int32_t, Bytes>;
  const V* c = read_constants<V>(AtanOfF32<Bytes>::table);
  const W minus = reinterpret_cast<W>(c[1]), sign = reinterpret_cast<W>(x) & minus;
  const V size = reinterpret_cast<V>(reinterpret_cast<W>(x) ^ sign);
  V z = (c[0] < size ? c[0] : size) / (c[0] > size ? c[0] : size), compared = size;
  __asm__("" : "+v"(compared));  // GCC joins the choice with the comparison: two instructions more
  const W inverted = compared > c[0];
  atan_up_to_1(z, c);
  const V angle = reinterpret_cast<V>(reinterpret_cast<W>(z) ^ (inverted & minus)) +
                  reinterpret_cast<V>(reinterpret_cast<W>(c[2]) & inverted);
  x = reinterpret_cast<V>(reinterpret_cast<W>(angle) | sign);
}
// NaN where the quotient is: of two zeros or infinities too.
template <int Bytes>
TENON_INLINE void close_atan2(Vector<float, Bytes>& y, const Vector<float, Bytes>& x) {
  using V = Vector<float, Bytes>;
  using W = Vector<int32_t, Bytes>;
  const V* c = read_constants<V>(AtanOfF32<Bytes>::table);
  const W minus = reinterpret_cast<W>(c[1]), sign = reinterpret_cast<W>(y) & minus,
          sign_x = reinterpret_cast<W>(x) & minus;
  const V up = reinterpret_cast<V>(reinterpret_cast<W>(y) ^ sign),
          along = reinterpret_cast<V>(reinterpret_cast<W>(x) ^ sign_x);
  // A choice of two whose order is unknown is its second: NaN of either operand is in the quotient.
  V z = (along < up ? along : up) / (up > along ? up : along), compared = up;
  __asm__("" : "+v"(compared));
  const W inverted = compared > along, backward = reinterpret_cast<W>(x) >> 31;
  atan_up_to_1(z, c);
  const W base =
      (reinterpret_cast<W>(c[2]) & inverted) | (reinterpret_cast<W>(c[3]) & (backward & ~inverted));
  const V angle = reinterpret_cast<V>(reinterpret_cast<W>(z) ^ (inverted & minus) ^ sign_x) +
                  reinterpret_cast<V>(base);
  y = reinterpret_cast<V>(reinterpret_cast<W>(angle) | sign);
}

// asin z for z of [0, 1/2] is z + z^3 p, with a relative error of 9e-9; of a larger number x it is pi / 2 less
// twice that of sqrt((1 - x) / 2).
template <int Bytes>
struct AsinOfF32 {
  static constexpr float numbers[] = {0.5F,           -0.0F,          1.57079637F,   -2,
                                      0.04256552212F, 0.02405051314F, 0.0454668902F, 0.07495660297F,
                                      0.1666673129F};
  static constexpr Constants<float, Bytes, 9> table = numbers;
};
// (1 - |x|) / 2, of which the caller takes the root: its instruction has another name for each width.
template <int Bytes>
TENON_INLINE void half_of_rest(Vector<float, Bytes>& x) {
  using W = Vector<int32_t, Bytes>;
  const Vector<float, Bytes>* c = read_constants<Vector<float, Bytes>>(AsinOfF32<Bytes>::table);
  x = c[0] -
      reinterpret_cast<Vector<float, Bytes>>(reinterpret_cast<W>(x) & ~reinterpret_cast<W>(c[1])) *
          c[0];
}
template <int Bytes>
TENON_INLINE void close_asin(Vector<float, Bytes>& x, const Vector<float, Bytes>& root) {
  using V = Vector<float, Bytes>;
  using W = Vector<int32_t, Bytes>;
  const V* c = read_constants<V>(AsinOfF32<Bytes>::table);
  const W sign = reinterpret_cast<W>(x) & reinterpret_cast<W>(c[1]);
  const V size = reinterpret_cast<V>(reinterpret_cast<W>(x) ^ sign);
  const W is_large = size > c[0];
  const V half = c[0] - size * c[0], square = size * size, s = square < half ? square : half;
  const V z = is_large ? root * c[3] : size;
  V p = s * c[4] + c[5];
  p = p * s + c[6];
  p = p * s + c[7];
  p = p * s + c[8];
  const V angle = ((z * s) * p + z) + reinterpret_cast<V>(reinterpret_cast<W>(c[2]) & is_large);
  x = reinterpret_cast<V>(reinterpret_cast<W>(angle) | sign);
}

// By AVX-512 16 numbers are looked up at once.

// 2^(i / 16), and e^r - 1 for |r| <= ln 2 / 32 as r + r^2 p with an error of 1e-17. The scaling by 2^n rounds
// once, where the result is subnormal.
constexpr double sixteenths[] = {1.0,
                                 1.04427378242741384,
                                 1.090507732665257659,
                                 1.138788634756691654,
                                 1.189207115002721067,
                                 1.241857812073484049,
                                 1.296839554651009666,
                                 1.354255546936892728,
                                 1.414213562373095049,
                                 1.476826145939499311,
                                 1.542210825407940824,
                                 1.610490331949254308,
                                 1.681792830507429086,
                                 1.756252160373299483,
                                 1.834008086409342463,
                                 1.915206561397147294};
TENON_TARGET_V4 TENON_INLINE void close_exp_by_table(Vector<double, 64>& x) {
  using V = Vector<double, 64>;
  V low, high;
  load_vector(low, sixteenths);
  load_vector(high, sixteenths + 8);
  const V most = V{} + 710, least = V{} - 746;
  x = most < x ? most : x;
  x = least > x ? least : x;
  const V rounded = x * 23.0831206542234152 + 0x1.8p52, n = rounded - 0x1.8p52;
  V r = x - n * 0.0433216987848936696536839;
  r = r - n * 1.02912184893106758e-13;
  V p = r * 0.0013889129577804952 + 0.0083334719483950813;
  p = p * r + 0.041666666659615427;
  p = p * r + 0.16666666664417065;
  p = p * r + 0.50000000000000057;
  p = p * (r * r) + r;
  const V power = __builtin_ia32_vpermt2varpd512_mask(reinterpret_cast<WholeNumbers<64>>(rounded),
                                                      low, high, -1);
  x = __builtin_ia32_scalefpd512_mask(p * power + power, n * 0.0625, power, -1, 4);
}

// erf(x) / x in 16 intervals of 1/4 from 0 to 4, by the distance from the middle, with a relative error of
// 3e-9; from there on erf is 1.
constexpr float erf_of_f32[6][16] = {
    {1.122529635F, 1.077645091F, 0.9971854125F, 0.8960857861F, 0.7896784299F, 0.6895782354F,
     0.6021192203F, 0.5290613636F, 0.4693392799F, 0.4207229731F, 0.3808741425F, 0.3478094418F,
     0.3199968331F, 0.2962957585F, 0.2758619876F, 0.2580645052F},
    {-0.09315494815F, -0.2594460797F, -0.3738973932F, -0.4243894099F, -0.4190261937F, -0.377613428F,
     -0.3210135172F, -0.2642749539F, -0.2150580991F, -0.1754595769F, -0.1446576255F, -0.120876248F,
     -0.1023782637F, -0.08778755752F, -0.07609924734F, -0.06659720396F},
    {-0.3656422966F, -0.2884952699F, -0.1652648592F, -0.03973094982F, 0.05419180968F, 0.1042674077F,
     0.1170747302F, 0.1074013925F, 0.08886348827F, 0.06987151494F, 0.05395989323F, 0.04175369737F,
     0.03269626991F, 0.02599835749F, 0.02099066522F, 0.01718602533F},
    {0.05537723749F, 0.1429848956F, 0.1753440228F, 0.1516008428F, 0.09622988746F, 0.03903338878F,
     -0.00137376775F, -0.02131142177F, -0.0262708488F, -0.02363832311F, -0.0186932051F,
     -0.01400045705F, -0.01033482483F, -0.007675793879F, -0.005785379503F, -0.004434255276F},
    {0.1060544302F, 0.06269823758F, 0.001980338335F, -0.04440006599F, -0.06033748495F,
     -0.05043895264F, -0.02978670246F, -0.01127141844F, -0.0001273640592F, 0.004376024478F,
     0.005041306538F, 0.004212930421F, 0.003131422853F, 0.002235500684F, 0.00158987379F,
     0.001144510966F},
    {-0.01944420307F, -0.04620195814F, -0.04642029783F, -0.02550433595F, -0.0006501529687F,
     0.01438461314F, 0.01689945664F, 0.0120439334F, 0.00591294199F, 0.001677955696F,
     -0.0003056135024F, -0.0008637147207F, -0.0008147573191F, -0.0006128944824F, -0.0004273902706F,
     -0.0002931738561F}};
TENON_TARGET_V4 TENON_INLINE void close_erf(Vector<float, 64>& x) {
  using V = Vector<float, 64>;
  using W = Vector<int32_t, 64>;
  const W sign = reinterpret_cast<W>(x) & reinterpret_cast<W>(-V{});
  const V size = reinterpret_cast<V>(reinterpret_cast<W>(x) ^ sign);
  const V rounded = (size * 4 - 0.5F) + 0x1.8p23F;
  const V distance = size - ((rounded - 0x1.8p23F) * 0.25F + 0.125F);
  const W interval = reinterpret_cast<W>(rounded);
  V p, numbers;
  load_vector(numbers, erf_of_f32[5]);
  p = __builtin_ia32_permvarsf512_mask(numbers, interval, numbers, -1);
  for (int k = 4; k >= 0; --k) {
    load_vector(numbers, erf_of_f32[k]);
    p = p * distance + __builtin_ia32_permvarsf512_mask(numbers, interval, numbers, -1);
  }
  p = p * size;
  const V one = V{} + 1;
  p = p < one ? p : one;
  p = size < V{} + 4 ? p : one;
  p = size == size ? p : size;
  x = reinterpret_cast<V>(reinterpret_cast<W>(p) | sign);
}

// A register with a number whose size is beyond `most`, or NaN: the C function computes these lanes.
#define TENON_IS_FAR_V3(bits, most)                                                            \
  (sizeof((bits)[0]) == 4                                                                      \
       ? __builtin_ia32_movmskps256(reinterpret_cast<Vector<float, 32>>((bits) > (most))) != 0 \
       : __builtin_ia32_movmskpd256(reinterpret_cast<Vector<double, 32>>((bits) > (most))) != 0)
#define TENON_IS_FAR_V4(bits, most)                                                           \
  (sizeof((bits)[0]) == 4                                                                     \
       ? __builtin_ia32_cmpd512_mask(reinterpret_cast<Vector<int32_t, 64>>(bits),             \
                                     reinterpret_cast<Vector<int32_t, 64>>(most), 6, -1) != 0 \
       : __builtin_ia32_cmpq512_mask(reinterpret_cast<WholeNumbers<64>>(bits),                \
                                     reinterpret_cast<WholeNumbers<64>>(most), 6, -1) != 0)
#define TENON_FOR_LOOPS(name) __asm__(name) __attribute__((used, visibility("hidden")))

// NAME of every lane as loops call it.
#define TENON_LOOP_FUNCTION(name, isa, T, bytes, symbol, ...)                                  \
  TENON_TARGET_##isa inline Vector<T, bytes> name(Vector<T, bytes> x) TENON_FOR_LOOPS(symbol); \
  TENON_TARGET_##isa inline Vector<T, bytes> name(Vector<T, bytes> x) {                        \
    __VA_ARGS__;                                                                               \
    return x;                                                                                  \
  }
// One that is for numbers of at most `limit`: of a register with others, and NaN, the C function computes
// these lanes.
#define TENON_NEAR_FUNCTION(name, isa, T, W, bytes, symbol, limit, scalar, ...)          \
  TENON_TARGET_##isa __attribute__((noinline, cold)) inline Vector<T, bytes> far_##name( \
      Vector<T, bytes> x) {                                                              \
    const Vector<T, bytes> given = x;                                                    \
    __VA_ARGS__;                                                                         \
    for (unsigned i = 0; i < (bytes) / sizeof(T); ++i)                                   \
      if (!(given[i] <= (limit) && given[i] >= -(limit))) x[i] = scalar(given[i]);       \
    return x;                                                                            \
  }                                                                                      \
  TENON_LOOP_FUNCTION(                                                                   \
      name, isa, T, bytes, symbol, Vector<W, bytes> bits, most;                          \
      sizes<T, W, bytes>(x, limit, bits, most);                                          \
      if (__builtin_expect(TENON_IS_FAR_##isa(bits, most), 0)) return far_##name(x); __VA_ARGS__)
#define TENON_NEAR_F64(name, limit, v3, v4)                                                       \
  TENON_NEAR_FUNCTION(name##_v3, V3, double, long long, 32, "_ZGVdN4v_" #name, limit, ::name, v3) \
  TENON_NEAR_FUNCTION(name##_v4, V4, double, long long, 64, "_ZGVeN8v_" #name, limit, ::name, v4)

TENON_NEAR_FUNCTION(exp_v3, V3, double, long long, 32, "_ZGVdN4v_exp", 708.0, ::exp,
                    close_exp<32>(x))
TENON_LOOP_FUNCTION(exp_v4, V4, double, 64, "_ZGVeN8v_exp", close_exp_by_table(x))
TENON_NEAR_F64(expm1, 708.0, close_expm1<32>(x), close_expm1<64>(x))
TENON_NEAR_FUNCTION(expm1f_v3, V3, float, int32_t, 32, "_ZGVdN8v_expm1f", 87.0F, ::expm1f,
                    close_expm1<32>(x))
TENON_NEAR_FUNCTION(expm1f_v4, V4, float, int32_t, 64, "_ZGVeN16v_expm1f", 87.0F, ::expm1f,
                    close_expm1<64>(x))
TENON_NEAR_F64(sin, 1e7, (close_sine<32, false>(x)), (close_sine<64, false>(x)))
TENON_NEAR_F64(cos, 1e7, (close_sine<32, true>(x)), (close_sine<64, true>(x)))
TENON_NEAR_F64(tan, 1e7, close_tan<TanOfF64<32>>(x), close_tan<TanOfF64<64>>(x))
TENON_NEAR_FUNCTION(tanf_v3, V3, float, int32_t, 32, "_ZGVdN8v_tanf", 1e5F, ::tanf,
                    close_tan<TanOfF32<32>>(x))
TENON_NEAR_FUNCTION(tanf_v4, V4, float, int32_t, 64, "_ZGVeN16v_tanf", 1e5F, ::tanf,
                    close_tan<TanOfF32<64>>(x))
TENON_LOOP_FUNCTION(asinf_v3, V3, float, 32, "_ZGVdN8v_asinf", Vector<float, 32> root = x;
                    half_of_rest<32>(root); root = __builtin_ia32_sqrtps256(root);
                    close_asin<32>(x, root))
TENON_LOOP_FUNCTION(asinf_v4, V4, float, 64, "_ZGVeN16v_asinf", Vector<float, 64> root = x;
                    half_of_rest<64>(root); root = __builtin_ia32_sqrtps512_mask(root, root, -1, 4);
                    close_asin<64>(x, root))
TENON_LOOP_FUNCTION(atanf_v3, V3, float, 32, "_ZGVdN8v_atanf", close_atan<32>(x))
TENON_LOOP_FUNCTION(atanf_v4, V4, float, 64, "_ZGVeN16v_atanf", close_atan<64>(x))
TENON_LOOP_FUNCTION(erff_v4, V4, float, 64, "_ZGVeN16v_erff", close_erf(x))

// NaN where an operand is, and of two zeros or infinities.
#define TENON_ATAN2(name, isa, bytes, symbol)                                                \
  TENON_TARGET_##isa __attribute__((noinline, cold)) inline Vector<float, bytes> far_##name( \
      Vector<float, bytes> angle, Vector<float, bytes> y, Vector<float, bytes> x) {          \
    for (unsigned i = 0; i < (bytes) / sizeof(float); ++i)                                   \
      if (angle[i] != angle[i]) angle[i] = ::atan2f(y[i], x[i]);                             \
    return angle;                                                                            \
  }                                                                                          \
  TENON_TARGET_##isa inline Vector<float, bytes> name(                                       \
      Vector<float, bytes> y, Vector<float, bytes> x) TENON_FOR_LOOPS(symbol);               \
  TENON_TARGET_##isa inline Vector<float, bytes> name(Vector<float, bytes> y,                \
                                                      Vector<float, bytes> x) {              \
    Vector<float, bytes> angle = y;                                                          \
    close_atan2<bytes>(angle, x);                                                            \
    Vector<int32_t, bytes> bits, most;                                                       \
    sizes<float, int32_t, bytes>(angle, std::numeric_limits<float>::infinity(), bits, most); \
    if (__builtin_expect(TENON_IS_FAR_##isa(bits, most), 0)) return far_##name(angle, y, x); \
    return angle;                                                                            \
  }
TENON_ATAN2(atan2f_v3, V3, 32, "_ZGVdN8vv_atan2f")
TENON_ATAN2(atan2f_v4, V4, 64, "_ZGVeN16vv_atan2f")

#undef TENON_ATAN2
#undef TENON_NEAR_F64
#undef TENON_NEAR_FUNCTION
#undef TENON_LOOP_FUNCTION
#undef TENON_FOR_LOOPS
#undef TENON_IS_FAR_V4
#undef TENON_IS_FAR_V3

}  // namespace kernel::detail
TENON_NAMESPACE_END
#endif
