/* Sizes of the blocks of a matrix product, and the memory that it takes.

   Needs nothing. */

#ifndef SD_GEMM_SIZES_H
#define SD_GEMM_SIZES_H

/* SD_GEMM_DEPTH products are summed in registers, and these sums are added in order. The bits of a result depend on that,
   hence one number for all machines. A tile's columns of that depth lie in the first-level cache, SD_GEMM_ACROSS columns
   and SD_GEMM_DOWN rows in the second. A matrix of SD_GEMM_NEAR bytes is read as it stands: the first-level cache has it. */
enum { SD_GEMM_DEPTH = 192, SD_GEMM_ACROSS = 288, SD_GEMM_DOWN = 96, SD_GEMM_WIDEST = 16, SD_GEMM_NEAR = 32768, SD_GEMM_LINE = 64 };

/* Bytes of scratch memory of a product of m × k and k × n numbers of so many bytes each. */
static inline long sd_gemm_bytes(long m, long n, long k, long item) {
  long side = m > n ? m : n, depth = k < SD_GEMM_DEPTH ? k : SD_GEMM_DEPTH;
  long across = (side < SD_GEMM_ACROSS ? side : SD_GEMM_ACROSS) + SD_GEMM_WIDEST;
  long down = (side < SD_GEMM_DOWN ? side : SD_GEMM_DOWN) + SD_GEMM_WIDEST;
  return item * (depth * (across + down) + SD_GEMM_WIDEST) + SD_GEMM_LINE;
}
#endif
