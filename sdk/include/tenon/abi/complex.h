/* Elements of c64 and c128: the real part, then the imaginary one, as `float _Complex` of C and
 * std::complex of C++ have them in memory. */
#ifndef TENON_ABI_COMPLEX_H
#define TENON_ABI_COMPLEX_H

/* Two binary32. Frozen: 8 bytes. */
typedef struct tenon_c64 {
  float real, imag; /* real and imaginary part */
} tenon_c64;

/* Two binary64. Frozen: 16 bytes. */
typedef struct tenon_c128 {
  double real, imag; /* real and imaginary part */
} tenon_c128;

#endif
