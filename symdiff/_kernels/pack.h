/* Between NumPy's arrays and a generated kernel, which takes rows of neighbouring doubles and whole
   vectors of samples only. Arrays that are so already are read where they are. Others (strided
   samples, float32) are packed tile by tile into a buffer that stays in the cache; so are the last
   samples of a batch, padded with copies of the last one. A sample's bits do not depend on any of it:
   each lane computes from its own sample alone.

   Sums follow one order whatever the number of threads or calls: within each 1024 samples, lane by
   lane and then over the lanes; the sums of 1024 in pairs, pairs of pairs, and so on. */

#include <stdlib.h>
#include <string.h>

typedef long (*sd_kernel)(long begin, long end, const char *const *in, const long *si, char *const *out,
                          const long *so, void *w, void *const *fn, long *which);

enum { SD_BLOCK = 1024, SD_BUFFER = 1 << 17, SD_VECTOR = 64 };

typedef struct {
  char *data;
  long stride;         /* bytes from one sample to the next; 0 without a batch axis */
  long size;           /* elements of one sample */
  const long *offsets; /* bytes from a sample to each element, or null where they are neighbouring doubles */
  int single;          /* elements are float32 */
} sd_port;

typedef struct {
  sd_kernel kernel;
  void *const *functions;
  long lanes, workspace; /* workspace in vectors */
  int inputs, outputs, reduce;
  sd_port *ports; /* inputs, then outputs */
} sd_call;

/* What a call needs besides its arrays; one allocation, so that calls share nothing. */
typedef struct {
  const char **in;
  char **out, **buffer, *work, *sum, *rest;
  double *levels;
  long *stride, tile, total;
} sd_room;

