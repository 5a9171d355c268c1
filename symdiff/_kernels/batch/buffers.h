/* Memory of results, kept for the next ones when it is given up. */

#ifndef SD_MEMORY_H
#define SD_MEMORY_H
#include <numpy/ndarraytypes.h>
#include <stdlib.h>
#include <string.h>

/* Memory of large results, kept for the next ones when it is given up.

   The system clears every page that it gives, which takes longer than most kernels take to fill it: a gradient of
   57 MB is computed in 3.5 ms, and in 8 ms where its memory is new. NumPy gives memory back with the array that
   held it; here some of it stays, for the next result of about its length. What was given up last is used again
   soon; what lies behind that is marked as free to be taken by whoever needs it. Arrays of this memory are like any
   other, by NumPy's own protocol for allocators (NEP 49).

   Where arrays begin within their pages decides how fast they are read and written together: a processor takes a
   load for one of what was just stored if both are equally far into a page (4 kB aliasing), and its first cache has
   place for twelve such lines at most. NumPy's large arrays begin SD_HEAD bytes into a page. So do these, as far
   within a line of the cache as inputs are, but each a few lines further than the one before: 17 results of a call
   are computed in half the time. */

#if defined __unix__ || defined __APPLE__
#include <sys/mman.h>
#include <unistd.h>
#define SD_KEEPS 1

/* Bytes before an array's, bytes from one place where arrays begin to the next, bytes of a page, of the pages large
   blocks are made of, and of the blocks that are not marked. */
enum { SD_HEAD = 16, SD_PLACE = 256, SD_PAGE = 4096, SD_LARGE_PAGE = 1 << 21, SD_RECENT = 1 << 26 };
/* Lengths of blocks come in four steps for each power of two from a page on. */
enum { SD_PAGE_BITS = 12, SD_LENGTHS = 4 * (64 - SD_PAGE_BITS) };

/* What a block begins with. The first page is never marked; while the block is given out, the array may begin
   behind `place`. */
typedef struct sd_block sd_block;
struct sd_block {
  size_t bytes; /* all of the block, this head included */
  int length;   /* number of its length */
  int place;    /* where its arrays begin */
  int marked;
  sd_block *older, *newer; /* among all that are kept */
  sd_block *below, *above; /* among those of its length */
};

/* Kept blocks. Arrays are made and given up under Python's lock, where it has one. */
static struct {
  char locked;
  size_t bytes, most, recent; /* kept, kept at most, not marked */
  size_t idle;                /* of these kept at most, what the memory of small results keeps */
  sd_block *oldest, *newest, *unmarked; /* the oldest that is not marked */
  sd_block *tops[SD_LENGTHS]; /* of each length, the one given up last */
  unsigned blocks; /* that were made so far */
} sd_kept;

static void sd_lock_kept(void) {
  while (__atomic_test_and_set(&sd_kept.locked, __ATOMIC_ACQUIRE)) {
  }
}

static void sd_unlock_kept(void) { __atomic_clear(&sd_kept.locked, __ATOMIC_RELEASE); }

/* Return the number of the least length of at least so many bytes, and the length. */
static int sd_block_length(size_t size, size_t *bytes) {
  int bits;
  size_t quarter, whole;
  *bytes = SD_PAGE;
  if (size <= SD_PAGE) return 0;
  bits = 63 - __builtin_clzll((unsigned long long)size - 1);
  whole = (size_t)1 << bits, quarter = whole >> 2;
  *bytes = (size + quarter - 1) / quarter * quarter;
  return (bits - SD_PAGE_BITS) * 4 + (int)((*bytes - whole) / quarter);
}

static void sd_take_out(sd_block *b) {
  sd_kept.bytes -= b->bytes;
  if (!b->marked) sd_kept.recent -= b->bytes;
  if (sd_kept.unmarked == b) sd_kept.unmarked = b->newer;
  *(b->older ? &b->older->newer : &sd_kept.oldest) = b->newer;
  *(b->newer ? &b->newer->older : &sd_kept.newest) = b->older;
  *(b->above ? &b->above->below : &sd_kept.tops[b->length]) = b->below;
  if (b->below) b->below->above = b->above;
}

static void sd_put_in(sd_block *b) {
  b->marked = 0;
  b->newer = b->above = 0;
  b->older = sd_kept.newest;
  b->below = sd_kept.tops[b->length];
  *(b->older ? &b->older->newer : &sd_kept.oldest) = b;
  if (b->below) b->below->above = b;
  sd_kept.newest = sd_kept.tops[b->length] = b;
  if (!sd_kept.unmarked) sd_kept.unmarked = b;
  sd_kept.bytes += b->bytes;
  sd_kept.recent += b->bytes;
}

