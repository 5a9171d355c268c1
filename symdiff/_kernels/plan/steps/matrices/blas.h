/* LAPACK, and of BLAS what factorizations need: SciPy's functions, whose addresses executor.pyx puts into the table
   when the first plan that needs them is made. Fortran's conventions: columns, pointers to everything, integers of 32
   bits, no empty sizes.

   Needs nothing of this package. */

#ifndef SD_BLAS_H
#define SD_BLAS_H
#include <limits.h>

typedef void (*sd_trsm)(char *, char *, char *, char *, int *, int *, double *, const double *, int *, double *, int *);
typedef void (*sd_getrf)(int *, int *, double *, int *, int *, int *);
typedef void (*sd_getri)(int *, double *, int *, int *, double *, int *, int *);
typedef void (*sd_getrs)(char *, int *, int *, const double *, int *, int *, double *, int *, int *);
typedef void (*sd_potrf)(char *, int *, double *, int *, int *);
typedef void (*sd_potri)(char *, int *, double *, int *, int *);
typedef void (*sd_syevd)(char *, char *, int *, double *, int *, double *, double *, int *, int *, int *, int *);
typedef void (*sd_potrs)(char *, int *, int *, const double *, int *, double *, int *, int *);

/* All are of float64. */
static struct {
  sd_trsm trsm;
  sd_getrf getrf;
  sd_getri getri;
  sd_getrs getrs;
  sd_potrf potrf;
  sd_potri potri;
  sd_potrs potrs;
  sd_syevd syevd;
} sd_blas;

/* The names of SciPy's functions, and their places in the table. */
typedef struct {
  const char *name;
  void **place;
} sd_blas_entry;
static const sd_blas_entry sd_blas_names[] = {
    {"dtrsm", (void **)&sd_blas.trsm},      {"dgetrf", (void **)&sd_blas.getrf},
    {"dgetri", (void **)&sd_blas.getri},    {"dgetrs", (void **)&sd_blas.getrs},
    {"dpotrf", (void **)&sd_blas.potrf},    {"dpotri", (void **)&sd_blas.potri},
    {"dpotrs", (void **)&sd_blas.potrs},    {"dsyevd", (void **)&sd_blas.syevd},    {0, 0}};

#endif