static long sd_padded(long bytes) { return (bytes + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR; }

/* One element of a packed sample; the compiler sees the test leave the loop. */
static void sd_pack(const sd_port *p, long first, long count, long rows, double *to) {
  for (long i = 0; i < rows; i++, to += p->size) {
    const char *from = p->data + (first + (i < count ? i : count - 1)) * p->stride;
    if (!p->offsets)
      memcpy(to, from, (size_t)p->size * 8);
    else if (p->single)
      for (long e = 0; e < p->size; e++) to[e] = *(const float *)(from + p->offsets[e]);
    else
      for (long e = 0; e < p->size; e++) to[e] = *(const double *)(from + p->offsets[e]);
  }
}

static void sd_unpack(const sd_port *p, long first, long count, const double *from) {
  for (long i = 0; i < count; i++, from += p->size) {
    char *to = p->data + (first + i) * p->stride;
    if (!p->offsets)
      memcpy(to, from, (size_t)p->size * 8);
    else if (p->single)
      for (long e = 0; e < p->size; e++) *(float *)(to + p->offsets[e]) = (float)from[e];
    else
      for (long e = 0; e < p->size; e++) *(double *)(to + p->offsets[e]) = from[e];
  }
}

/* Run samples first .. first + count: a multiple of the lanes, or fewer than them. */
static long sd_tile(const sd_call *c, const sd_room *r, long first, long count, char *sum, long *which) {
  long rows = (count + c->lanes - 1) / c->lanes * c->lanes, failed;
  int ports = c->inputs + (c->reduce ? 0 : c->outputs);
  for (int p = 0; p < ports; p++) {
    const sd_port *port = c->ports + p;
    int direct = !port->offsets && (rows == count || (p < c->inputs && (count == 1 || port->stride == 0)));
    char *at = direct ? port->data + first * port->stride : r->buffer[p];
    r->stride[p] = direct ? (rows == count ? port->stride : 0) : port->size * 8;
    if (p >= c->inputs) {
      r->out[p - c->inputs] = at;
      continue;
    }
    if (!direct) sd_pack(port, first, count, rows, (double *)at);
    r->in[p] = at;
  }
  if (c->reduce) r->out[0] = sum;
  failed = c->kernel(0, rows, r->in, r->stride, r->out, r->stride + c->inputs, r->work, c->functions, which);
  if (failed >= 0) return first + failed;
  for (int p = c->inputs; p < ports; p++)
    if (r->out[p - c->inputs] == r->buffer[p]) sd_unpack(c->ports + p, first, count, (const double *)r->buffer[p]);
  return -1;
}

static long sd_range(const sd_call *c, const sd_room *r, long begin, long end, long *which) {
  for (long i = begin; i < end;) {
    long count = end - i < r->tile ? end - i : r->tile, failed;
    if (count > c->lanes) count -= count % c->lanes;
    if ((failed = sd_tile(c, r, i, count, 0, which)) >= 0) return failed;
    i += count;
  }
  return -1;
}

/* Sum up to 1024 samples into to[total]. */
static long sd_block(const sd_call *c, const sd_room *r, long begin, long end, double *to, long *which) {
  double *sum = (double *)r->sum, *rest = (double *)r->rest;
  long lanes = c->lanes, failed;
  memset(sum, 0, (size_t)(r->total * lanes) * 8);
  for (long i = begin; i < end;) {
    long count = end - i < r->tile ? end - i : r->tile;
    if (count >= lanes) {
      count -= count % lanes;
      if ((failed = sd_tile(c, r, i, count, r->sum, which)) >= 0) return failed;
    } else { /* the padding's lanes are left out */
      memset(rest, 0, (size_t)(r->total * lanes) * 8);
      if ((failed = sd_tile(c, r, i, count, r->rest, which)) >= 0) return failed;
      for (long k = 0; k < r->total; k++)
        for (long l = 0; l < count; l++) sum[k * lanes + l] += rest[k * lanes + l];
    }
    i += count;
  }
  for (long k = 0; k < r->total; k++) {
    double *s = sum + k * lanes;
    for (long half = lanes / 2; half > 0; half /= 2)
      for (long l = 0; l < half; l++) s[l] += s[l + half];
    to[k] = s[0];
  }
  return -1;
}

/* Sum the samples 0 .. count into levels[0 .. total). */
static long sd_sum(const sd_call *c, const sd_room *r, long count, long *which) {
  long depth = 0, failed;
  memset(r->levels, 0, (size_t)r->total * 8);
  for (long block = 0; block * SD_BLOCK < count; block++) {
    long begin = block * SD_BLOCK, end = begin + SD_BLOCK < count ? begin + SD_BLOCK : count;
    if ((failed = sd_block(c, r, begin, end, r->levels + depth * r->total, which)) >= 0) return failed;
    depth++;
    /* as many pairs are complete as the number of blocks so far has factors of two */
    for (long pairs = block + 1; pairs % 2 == 0; pairs /= 2, depth--)
      for (long k = 0; k < r->total; k++)
        r->levels[(depth - 2) * r->total + k] += r->levels[(depth - 1) * r->total + k];
  }
  for (; depth > 1; depth--)
    for (long k = 0; k < r->total; k++)
      r->levels[(depth - 2) * r->total + k] += r->levels[(depth - 1) * r->total + k];
  return -1;
}

/* Run a whole batch. Returns the first failing sample, -1 for none, -2 without memory. */
static long sd_run(const sd_call *c, long count, long *which) {
  int ports = c->inputs + c->outputs, packed = 0;
  long widest = 1, bytes, levels = 2, failed = -1;
  char *memory, *next;
  sd_room r = {0};
  for (int p = 0; p < ports; p++) {
    widest += c->ports[p].size;
    packed |= c->ports[p].offsets && (p < c->inputs || !c->reduce);
    if (p >= c->inputs) r.total += c->ports[p].size;
  }
  for (long blocks = count / SD_BLOCK; blocks > 0; blocks /= 2) levels++;
  /* a power of two of samples, so that tiles divide the blocks of a sum */
  for (r.tile = SD_BLOCK; r.tile > c->lanes && r.tile * widest * 8 > SD_BUFFER;) r.tile /= 2;
  if (!packed && !c->reduce) r.tile = count > c->lanes ? count : c->lanes;

  bytes = sd_padded((long)sizeof(void *) * (ports + 1)) * 3 + sd_padded(8L * ports) + c->workspace * SD_VECTOR;
  if (c->reduce) bytes += 2 * sd_padded(r.total * c->lanes * 8) + sd_padded(levels * r.total * 8);
  for (int p = 0; p < ports; p++) bytes += sd_padded((c->ports[p].offsets ? r.tile : c->lanes) * c->ports[p].size * 8);
  memory = malloc((size_t)bytes + SD_VECTOR);
  if (!memory) return -2;
  next = (char *)(((size_t)memory + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR);
#define SD_TAKE(type, size) (type)next, next += sd_padded(size)
  r.in = SD_TAKE(const char **, (long)sizeof(void *) * (ports + 1));
  r.out = SD_TAKE(char **, (long)sizeof(void *) * (ports + 1));
  r.buffer = SD_TAKE(char **, (long)sizeof(void *) * (ports + 1));
  r.stride = SD_TAKE(long *, 8L * ports);
  r.work = SD_TAKE(char *, c->workspace * SD_VECTOR);
  if (c->reduce) {
    r.sum = SD_TAKE(char *, r.total * c->lanes * 8);
    r.rest = SD_TAKE(char *, r.total * c->lanes * 8);
    r.levels = SD_TAKE(double *, levels * r.total * 8);
  }
  for (int p = 0; p < ports; p++) {
    r.buffer[p] = SD_TAKE(char *, (c->ports[p].offsets ? r.tile : c->lanes) * c->ports[p].size * 8);
  }
#undef SD_TAKE
  if (!c->reduce) {
    failed = sd_range(c, &r, 0, count, which);
  } else if ((failed = sd_sum(c, &r, count, which)) < 0) {
    const double *from = r.levels;
    for (int p = c->inputs; p < ports; from += c->ports[p++].size) sd_unpack(c->ports + p, 0, 1, from);
  }
  free(memory);
  return failed;
}
