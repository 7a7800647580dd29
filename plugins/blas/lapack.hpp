// LAPACK's routines, which OpenBLAS contains and has no header of: Fortran's, for f32 and f64.
#pragma once

#include <climits>
#include <cmath>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace blas::lapack {

// How each is called: T is the element, numbers come by address, and each letter is followed by its
// length at the end.
using Int = const int*;
using Letter = const char*;
template <class T>
using Getrf = void(Int rows, Int columns, T* a, Int a_leading, int* pivots, int* info);
template <class T>
using Getrs = void(Letter transpose, Int n, Int right_sides, const T* a, Int a_leading, Int pivots,
                   T* b, Int b_leading, int* info, size_t);
template <class T>
using Potrf = void(Letter half, Int n, T* a, Int a_leading, int* info, size_t);
template <class T>
using Geqrf = void(Int rows, Int columns, T* a, Int a_leading, T* tau, T* work, Int work_size,
                   int* info);
template <class T>
using Orgqr = void(Int rows, Int columns, Int reflectors, T* a, Int a_leading, const T* tau,
                   T* work, Int work_size, int* info);
template <class T>
using Gesdd = void(Letter job, Int rows, Int columns, T* a, Int a_leading, T* s, T* u,
                   Int u_leading, T* vt, Int vt_leading, T* work, Int work_size, int* integers,
                   int* info, size_t);
template <class T>
using Syevd = void(Letter job, Letter half, Int n, T* a, Int a_leading, T* values, T* work,
                   Int work_size, int* integers, Int integers_size, int* info, size_t, size_t);
template <class T>
using Gelsd = void(Int rows, Int columns, Int right_sides, T* a, Int a_leading, T* b, Int b_leading,
                   T* s, const T* rcond, int* rank, T* work, Int work_size, int* integers,
                   int* info);

extern "C" {
Getrf<float> sgetrf_;
Getrf<double> dgetrf_;
Getrs<float> sgetrs_;
Getrs<double> dgetrs_;
Potrf<float> spotrf_;
Potrf<double> dpotrf_;
Geqrf<float> sgeqrf_;
Geqrf<double> dgeqrf_;
Orgqr<float> sorgqr_;
Orgqr<double> dorgqr_;
Gesdd<float> sgesdd_;
Gesdd<double> dgesdd_;
Syevd<float> ssyevd_;
Syevd<double> dsyevd_;
Gelsd<float> sgelsd_;
Gelsd<double> dgelsd_;
}

// The routine for elements of T.
template <class T, class Single, class Double>
constexpr auto* routine(Single* single, Double* twice) {
  if constexpr (std::is_same_v<T, float>)
    return single;
  else
    return twice;
}

// Calls `routine(work, size)`, which returns info, twice: for the size that its workspace should
// have, which it leaves in the first element, and with a workspace of that size.
template <class T, class Call>
int with_workspace(const Call& routine) {
  T best{};
  const int query = -1;
  if (const int info = routine(&best, &query); info != 0) return info;
  // f32 has no room for every size.
  const double rounded_up = static_cast<double>(std::nextafter(best, HUGE_VAL));
  const int size = rounded_up >= INT_MAX ? INT_MAX : 1 + static_cast<int>(rounded_up);
  const std::unique_ptr<T[]> work(new T[static_cast<size_t>(size)]);
  return routine(work.get(), &size);
}

}  // namespace blas::lapack
