// Conversions of f8, f6 and f4: from tables, and by rounding the bits of an f32.
#include "core/tensor/narrow.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tenon/abi/half.h"

namespace tenon::core {

namespace {

constexpr uint32_t kInfinity = 0x7f800000u;
// An f32.
constexpr uint32_t kFractionBits = 23;
constexpr uint32_t kBias = 127;

// A format with a sign; f8_e8m0 has only an exponent.
struct Format {
  uint32_t exponent_bits;
  uint32_t fraction_bits;
  uint32_t largest;   // code of the largest number
  uint32_t nan;       // code of a NaN; that of the largest number where there is none
  bool has_infinity;  // behind the largest number

  constexpr uint32_t bias() const { return (1u << (exponent_bits - 1)) - 1; }
  constexpr uint32_t sign_bit() const { return 1u << (exponent_bits + fraction_bits); }
};
constexpr Format kE4M3{4, 3, 0x7e, 0x7f, false};
constexpr Format kE5M2{5, 2, 0x7b, 0x7e, true};
constexpr Format kE2M3{2, 3, 0x1f, 0x1f, false};
constexpr Format kE3M2{3, 2, 0x1f, 0x1f, false};
constexpr Format kE2M1{2, 1, 0x07, 0x07, false};

constexpr float power_of_two(int32_t exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + int32_t{kBias}) << kFractionBits);
}

template <const Format& format>
constexpr float widen(uint8_t code) {
  constexpr auto kSmallest = static_cast<int32_t>(format.bias() + format.fraction_bits) - 1;
  const uint32_t size = code & (format.sign_bit() - 1);
  const uint32_t fraction = size & ((1u << format.fraction_bits) - 1);
  const uint32_t exponent = size >> format.fraction_bits;
  const bool infinite = format.has_infinity && size == format.largest + 1;
  if (size > format.largest && !infinite) return std::numeric_limits<float>::quiet_NaN();
  float number = static_cast<float>(fraction) * power_of_two(-kSmallest);
  if (exponent != 0)
    number = std::bit_cast<float>((exponent + kBias - format.bias()) << kFractionBits |
                                  fraction << (kFractionBits - format.fraction_bits));
  if (infinite) number = std::numeric_limits<float>::infinity();
  return (code & format.sign_bit()) != 0 ? -number : number;
}

// Selections instead of branches, so that loops over this vectorize.
template <const Format& format>
inline uint8_t round_to(float number) {
  constexpr uint32_t kShift = kFractionBits - format.fraction_bits;
  constexpr uint32_t kLeastNormal = (kBias + 1 - format.bias()) << kFractionBits;
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t size = bits & 0x7fffffffu;
  // Numbers below the least normal one are multiples of a power of two: so are those beside a large
  // number, which an addition rounds to.
  constexpr auto kUnit =
      static_cast<int32_t>(kFractionBits + 1 - format.bias() - format.fraction_bits);
  constexpr float kLarge = power_of_two(kUnit);
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + kLarge) -
                             std::bit_cast<uint32_t>(kLarge);
  const uint32_t rounded = size + (1u << (kShift - 1)) - 1 + (size >> kShift & 1);
  const uint32_t normal = (rounded >> kShift) - ((kBias - format.bias()) << format.fraction_bits);
  const uint32_t finite = size < kLeastNormal ? subnormal : normal;
  const uint32_t cut = finite < format.largest ? finite : format.largest;
  // Rounding the largest numbers up would reach beyond the bits of the code.
  const uint32_t saturated = size >= kInfinity ? format.largest : cut;
  const uint32_t sign = bits >> 31 != 0 ? format.sign_bit() : 0;
  return static_cast<uint8_t>(sign | (size > kInfinity ? format.nan : saturated));
}

constexpr float widen_scale(uint8_t code) {
  if (code == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : uint32_t{code} << kFractionBits);
}
inline uint8_t round_to_scale(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  if (bits > kInfinity && bits != 0x80000000u) return 0xff;  // negative, or NaN
  const uint32_t size = bits & 0x7fffffffu;
  constexpr uint32_t kLargest = 0xfe;
  if (size < 1u << kFractionBits) return size > 0x00600000u ? 1 : 0;
  const uint32_t rounded = (size + 0x003fffffu + (size >> kFractionBits & 1)) >> kFractionBits;
  return static_cast<uint8_t>(rounded < kLargest ? rounded : kLargest);
}

template <auto convert>
constexpr std::array<float, 256> make_table() {
  std::array<float, 256> table{};
  for (uint32_t code = 0; code < 256; ++code) table[code] = convert(static_cast<uint8_t>(code));
  return table;
}

template <auto convert>
void widen_row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  static constexpr std::array<float, 256> kTable = make_table<convert>();
  if (to_step == sizeof(float) && from_step == 1) {
    auto* const numbers = reinterpret_cast<float*>(to);
    const auto* const codes = reinterpret_cast<const uint8_t*>(from);
    for (int64_t i = 0; i < count; ++i) numbers[i] = kTable[codes[i]];
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step, &kTable[static_cast<uint8_t>(from[i * from_step])],
                sizeof(float));
}

inline float as_f32(float number) { return number; }
inline float as_f32(double number) { return tenon_f64_to_odd_f32(number); }

// Restricted parameters let the compiler vectorize it.
template <class From, uint8_t (*convert)(float)>
[[gnu::noinline]] void round_line(uint8_t* __restrict to, const From* __restrict from,
                                  int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = convert(as_f32(from[i]));
}
template <class From, uint8_t (*convert)(float)>
void round_row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  if (to_step == 1 && from_step == sizeof(From)) {
    return round_line<From, convert>(reinterpret_cast<uint8_t*>(to),
                                     reinterpret_cast<const From*>(from), count);
  }
  for (int64_t i = 0; i < count; ++i) {
    From number;
    std::memcpy(&number, from + i * from_step, sizeof(From));
    to[i * to_step] = static_cast<char>(convert(as_f32(number)));
  }
}

template <auto widen_one, uint8_t (*round_one)(float)>
Row rows_of(bool to_wide, tenon_dtype other) {
  if (to_wide) return other == TENON_F32 ? &widen_row<widen_one> : nullptr;
  return other == TENON_F32   ? &round_row<float, round_one>
         : other == TENON_F64 ? &round_row<double, round_one>
                              : nullptr;
}

}  // namespace

Row narrow_row(tenon_dtype to, tenon_dtype from) {
  const bool widens = dtype_narrow(from);
  const tenon_dtype other = widens ? to : from;
  switch (widens ? from : to) {
    case TENON_F8_E4M3:
      return rows_of<widen<kE4M3>, round_to<kE4M3>>(widens, other);
    case TENON_F8_E5M2:
      return rows_of<widen<kE5M2>, round_to<kE5M2>>(widens, other);
    case TENON_F8_E8M0:
      return rows_of<widen_scale, round_to_scale>(widens, other);
    case TENON_F6_E2M3:
      return rows_of<widen<kE2M3>, round_to<kE2M3>>(widens, other);
    case TENON_F6_E3M2:
      return rows_of<widen<kE3M2>, round_to<kE3M2>>(widens, other);
    case TENON_F4_E2M1:
      return rows_of<widen<kE2M1>, round_to<kE2M1>>(widens, other);
    default:
      return nullptr;
  }
}

}  // namespace tenon::core
