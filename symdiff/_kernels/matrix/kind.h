/* The kernels of matrices for vectors of W float64: all that kernels.h includes once for each instruction set. Needs
   call.h, determinant.h and what ../machine/vectors.h needs. */

#include "../machine/vectors.h"
/* registers for tiles of 4 by 4 vectors */
#if X86 == 512 || defined __aarch64__
#define MANY 1
#else
#define MANY 0
#endif
#include "moves.h"
#define SPREAD 0
#include "tiles.h"
#include "cholesky.h"
#undef SPREAD
#undef LAY
#undef COEFFICIENT
#undef GET
#define SPREAD 1
#include "tiles.h"
#include "cholesky.h"
#undef SPREAD
#undef LAY
#undef COEFFICIENT
#undef GET
#include "eliminate.h"
#include "symmetric_eigen.h"
#include "batch.h"
#undef MANY
#include "../machine/undefine.h"
