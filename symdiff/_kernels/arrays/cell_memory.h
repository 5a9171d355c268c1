/* Memory of small results of calls that have many of them.

   NumPy keeps seven pieces of memory of each length up to 1 kB; what it takes beyond these is malloc's, and a call of a
   hundred results of few samples spends as much time there as on what it computes. Here memory of one length is cut from a
   slab, one cell after the other, and a cell given up is the next one given out. Cells begin at lines of the cache, so
   that no vector of samples is written across two of them, and take an odd number of lines: a hundred columns that are a
   power of two apart would share few places of the first cache. A slab whose cells are all given up serves another
   length; a few of these are kept. Arrays of such memory are like any other, by NumPy's own protocol for allocators
   (NEP 49).

   results.pxd asks for it. Needs result_memory.h. */

#ifndef SD_CELL_MEMORY_H
#define SD_CELL_MEMORY_H
#include "result_memory.h"

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