/* Mark the oldest blocks until few are not; all but the page of the head, or the large one that it is in: of a large
   page of which a part is free, the rest becomes small ones. */
static void sd_mark(void) {
  while (sd_kept.recent > SD_RECENT) {
    sd_block *b = sd_kept.unmarked;
#ifdef MADV_FREE
    size_t first = b->bytes < 2 * SD_LARGE_PAGE ? (size_t)getpagesize() : SD_LARGE_PAGE;
    madvise((char *)b + first, b->bytes - first, MADV_FREE);
#endif
    b->marked = 1;
    sd_kept.recent -= b->bytes;
    sd_kept.unmarked = b->newer;
  }
}

/* Give a block back. Where a process has as many mappings as it may, no part of one can be unmapped: the memory goes,
   its addresses stay. */
static void sd_unmap(sd_block *b) {
  size_t bytes = b->bytes;
  if (munmap(b, bytes)) madvise(b, bytes, MADV_DONTNEED);
}

/* Give back the oldest blocks until at most so many bytes are kept. */
static void sd_give_back(size_t most) {
  while (sd_kept.bytes > most) {
    sd_block *b = sd_kept.oldest;
    sd_take_out(b);
    sd_unmap(b);
  }
}

/* Keep up to so many bytes from now on. */
static void sd_keep(size_t most) {
  sd_lock_kept();
  sd_kept.most = most;
  sd_give_back(most);
  sd_unlock_kept();
}

static size_t sd_kept_bytes(void) { return sd_kept.bytes + sd_kept.idle; }

