// Waiting for a lock of a file for a limited time, which fcntl(2) does not offer.
#ifndef WORKERPOOL_CTIMEDLOCK_H
#define WORKERPOOL_CTIMEDLOCK_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Open-file-description locks, which fcntl.h shows under _GNU_SOURCE only. Source: fcntl(2), <asm-generic/fcntl.h>.
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#endif
#ifndef F_OFD_SETLKW
#define F_OFD_SETLKW 38
#endif

static inline void csystem_ignore(int signal) { (void)signal; }

static inline int64_t csystem_monotonic_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// The thread's timer for csystem_interrupt_at, plus one: making and deleting one costs more than the wait for most
// locks. It goes with its thread.
// With a value, since Swift's compiler emits no tentative definition.
static pthread_key_t csystem_timer_key = 0;
static pthread_once_t csystem_timer_once = PTHREAD_ONCE_INIT;

static inline void csystem_delete_timer(void *timer) { syscall(SYS_timer_delete, (int)((intptr_t)timer - 1)); }
static inline void csystem_make_timer_key(void) { pthread_key_create(&csystem_timer_key, csystem_delete_timer); }

// This thread's timer, or -1 with errno. Its signal interrupts the thread's system calls.
//
// The signal is SIGURG, which the kernel ignores by default, so that nobody else uses it for anything that matters. A
// handler without SA_RESTART is what makes it end a call.
static inline int csystem_thread_timer(void) {
  // The kernel's own layout: <asm-generic/siginfo.h>. SIGEV_THREAD_ID is 4.
  struct { union sigval value; int signal, notify; int thread; int unused[11]; } event;
  _Static_assert(sizeof(event) == 64, "the size of the kernel's struct sigevent");
  struct sigaction action;
  int timer;
  pthread_once(&csystem_timer_once, csystem_make_timer_key);
  intptr_t known = (intptr_t)pthread_getspecific(csystem_timer_key);
  if (known != 0) return (int)(known - 1);
  memset(&event, 0, sizeof(event));
  memset(&action, 0, sizeof(action));
  action.sa_handler = csystem_ignore;
  if (sigaction(SIGURG, &action, NULL) != 0) return -1;
  event.signal = SIGURG;
  event.notify = 4;
  event.thread = (int)syscall(SYS_gettid);
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return -1;
  if (pthread_setspecific(csystem_timer_key, (void *)((intptr_t)timer + 1)) != 0) {
    syscall(SYS_timer_delete, timer);
    errno = ENOMEM;
    return -1;
  }
  return timer;
}

// Lets the timer interrupt this thread's system call at a time, and every 10 ms after it: a signal that comes just
// before the call is lost. Time 0 ends that. Returns 0, or -1 with errno.
static inline int csystem_interrupt_at(int timer, int64_t time) {
  struct itimerspec when;
  memset(&when, 0, sizeof(when));
  when.it_value.tv_sec = time / 1000000000;
  when.it_value.tv_nsec = time % 1000000000;
  when.it_interval.tv_nsec = time == 0 ? 0 : 10000000;
  return (int)syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &when, NULL);
}

// Locks one byte of a file for the owner of the descriptor. Returns 0, or -1 with errno: EAGAIN if another has it until
// the time, in nanoseconds of CLOCK_MONOTONIC; negative for no limit.
static inline int csystem_lock_byte(int descriptor, int64_t byte, int64_t until) {
  struct flock lock;
  memset(&lock, 0, sizeof(lock));
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int result, error, timer;
  if (until < 0) {
    do result = fcntl(descriptor, F_OFD_SETLKW, &lock); while (result == -1 && errno == EINTR);
    return result;
  }
  result = fcntl(descriptor, F_OFD_SETLK, &lock);
  if (result == 0 || (errno != EAGAIN && errno != EACCES)) return result;
  if (csystem_monotonic_nanoseconds() >= until) {
    errno = EAGAIN;
    return -1;
  }
  sigset_t urgent, before;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  timer = csystem_thread_timer();
  if (timer < 0 || csystem_interrupt_at(timer, until) != 0) return -1;
  pthread_sigmask(SIG_UNBLOCK, &urgent, &before);
  do result = fcntl(descriptor, F_OFD_SETLKW, &lock);
  while (result == -1 && errno == EINTR && csystem_monotonic_nanoseconds() < until);
  error = errno == EINTR ? EAGAIN : errno;
  csystem_interrupt_at(timer, 0);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return result;
}

#endif
