/* The machine of interpreter.h for vectors of W numbers, float32 if SINGLE and float64 if not: functions that
   run bytecode, for tiles of eight vectors and of one. Included once for each kind of vector, under the options of an
   instruction set that has such registers; all names end in W or are undefined at the end.

   Needs interpreter.h, which includes it, vectors.h, tiles.h and handlers.h. */

#include "vectors.h"

#if X86 >= 256
#define APART(a) __asm__ volatile("" : : "r"(a) : "memory"); __builtin_ia32_vzeroupper();
#else
#define APART(a)
#endif

#if !SINGLE && W >= 4
#include "../functions/lanes.h"
#include "../functions/gammas.h"
#include "../functions/normals.h"
#endif

#define VECTOR(p, g) (((const V *)(p))[g])

#define TILE 1
#include "tiles.h"
#define TILE 8
#include "tiles.h"

#include "undefine.h"
