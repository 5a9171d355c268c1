/* Memory of large results, kept for the next ones when it is given up.

   The system clears every page that it gives, which takes longer than most kernels take to fill it: a gradient of
   57 MB is computed in 3.5 ms, and in 8 ms where its memory is new. NumPy gives memory back with the array that
   held it; here some of it stays, and is marked as free to be taken by whoever needs it. Arrays of this memory are
   like any other, by NumPy's own protocol for allocators (NEP 49), and begin at lines of the cache.

   result_memory.pxd asks for it. Needs NumPy's headers and mmap; elsewhere NumPy's own memory is used. */

#ifndef SD_RESULT_MEMORY_H
#define SD_RESULT_MEMORY_H
#include <numpy/ndarraytypes.h>
#include <stdlib.h>
#include <string.h>

#if defined __unix__ || defined __APPLE__
#include <sys/mman.h>
#include <unistd.h>
#define SD_KEEPS 1

/* Bytes before an array's, blocks that are kept at most, and bytes of the pages large blocks are made of. */
enum { SD_HEAD = 64, SD_BLOCKS = 8, SD_PAGE = 4096, SD_LARGE_PAGE = 1 << 21 };

typedef struct {
  size_t bytes; /* all of the block, this head included */
} sd_memory;

/* Kept blocks, oldest first. Arrays are made and given up under Python's lock, where it has one. */
static struct {
  char locked;
  int count;
  size_t bytes, most;
  sd_memory *blocks[SD_BLOCKS];
} sd_kept;

static void sd_lock_kept(void) {
  while (__atomic_test_and_set(&sd_kept.locked, __ATOMIC_ACQUIRE)) {
  }
}

static void sd_unlock_kept(void) { __atomic_clear(&sd_kept.locked, __ATOMIC_RELEASE); }

static sd_memory *sd_take_out(int k) {
  sd_memory *block = sd_kept.blocks[k];
  sd_kept.bytes -= block->bytes;
  sd_kept.count--;
  memmove(sd_kept.blocks + k, sd_kept.blocks + k + 1, (size_t)(sd_kept.count - k) * sizeof block);
  return block;
}

/* Give back the oldest blocks until at most so many bytes are kept. */
static void sd_give_back(size_t most) {
  while (sd_kept.count && (sd_kept.bytes > most || sd_kept.count > SD_BLOCKS - 1)) {
    sd_memory *block = sd_take_out(0);
    munmap(block, block->bytes);
  }
}

/* Keep up to so many bytes from now on. */
static void sd_keep(size_t most) {
  sd_lock_kept();
  sd_kept.most = most;
  sd_give_back(most);
  sd_unlock_kept();
}

static size_t sd_kept_bytes(void) { return sd_kept.bytes; }

static void *sd_result_malloc(void *context, size_t size) {
  size_t page = size < 2 * SD_LARGE_PAGE ? SD_PAGE : SD_LARGE_PAGE, bytes;
  int best = -1;
  sd_memory *block = 0;
  (void)context;
  if (size > (size_t)-1 / 2) return 0;
  bytes = (size + SD_HEAD + page - 1) / page * page;
  sd_lock_kept();
  for (int k = 0; k < sd_kept.count; k++) { /* the smallest that is hardly larger */
    size_t own = sd_kept.blocks[k]->bytes;
    if (own >= bytes && own / 5 <= bytes / 4 && (best < 0 || own < sd_kept.blocks[best]->bytes)) best = k;
  }
  if (best >= 0) block = sd_take_out(best);
  sd_unlock_kept();
  if (block) return (char *)block + SD_HEAD;
  for (int again = 0; again < 2; again++) {
    /* large pages begin at multiples of their size */
    size_t spare = page > SD_PAGE ? page : 0;
    char *from = mmap(0, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from != MAP_FAILED) {
      size_t before = spare ? (size_t)-(size_t)from % page : 0;
      if (before) munmap(from, before);
      if (spare > before) munmap(from + before + bytes, spare - before);
      block = (sd_memory *)(from + before);
#ifdef MADV_HUGEPAGE
      if (spare) madvise(block, bytes, MADV_HUGEPAGE);
#endif
      block->bytes = bytes;
      return (char *)block + SD_HEAD;
    }
    sd_lock_kept();
    sd_give_back(0);
    sd_unlock_kept();
  }
  return 0;
}

static void sd_result_free(void *context, void *array, size_t size) {
  sd_memory *block;
  (void)context, (void)size;
  if (!array) return;
  block = (sd_memory *)((char *)array - SD_HEAD);
  if (block->bytes > sd_kept.most) {
    munmap(block, block->bytes);
    return;
  }
#ifdef MADV_FREE
  /* whole large pages, but for that of the head: one of which a part is free would be taken apart */
  if (block->bytes >= 2 * SD_LARGE_PAGE)
    madvise((char *)block + SD_LARGE_PAGE, block->bytes - SD_LARGE_PAGE, MADV_FREE);
#endif
  sd_lock_kept();
  sd_give_back(sd_kept.most - block->bytes);
  sd_kept.blocks[sd_kept.count++] = block;
  sd_kept.bytes += block->bytes;
  sd_unlock_kept();
}

static void *sd_result_calloc(void *context, size_t count, size_t size) {
  void *array = size && count > (size_t)-1 / size ? 0 : sd_result_malloc(context, count * size);
  return array ? memset(array, 0, count * size) : 0;
}

static void *sd_result_realloc(void *context, void *array, size_t size) {
  void *moved;
  if (!array) return sd_result_malloc(context, size);
  if (!(moved = sd_result_malloc(context, size))) return 0;
  size_t old = ((sd_memory *)((char *)array - SD_HEAD))->bytes - SD_HEAD;
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
#endif