/* Return a new block, large ones at multiples of a large page; null where the system has none. */
static sd_block *sd_map(size_t bytes) {
  size_t spare = bytes < 2 * SD_LARGE_PAGE ? 0 : SD_LARGE_PAGE, before;
  char *from = mmap(0, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (from == MAP_FAILED) return 0;
  if (spare) {
    before = (size_t)-(size_t)from % SD_LARGE_PAGE;
    if (before) munmap(from, before);
    if (spare > before) munmap(from + before + bytes, spare - before);
    from += before;
#ifdef MADV_HUGEPAGE
    madvise(from, bytes, MADV_HUGEPAGE);
#endif
  }
  return (sd_block *)from;
}

static void *sd_result_malloc(void *context, size_t size) {
  size_t bytes;
  unsigned number;
  int length;
  sd_block *block;
  (void)context;
  if (size > (size_t)-1 / 4) return 0;
  length = sd_block_length(size, &bytes);
  sd_lock_kept();
  if ((block = sd_kept.tops[length])) sd_take_out(block);
  number = sd_kept.blocks += !block;
  sd_unlock_kept();
  if (!block) {
    bytes = (bytes + 2 * SD_PAGE - 1) / SD_PAGE * SD_PAGE; /* a page more, for the places */
    if (!(block = sd_map(bytes))) {
      sd_lock_kept();
      sd_give_back(0);
      sd_unlock_kept();
      if (!(block = sd_map(bytes))) return 0;
    }
    block->bytes = bytes;
    block->length = length;
    block->place = SD_HEAD + (int)(number * SD_PLACE % SD_PAGE);
  }
  return (char *)block + block->place;
}

static void sd_result_free(void *context, void *array, size_t size) {
  sd_block *block = (sd_block *)((size_t)array / SD_PAGE * SD_PAGE);
  (void)context, (void)size;
  if (!array) return;
  sd_lock_kept();
  if (block->bytes + sd_kept.idle > sd_kept.most)
    sd_unmap(block);
  else {
    sd_give_back(sd_kept.most - sd_kept.idle - block->bytes);
    sd_put_in(block);
    sd_mark();
  }
  sd_unlock_kept();
}

static void *sd_result_calloc(void *context, size_t count, size_t size) {
  void *array = size && count > (size_t)-1 / size ? 0 : sd_result_malloc(context, count * size);
  return array ? memset(array, 0, count * size) : 0;
}

static void *sd_result_realloc(void *context, void *array, size_t size) {
  sd_block *block = (sd_block *)((size_t)array / SD_PAGE * SD_PAGE);
  void *moved = sd_result_malloc(context, size);
  if (!array || !moved) return moved;
  size_t old = block->bytes - (size_t)block->place;
  memcpy(moved, array, old < size ? old : size);
  sd_result_free(context, array, old);
  return moved;
}

static PyDataMem_Handler sd_result_memory = {
    "symdiff", 1, {0, sd_result_malloc, sd_result_calloc, sd_result_realloc, sd_result_free}};
#else
#define SD_KEEPS 0
static PyDataMem_Handler sd_result_memory;
static void sd_keep(size_t most) { (void)most; }
static size_t sd_kept_bytes(void) { return 0; }
#endif

/* Memory of small results of calls that have many of them.

   NumPy keeps seven pieces of memory of each length up to 1 kB; what it takes beyond these is malloc's, and a call of a
   hundred results of few samples spends as much time there as on what it computes. Here memory of one length is cut from a
   slab, one cell after the other, and a cell given up is the next one given out. Cells begin at lines of the cache, so
   that no vector of samples is written across two of them, and take an odd number of lines: a hundred columns that are a
   power of two apart would share few places of the first cache. A slab whose cells are all given up serves another
   length; a few of these are kept. Arrays of such memory are like any other, by NumPy's own protocol for allocators
   (NEP 49). */

#if SD_KEEPS
/* Bytes of a slab, at a multiple of which it begins; of its head and of a line; of the longest cell; and slabs that are kept
   without a cell in use, which are idle. */
enum { SD_SLAB = 1 << 21, SD_CELL_LINE = 64, SD_CELL_MOST = 1 << 17, SD_IDLE = 64 };
enum { SD_CELL_LENGTHS = SD_CELL_MOST / SD_CELL_LINE / 2 + 1 };

typedef struct sd_slab sd_slab;
struct sd_slab {
  sd_slab *before, *after; /* among those of its length that have room, or idle ones of no length */
  char *given_up;          /* the cell given up last, which holds where the one before it is */
  size_t used, cell;       /* bytes from the slab's beginning that were ever used, and of a cell */
  size_t bytes;
  int alive, has_room; /* cells in use, and whether it is in a list */
};

static struct {
  char locked;
  sd_slab *with_room[SD_CELL_LENGTHS], *free;
  unsigned slabs; /* that were begun so far */
} sd_cells;

static void sd_lock_cells(void) {
  while (__atomic_test_and_set(&sd_cells.locked, __ATOMIC_ACQUIRE)) {
  }
}

static void sd_unlock_cells(void) { __atomic_clear(&sd_cells.locked, __ATOMIC_RELEASE); }

/* Bytes of a cell for an array: an odd number of lines. */
static size_t sd_cell_bytes(size_t size) {
  return (((size + SD_CELL_LINE - 1) / SD_CELL_LINE) | 1) * SD_CELL_LINE;
}

static sd_slab **sd_slabs_of(size_t cell) { return sd_cells.with_room + cell / SD_CELL_LINE / 2; }

/* Return new memory that begins at a multiple of a slab's bytes; null where the system has none. */
static sd_slab *sd_map_slab(size_t bytes) {
  char *from = mmap(0, bytes + SD_SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t before;
  if (from == MAP_FAILED) return 0;
  before = (size_t)-(size_t)from % SD_SLAB;
  if (before) munmap(from, before);
  if (before < SD_SLAB) munmap(from + before + bytes, SD_SLAB - before);
  return (sd_slab *)(from + before);
}

static void sd_unmap_slab(sd_slab *s) {
  size_t bytes = s->bytes;
  if (munmap(s, bytes)) madvise(s, bytes, MADV_DONTNEED);
}

static void sd_list_slab(sd_slab *s, sd_slab **first) {
  s->before = 0;
  s->after = *first;
  if (*first) (*first)->before = s;
  *first = s;
  s->has_room = 1;
}

static void sd_unlist_slab(sd_slab *s, sd_slab **first) {
  *(s->before ? &s->before->after : first) = s->after;
  if (s->after) s->after->before = s->before;
  s->has_room = 0;
}

/* Whether fewer slabs are to be idle: of what results may keep, those leave the rest to larger memory. */
static int sd_too_idle(void) {
  size_t most = sd_kept.most > sd_kept.bytes ? sd_kept.most - sd_kept.bytes : 0;
  return sd_kept.idle > most || sd_kept.idle > (size_t)SD_IDLE * SD_SLAB;
}

/* Give back idle slabs of one list until as few are left as may be. */
static void sd_give_back_slabs(sd_slab **first) {
  for (sd_slab *s = *first, *next; s && sd_too_idle(); s = next) {
    next = s->after;
    if (s->alive) continue;
    sd_unlist_slab(s, first);
    sd_unmap_slab(s);
    sd_kept.idle -= SD_SLAB;
  }
}

/* Keep no more than results may from now on. */
static void sd_keep_cells(void) {
  sd_lock_cells();
  sd_give_back_slabs(&sd_cells.free);
  for (int k = 0; k < SD_CELL_LENGTHS; k++) sd_give_back_slabs(sd_cells.with_room + k);
  sd_unlock_cells();
}

/* Return a slab for cells of some length, in its list; null without memory. */
static sd_slab *sd_new_slab(size_t cell) {
  sd_slab *s = sd_cells.free;
  if (s)
    sd_unlist_slab(s, &sd_cells.free);
  else if ((s = sd_map_slab(SD_SLAB)))
    sd_kept.idle += SD_SLAB;
  else
    return 0;
#ifdef MADV_HUGEPAGE /* a hundred columns are more pages than a processor knows the places of at once */
  if (cell > SD_PAGE) madvise(s, SD_SLAB, MADV_HUGEPAGE);
#endif
  s->given_up = 0;
  s->used = SD_CELL_LINE * (1 + sd_cells.slabs++ % 4 * 16); /* the first cells of slabs are not all as far into a page */
  s->cell = cell;
  s->bytes = SD_SLAB;
  s->alive = 0;
  sd_list_slab(s, sd_slabs_of(cell));
  return s;
}

static void *sd_cell_malloc(void *context, size_t size) {
  size_t cell = sd_cell_bytes(size);
  sd_slab *s, **first;
  char *found = 0;
  (void)context;
  if (size > (size_t)-1 / 4) return 0;
  if (size > SD_CELL_MOST) { /* an array that became longer: a slab of its own */
    size_t bytes = (SD_CELL_LINE + size + SD_PAGE - 1) / SD_PAGE * SD_PAGE;
    if (!(s = sd_map_slab(bytes))) return 0;
    s->bytes = bytes, s->cell = 0;
    return (char *)s + SD_CELL_LINE;
  }
  first = sd_slabs_of(cell);
  sd_lock_cells();
  if ((s = *first) || (s = sd_new_slab(cell))) {
    if ((found = s->given_up))
      memcpy(&s->given_up, found, sizeof found);
    else
      found = (char *)s + s->used, s->used += cell;
    if (!s->alive++) sd_kept.idle -= SD_SLAB;
    if (!s->given_up && s->used + cell > SD_SLAB) sd_unlist_slab(s, first);
  }
  sd_unlock_cells();
  return found;
}

static void sd_cell_free(void *context, void *array, size_t size) {
  sd_slab *s = (sd_slab *)((size_t)array / SD_SLAB * SD_SLAB);
  (void)context, (void)size;
  if (!array) return;
  if (!s->cell) {
    sd_unmap_slab(s);
    return;
  }
  sd_lock_cells();
  memcpy(array, &s->given_up, sizeof s->given_up);
  s->given_up = array;
  if (!s->has_room) sd_list_slab(s, sd_slabs_of(s->cell));
  if (!--s->alive) {
    sd_slab **first = sd_slabs_of(s->cell);
    sd_kept.idle += SD_SLAB;
    if (sd_too_idle())
      sd_give_back_slabs(first);
    else if (s->before || s->after) { /* another of this length has room */
      sd_unlist_slab(s, first);
      sd_list_slab(s, &sd_cells.free);
    }
  }
  sd_unlock_cells();
}

static void *sd_cell_calloc(void *context, size_t count, size_t size) {
  void *array = size && count > (size_t)-1 / size ? 0 : sd_cell_malloc(context, count * size);
  return array ? memset(array, 0, count * size) : 0;
}

static void *sd_cell_realloc(void *context, void *array, size_t size) {
  sd_slab *s = (sd_slab *)((size_t)array / SD_SLAB * SD_SLAB);
  void *moved = sd_cell_malloc(context, size);
  if (!array || !moved) return moved;
  size_t old = s->cell ? s->cell : s->bytes - SD_CELL_LINE;
  memcpy(moved, array, old < size ? old : size);
  sd_cell_free(context, array, old);
  return moved;
}

static PyDataMem_Handler sd_cell_memory = {
    "symdiff_cells", 1, {0, sd_cell_malloc, sd_cell_calloc, sd_cell_realloc, sd_cell_free}};
#else
enum { SD_CELL_MOST = 0 };
static PyDataMem_Handler sd_cell_memory;
static void sd_keep_cells(void) {}
#endif
#endif
