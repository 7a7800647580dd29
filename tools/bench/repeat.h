/* THOUSAND(X, ) is X(000) X(001) ... X(999), THOUSAND(X, 7) is X(7000) ... X(7999): for plugins of
 * many things that are all alike. */
#ifndef TENON_BENCH_REPEAT_H
#define TENON_BENCH_REPEAT_H

/* clang-format off */
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n)                                                   \
  TEN(X, n##0) TEN(X, n##1) TEN(X, n##2) TEN(X, n##3) TEN(X, n##4)      \
  TEN(X, n##5) TEN(X, n##6) TEN(X, n##7) TEN(X, n##8) TEN(X, n##9)
#define THOUSAND(X, n)                                                  \
  HUNDRED(X, n##0) HUNDRED(X, n##1) HUNDRED(X, n##2) HUNDRED(X, n##3)   \
  HUNDRED(X, n##4) HUNDRED(X, n##5) HUNDRED(X, n##6) HUNDRED(X, n##7)   \
  HUNDRED(X, n##8) HUNDRED(X, n##9)
/* clang-format on */

#endif
