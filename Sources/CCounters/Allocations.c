// Counts allocations. An executable that links this file has its own malloc, which calls glibc's. Every library in the
// process uses it, because ld.so(8) searches the executable first. A count costs a few nanoseconds, and more where
// threads count at once, so it begins with the first call of `ccounters_allocations`: the test
// program links this file too, and does not call it.

#include "CCounters.h"

#include <errno.h>
#include <stddef.h>

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif

static unsigned long count;
static int counts;

unsigned long ccounters_allocations(void) {
  __atomic_store_n(&counts, 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static inline void count_one(void) {
  if (__atomic_load_n(&counts, __ATOMIC_RELAXED)) __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size) {
  count_one();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count_one();
  return __libc_calloc(number, size);
}

void *realloc(void *place, size_t size) {
  count_one();
  return __libc_realloc(place, size);
}

void *memalign(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  *place = memalign(alignment, size);
  return *place == NULL ? ENOMEM : 0;
}

#endif
