/* Copies of n rows of few elements at listed positions, `pace` bytes from one to the next, of samples `step` bytes apart, one
   at a time, by vectors of up to SD_WIDE bytes; tells whether rows are so short. tile.h includes this for each instruction
   set. */

#define NAME_(name, count) name##_##count
#define NAME__(name, count) NAME_(name, count)
#define NAME(name) NAME__(name, SD_WIDE)
typedef double NAME(sd_widest) __attribute__((vector_size(SD_WIDE), aligned(1), may_alias));

static int NAME(sd_copy_listed)(char *to, const char *from, long step, long pace, const long *listed, long n, long row) {
#define SD_ROWS_OF(bytes)                                                                                     \
  case bytes:                                                                                                 \
    for (long k = 0; k < n; k++, to += bytes) {                                                               \
      const char *at = from + k * step + pace * listed[2 * k];                                                \
      if (bytes >= SD_LINE && k + SD_LISTED_SOON < n) {                                                       \
        const char *soon = from + (k + SD_LISTED_SOON) * step + pace * listed[2 * (k + SD_LISTED_SOON)];      \
        for (int line = 0; line < bytes; line += SD_LINE) __builtin_prefetch(soon + line);                    \
      }                                                                                                       \
      for (int v = 0; v < bytes / SD_WIDE; v++) ((NAME(sd_widest) *)to)[v] = ((const NAME(sd_widest) *)at)[v]; \
      memcpy(to + bytes / SD_WIDE * SD_WIDE, at + bytes / SD_WIDE * SD_WIDE, bytes % SD_WIDE);                \
    }                                                                                                         \
    return 1;
  switch (row) {
    SD_ROWS_OF(16) SD_ROWS_OF(24) SD_ROWS_OF(32) SD_ROWS_OF(40) SD_ROWS_OF(48) SD_ROWS_OF(64) SD_ROWS_OF(80)
    SD_ROWS_OF(96) SD_ROWS_OF(128)
    default: return 0;
  }
#undef SD_ROWS_OF
}
#undef NAME
#undef NAME__
#undef NAME_
