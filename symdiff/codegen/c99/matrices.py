"""Functions of square matrices of any size in C99: elimination with partial pivoting, and Cholesky's factorization."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["FUNCTIONS_OF_MATRICES", "matrix_text"]

_UNKNOWN = """\
/* whether an element is nan: then all results are */
static int sd_unknown(ptrdiff_t n, const double *a) {
  for (ptrdiff_t i = 0; i < n * n; i++)
    if (a[i] != a[i]) return 1;
  return 0;
}
"""

_ELIMINATE = """\
/* Gauss's elimination with partial pivoting of a, n by n, and the rows of c, n by k; 1 where a pivot is 0.
   The sign of the permutation is in sign, and the pivots are on the diagonal. */
static int sd_eliminate(ptrdiff_t n, ptrdiff_t k, double *a, double *c, double *sign) {
  int singular = 0;
  *sign = 1.0;
  for (ptrdiff_t j = 0; j < n; j++) {
    ptrdiff_t p = j;
    for (ptrdiff_t i = j + 1; i < n; i++)
      if (fabs(a[i * n + j]) > fabs(a[p * n + j])) p = i;
    if (p != j) {
      for (ptrdiff_t l = 0; l < n; l++) {
        const double t = a[p * n + l];
        a[p * n + l] = a[j * n + l];
        a[j * n + l] = t;
      }
      for (ptrdiff_t l = 0; l < k; l++) {
        const double t = c[p * k + l];
        c[p * k + l] = c[j * k + l];
        c[j * k + l] = t;
      }
      *sign = -*sign;
    }
    if (a[j * n + j] == 0.0) {
      singular = 1;
      continue;
    }
    for (ptrdiff_t i = j + 1; i < n; i++) {
      const double t = a[i * n + j] / a[j * n + j];
      if (t == 0.0) continue;
      for (ptrdiff_t l = j + 1; l < n; l++) a[i * n + l] -= t * a[j * n + l];
      for (ptrdiff_t l = 0; l < k; l++) c[i * k + l] -= t * c[j * k + l];
    }
  }
  return singular;
}
"""

_SOLVE = """\
/* c, n by k, becomes the solution for a, or for its transpose; w has room for n * n numbers */
static int sd_solve(ptrdiff_t n, ptrdiff_t k, const double *a, int turned, double *c, double *w) {
  double sign;
  if (sd_unknown(n, a)) {
    for (ptrdiff_t i = 0; i < n * k; i++) c[i] = (double)NAN;
    return 0;
  }
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) w[i * n + j] = turned ? a[j * n + i] : a[i * n + j];
  if (sd_eliminate(n, k, w, c, &sign)) return 1;
  for (ptrdiff_t i = n - 1; i >= 0; i--) {
    for (ptrdiff_t j = i + 1; j < n; j++) {
      const double t = w[i * n + j];
      for (ptrdiff_t l = 0; l < k; l++) c[i * k + l] -= t * c[j * k + l];
    }
    for (ptrdiff_t l = 0; l < k; l++) c[i * k + l] /= w[i * n + i];
  }
  return 0;
}
"""

_INVERT = """\
static int sd_invert(ptrdiff_t n, const double *a, int turned, double *c, double *w) {
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) c[i * n + j] = i == j ? 1.0 : 0.0;
  return sd_solve(n, n, a, turned, c, w);
}
"""

_DET = """\
/* the determinant: mantissas are multiplied and exponents added, so that no part of the product overflows */
static double sd_det(ptrdiff_t n, const double *a, double *w) {
  double product;
  long exponents = 0;
  if (sd_unknown(n, a)) return (double)NAN;
  for (ptrdiff_t i = 0; i < n * n; i++) w[i] = a[i];
  sd_eliminate(n, 0, w, w, &product);
  for (ptrdiff_t i = 0; i < n; i++) {
    int exponent = 0;
    product = frexp(product, &exponent); /* of inf and nan they are themselves, and the exponent counts nothing */
    exponents += exponent;
    exponent = 0;
    product *= frexp(w[i * n + i], &exponent);
    exponents += exponent;
  }
  return ldexp(product, exponents > 9999 ? 9999 : exponents < -9999 ? -9999 : (int)exponents);
}
"""

_LOGABSDET = """\
/* log(abs(det(a))); nan for a negative determinant where that is to be seen */
static double sd_logdet(ptrdiff_t n, const double *a, int absolute, double *w) {
  double sum = 0.0, sign;
  if (sd_unknown(n, a)) return (double)NAN;
  for (ptrdiff_t i = 0; i < n * n; i++) w[i] = a[i];
  if (sd_eliminate(n, 0, w, w, &sign)) return -(double)INFINITY;
  for (ptrdiff_t i = 0; i < n; i++) {
    sum += log(fabs(w[i * n + i]));
    if (w[i * n + i] < 0.0) sign = -sign;
  }
  return absolute || sign > 0.0 ? sum : (double)NAN;
}
"""

_CHOLESKY = """\
/* the lower triangular factor of a, whose lower triangle alone is read; 1 where there is none */
static int sd_cholesky(ptrdiff_t n, const double *a, double *c) {
  int unknown = 0;
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j <= i; j++) unknown |= a[i * n + j] != a[i * n + j];
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j < n; j++) c[i * n + j] = unknown ? (double)NAN : 0.0;
    for (ptrdiff_t j = 0; j <= i && !unknown; j++) {
      double t = a[i * n + j];
      for (ptrdiff_t l = 0; l < j; l++) t -= c[i * n + l] * c[j * n + l];
      if (i == j && t <= 0.0) return 1;
      c[i * n + j] = i == j ? sqrt(t) : t / c[j * n + j];
    }
  }
  return 0;
}
"""

_NEEDS: dict[str, tuple[str, ...]] = {
    "inv": (_UNKNOWN, _ELIMINATE, _SOLVE, _INVERT),
    "solve": (_UNKNOWN, _ELIMINATE, _SOLVE),
    "det": (_UNKNOWN, _ELIMINATE, _DET),
    "logdet": (_UNKNOWN, _ELIMINATE, _LOGABSDET),
    "cholesky": (_CHOLESKY,),
}

#: The row of ``_NEEDS`` and the call that computes each function of the matrix ``a``, which has ``rows``, into ``c``.
FUNCTIONS_OF_MATRICES: dict[str, tuple[str, str]] = {
    "inv": ("inv", "if (sd_invert(rows, a, 0, c, factor)) return 1;"),
    "inv_transposed": ("inv", "if (sd_invert(rows, a, 1, c, factor)) return 1;"),
    "solve": ("solve", "if (sd_solve(rows, columns, a, 0, c, factor)) return 1;"),
    "solve_transposed": ("solve", "if (sd_solve(rows, columns, a, 1, c, factor)) return 1;"),
    "det": ("det", "c[0] = sd_det(rows, a, factor);"),
    "logdet": ("logdet", "c[0] = sd_logdet(rows, a, 0, factor);"),
    "logabsdet": ("logdet", "c[0] = sd_logdet(rows, a, 1, factor);"),
    "cholesky": ("cholesky", "if (sd_cholesky(rows, a, c)) return 1;"),
}


def matrix_text(ops: Collection[str]) -> str:
    """Return the functions that some functions of matrices need, each once and in order."""
    needed = [text for op in ops for text in _NEEDS[FUNCTIONS_OF_MATRICES[op][0]]]
    order = dict.fromkeys(text for texts in _NEEDS.values() for text in texts)
    return "".join(f"{text}\n" for text in order if text in needed)
