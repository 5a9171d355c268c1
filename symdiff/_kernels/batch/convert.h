/* Copies of n neighbours with a change of type, SD_CONVERTED at a time: tile.h includes this for each instruction set. */

#define NAME_(name, count) name##_##count
#define NAME__(name, count) NAME_(name, count)
#define NAME(name) NAME__(name, SD_CONVERTED)
#if defined __clang__ || (defined __GNUC__ && __GNUC__ >= 9)
typedef float NAME(sd_floats) __attribute__((vector_size(4 * SD_CONVERTED), aligned(1), may_alias));
typedef double NAME(sd_doubles) __attribute__((vector_size(8 * SD_CONVERTED), aligned(1), may_alias));
#define SD_TOGETHER(FROM, TO) \
  for (; n >= SD_CONVERTED; n -= SD_CONVERTED, from += sizeof(FROM), to += sizeof(TO)) \
    *(TO *)to = __builtin_convertvector(*(const FROM *)from, TO);
#else
#define SD_TOGETHER(FROM, TO)
#endif

static void NAME(sd_widen)(const char *from, char *to, long n) {
  SD_TOGETHER(NAME(sd_floats), NAME(sd_doubles))
  for (; n > 0; n--, from += sizeof(float), to += sizeof(double)) {
    float x;
    double y;
    memcpy(&x, from, sizeof x);
    y = x;
    memcpy(to, &y, sizeof y);
  }
}

static void NAME(sd_narrow)(const char *from, char *to, long n) {
  SD_TOGETHER(NAME(sd_doubles), NAME(sd_floats))
  for (; n > 0; n--, from += sizeof(double), to += sizeof(float)) {
    double x;
    float y;
    memcpy(&x, from, sizeof x);
    y = (float)x;
    memcpy(to, &y, sizeof y);
  }
}
#undef SD_TOGETHER
#undef NAME
#undef NAME__
#undef NAME_
