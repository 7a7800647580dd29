/* Elements of f16 and bf16, and their conversions: to the nearest number, ties to even; what is too
 * large becomes infinite, NaN stays NaN and keeps the payload that fits. Any thread. */
#ifndef TENON_ABI_HALF_H
#define TENON_ABI_HALF_H

#include <stdint.h>
#include <string.h>

/* IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. Frozen: 2 bytes. */
typedef struct tenon_f16 {
  uint16_t bits; /* sign, exponent and fraction, from the highest bit */
} tenon_f16;

/* The upper half of a binary32: 1 sign, 8 exponent and 7 fraction bits. Frozen: 2 bytes. */
typedef struct tenon_bf16 {
  uint16_t bits; /* sign, exponent and fraction, from the highest bit */
} tenon_bf16;

static inline uint32_t tenon_f32_bits(float number) { /* its bits */
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}
static inline float tenon_f32_of_bits(uint32_t bits) { /* the number of these bits */
  float number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

/* Selections instead of branches, so that loops over these functions vectorize. */

static inline float tenon_f16_to_f32(tenon_f16 half) { /* exact */
  const uint32_t sign = (uint32_t)(half.bits & 0x8000u) << 16;
  const uint32_t size = half.bits & 0x7fffu;
  const uint32_t subnormal = tenon_f32_bits((float)(int32_t)size * 5.9604644775390625e-8f);
  const uint32_t normal = (size << 13) + 0x38000000u;  /* 112 more in the exponent */
  const uint32_t special = (size << 13) + 0x70000000u; /* infinity, NaN */
  const uint32_t finite = size >= 0x0400u ? normal : subnormal;
  return tenon_f32_of_bits(sign | (size >= 0x7c00u ? special : finite));
}

static inline tenon_f16 tenon_f32_to_f16(float number) { /* the nearest, ties to even */
  const uint32_t bits = tenon_f32_bits(number);
  const uint32_t size = bits & 0x7fffffffu;
  /* Below 2^-14 all numbers are multiples of 2^-24, as those from 0.5 to 1 of f32 are. */
  const uint32_t subnormal = tenon_f32_bits(tenon_f32_of_bits(size) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (size - 0x38000000u + 0x0fffu + ((size >> 13) & 1u)) >> 13;
  const uint32_t payload = (size >> 13) & 0x03ffu;
  const uint32_t nan = 0x7c00u | payload | (payload == 0 ? 0x0200u : 0u);
  const uint32_t finite = size >= 0x38800000u ? normal : subnormal;
  const uint32_t number_bits = size >= 0x47800000u ? 0x7c00u : finite;
  tenon_f16 half;
  half.bits = (uint16_t)((bits >> 16 & 0x8000u) | (size > 0x7f800000u ? nan : number_bits));
  return half;
}

static inline float tenon_bf16_to_f32(tenon_bf16 half) { /* exact */
  return tenon_f32_of_bits((uint32_t)half.bits << 16);
}

static inline tenon_bf16 tenon_f32_to_bf16(float number) { /* the nearest, ties to even */
  const uint32_t bits = tenon_f32_bits(number);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = bits >> 16 | ((bits & 0x007f0000u) == 0 ? 0x0040u : 0u);
  tenon_bf16 half;
  half.bits = (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  return half;
}

/* The f32 that rounds to f16 and bf16 as the f64 itself does: cut off, its last bit set where
 * something was lost. The nearest f32 could be a tie that the f64 is not. */
static inline float tenon_f64_to_odd_f32(double number) {
  const float nearest = (float)number;
  const double back = (double)nearest;
  const uint32_t beyond = (back < 0 ? -back : back) > (number < 0 ? -number : number) ? 1u : 0u;
  const uint32_t lost = back < number || back > number ? 1u : 0u;
  return tenon_f32_of_bits((tenon_f32_bits(nearest) - beyond) | lost);
}
static inline tenon_f16 tenon_f64_to_f16(double number) { /* the nearest, ties to even */
  return tenon_f32_to_f16(tenon_f64_to_odd_f32(number));
}
static inline tenon_bf16 tenon_f64_to_bf16(double number) { /* the nearest, ties to even */
  return tenon_f32_to_bf16(tenon_f64_to_odd_f32(number));
}

#endif
