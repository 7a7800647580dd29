#!/usr/bin/env bash
# OpenBLAS 0.3.21 (Debian 12): whether i?amax finds a NaN depends on the length of the vector.
#
# Expected: one rule. The reference BLAS compares by '>', so that a NaN behind the first element is never chosen.
# Seen: with a NaN in second place and larger numbers behind it, cblas_idamax returns the NaN's place for 3 to 8
# elements and the place of the largest number for 9 and more. LAPACK chooses pivots by this function, so that
# whether a factorization meets the NaN as a pivot depends on the size of the matrix.
# Hit: tests for NaN that try a small matrix and are trusted for a large one.
set -euo pipefail
version=0.3.21+ds-4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq 2>/dev/null "libopenblas0-pthread=$version" "libopenblas-pthread-dev=$version" libgfortran5 libquadmath0
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
cat >largest.c <<'SOURCE'
#include <cblas.h>
#include <math.h>
#include <stdio.h>

int main(void) {
  double x[32];
  for (int n = 3; n <= 32; ++n) {
    for (int i = 0; i < n; ++i) x[i] = i + 1;
    x[1] = NAN;
    printf("%d:%d ", n, (int)cblas_idamax(n, x, 1));
  }
  printf("\n");
  return 0;
}
SOURCE
gcc -O1 largest.c -o largest -I"$libraries/../../include/x86_64-linux-gnu/openblas-pthread" \
  -L"$libraries/openblas-pthread" -l:libopenblas.so.0 -Wl,-rpath-link,"$libraries"
# Kernels of the oldest processors that it knows, so that every machine runs the same ones.
export OPENBLAS_CORETYPE=Prescott OPENBLAS_NUM_THREADS=1
LD_LIBRARY_PATH=$libraries/openblas-pthread:$libraries ./largest | tee seen
{
  for n in 3 4 5 6 7 8; do printf '%d:1 ' "$n"; done
  for ((n = 9; n <= 32; ++n)); do printf '%d:%d ' "$n" $((n - 1)); done
  echo
} >expected
diff expected seen
