// Tells ThreadSanitizer of two locks that it does not know, so that it reports none of what they guard. Preloaded by
// .ci/sanitize.
//
// - Synchronization.Mutex: when another thread has it, the Swift library waits for it and the kernel hands it over
//   (futex(2), FUTEX_LOCK_PI). That library is not compiled with ThreadSanitizer, which so does not see the order of
//   the two threads.
// - The write turn: an open-file-description lock (fcntl(2)), which orders threads of one process like any other lock.
//
// In a program without ThreadSanitizer all this does nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

extern void __tsan_acquire(void *place) __attribute__((weak));
extern void __tsan_release(void *place) __attribute__((weak));

static void acquire(void *place) {
  if (__tsan_acquire) __tsan_acquire(place);
}

static void release(void *place) {
  if (__tsan_release) __tsan_release(place);
}

// The slow ways of Synchronization.Mutex, by the names that Swift gives them: `_lockSlow`, `_tryLockSlow` and
// `_unlockSlow`. The fast ways are compiled into the program, where ThreadSanitizer sees them.
#define MUTEX(name) __asm__("$s15Synchronization12_MutexHandleV" name)
#define SELF __attribute__((swift_context)) void *self

typedef __attribute__((swiftcall)) void (*lock_function)(uint32_t thread, SELF);
typedef __attribute__((swiftcall)) bool (*try_function)(SELF);
typedef __attribute__((swiftcall)) void (*unlock_function)(SELF);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) MUTEX("9_lockSlowyys6UInt32VF");
__attribute__((swiftcall)) bool try_lock_slow(SELF) MUTEX("12_tryLockSlowSbyF");
__attribute__((swiftcall)) void unlock_slow(SELF) MUTEX("11_unlockSlowyyF");

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) {
  static lock_function next;
  if (!next) next = (lock_function)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
  next(thread, self);
  acquire(self);
}

__attribute__((swiftcall)) bool try_lock_slow(SELF) {
  static try_function next;
  if (!next) next = (try_function)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
  bool is_locked = next(self);
  if (is_locked) acquire(self);
  return is_locked;
}

__attribute__((swiftcall)) void unlock_slow(SELF) {
  static unlock_function next;
  if (!next) next = (unlock_function)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
  release(self);
  next(self);
}

// A place in memory that stands for a part of a file, whatever descriptor it is locked through. Two parts that meet in
// one place only seem to be ordered.
static void *place_of(int descriptor, const struct flock *lock) {
  static char places[1 << 16];
  struct stat status;
  int before = errno;
  uint64_t key = fstat(descriptor, &status) == 0 ? status.st_dev * 31 + status.st_ino : 0;
  errno = before;
  key = (key * 31 + (uint64_t)lock->l_start) * 0x9E3779B97F4A7C15u;
  // ThreadSanitizer keeps one clock for eight bytes.
  return &places[(key >> 48) & ~(uint64_t)7];
}

int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  static int (*next)(int, int, ...);
  if (!next) next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
  const struct flock *lock = command == F_OFD_SETLK || command == F_OFD_SETLKW ? argument : 0;
  if (lock && lock->l_type == F_UNLCK) release(place_of(descriptor, lock));
  int result = next(descriptor, command, argument);
  if (lock && result == 0 && lock->l_type != F_UNLCK) acquire(place_of(descriptor, lock));
  return result;
}
