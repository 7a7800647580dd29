// LAPACK's routines, which OpenBLAS contains and has no header of: Fortran's, for f32, f64, c64 and
// c128.
#pragma once

#include <climits>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>

#include <tenon/plugin.hpp>

namespace blas::lapack {

// The element of singular values, eigenvalues and norms: the part of a complex one.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<Real<T>, T>;

// How each is called: T is the element, numbers come by address, and each letter is followed by its
// length at the end. Some routines for complex elements take a second workspace, of real numbers.
using Int = const int*;
using Letter = const char*;
template <class T>
using Getrf = void(Int rows, Int columns, T* a, Int a_leading, int* pivots, int* info);
template <class T>
using Getrs = void(Letter transpose, Int n, Int right_sides, const T* a, Int a_leading, Int pivots,
                   T* b, Int b_leading, int* info, size_t);
template <class T>
using Getri = void(Int n, T* a, Int a_leading, Int pivots, T* work, Int work_size, int* info);
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
using ComplexGesdd = void(Letter job, Int rows, Int columns, T* a, Int a_leading, Real<T>* s, T* u,
                          Int u_leading, T* vt, Int vt_leading, T* work, Int work_size,
                          Real<T>* reals, int* integers, int* info, size_t);
template <class T>
using Syevd = void(Letter job, Letter half, Int n, T* a, Int a_leading, T* values, T* work,
                   Int work_size, int* integers, Int integers_size, int* info, size_t, size_t);
template <class T>
using Heevd = void(Letter job, Letter half, Int n, T* a, Int a_leading, Real<T>* values, T* work,
                   Int work_size, Real<T>* reals, Int reals_size, int* integers, Int integers_size,
                   int* info, size_t, size_t);
// There is one of complex elements alone: the vectors of real matrices are complex as well.
template <class T>
using ComplexGeev = void(Letter left_job, Letter right_job, Int n, T* a, Int a_leading, T* values,
                         T* left, Int left_leading, T* right, Int right_leading, T* work,
                         Int work_size, Real<T>* reals, int* info, size_t, size_t);
template <class T>
using Gelsd = void(Int rows, Int columns, Int right_sides, T* a, Int a_leading, T* b, Int b_leading,
                   T* s, const T* rcond, int* rank, T* work, Int work_size, int* integers,
                   int* info);
template <class T>
using ComplexGelsd = void(Int rows, Int columns, Int right_sides, T* a, Int a_leading, T* b,
                          Int b_leading, Real<T>* s, const Real<T>* rcond, int* rank, T* work,
                          Int work_size, Real<T>* reals, int* integers, int* info);

// Triangular systems, which BLAS has.
template <class T>
using Trsm = void(Letter side, Letter half, Letter transpose, Letter diagonal, Int rows,
                  Int columns, const T* factor, const T* a, Int a_leading, T* b, Int b_leading,
                  size_t, size_t, size_t, size_t);

using c64 = std::complex<float>;
using c128 = std::complex<double>;
extern "C" {
Getrf<float> sgetrf_;
Getrf<double> dgetrf_;
Getrf<c64> cgetrf_;
Getrf<c128> zgetrf_;
Getrs<float> sgetrs_;
Getrs<double> dgetrs_;
Getrs<c64> cgetrs_;
Getrs<c128> zgetrs_;
Getri<float> sgetri_;
Getri<double> dgetri_;
Getri<c64> cgetri_;
Getri<c128> zgetri_;
Potrf<float> spotrf_;
Potrf<double> dpotrf_;
Potrf<c64> cpotrf_;
Potrf<c128> zpotrf_;
Geqrf<float> sgeqrf_;
Geqrf<double> dgeqrf_;
Geqrf<c64> cgeqrf_;
Geqrf<c128> zgeqrf_;
Orgqr<float> sorgqr_;
Orgqr<double> dorgqr_;
Orgqr<c64> cungqr_;
Orgqr<c128> zungqr_;
Gesdd<float> sgesdd_;
Gesdd<double> dgesdd_;
ComplexGesdd<c64> cgesdd_;
ComplexGesdd<c128> zgesdd_;
Syevd<float> ssyevd_;
Syevd<double> dsyevd_;
Heevd<c64> cheevd_;
Heevd<c128> zheevd_;
ComplexGeev<c64> cgeev_;
ComplexGeev<c128> zgeev_;
Trsm<float> strsm_;
Trsm<double> dtrsm_;
Trsm<c64> ctrsm_;
Trsm<c128> ztrsm_;
Gelsd<float> sgelsd_;
Gelsd<double> dgelsd_;
ComplexGelsd<c64> cgelsd_;
ComplexGelsd<c128> zgelsd_;
}

// The routine for elements of T, of those for f32, f64, c64 and c128.
template <class T, class F32, class F64, class C64, class C128>
constexpr auto* routine(F32* of_f32, F64* of_f64, C64* of_c64, C128* of_c128) {
  if constexpr (std::is_same_v<T, float>)
    return of_f32;
  else if constexpr (std::is_same_v<T, double>)
    return of_f64;
  else if constexpr (std::is_same_v<Real<T>, float>)
    return of_c64;
  else
    return of_c128;
}

// The size of a workspace as LAPACK returns it. f32 has no room for every size.
template <class T>
int workspace_size(const T& best) {
  using R = Real<T>;
  const auto rounded_up = static_cast<double>(
      std::nextafter(static_cast<R>(std::real(best)), std::numeric_limits<R>::infinity()));
  return rounded_up >= INT_MAX ? INT_MAX : 1 + static_cast<int>(rounded_up);
}

// Calls `routine(work, size)`, which returns info, twice: for the size that its workspace should
// have, which it leaves in the first element, and with a workspace of that size: memory of the host,
// which keeps what is freed, while the library's pages would be made again in each call.
template <class T, class Call>
int with_workspace(const Call& routine) {
  T best{};
  const int query = -1;
  if (const int info = routine(&best, &query); info != 0) return info;
  const int size = workspace_size(best);
  const tenon::Tensor work = tenon::empty_tensor(
      {static_cast<int64_t>(size) * static_cast<int64_t>(sizeof(T))}, tenon::u8);
  return routine(static_cast<T*>(work.view_record().data), &size);
}

}  // namespace blas::lapack
