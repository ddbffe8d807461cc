// What Glibc's Swift module leaves out: Linux system calls that the pool needs, behind small inline functions.
// Each returns what the call returns: a descriptor or a count, or -1 with errno set. Every descriptor made here is
// close-on-exec and, where that applies, non-blocking.
//
// _GNU_SOURCE must not be defined here: Glibc's module, which Dispatch uses, is built without it, and fd_set would
// differ.
#ifndef WORKERPOOL_CSYSTEM_H
#define WORKERPOOL_CSYSTEM_H

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "CConfinement.h"
#include "CStacks.h"
#include "CTimedLock.h"

// One readiness report of epoll, without its packed union.
struct csystem_readiness {
  uint32_t events;
  int32_t descriptor;
};

enum {
  CSYSTEM_READABLE = EPOLLIN,
  CSYSTEM_WRITABLE = EPOLLOUT,
  CSYSTEM_HANGUP = EPOLLHUP | EPOLLRDHUP | EPOLLERR,
};

static inline int csystem_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int csystem_epoll_control(int epoll, int operation, int descriptor, uint32_t events) {
  struct epoll_event event;
  event.events = events;
  event.data.u64 = 0;
  event.data.fd = descriptor;
  return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline int csystem_epoll_add(int epoll, int descriptor, uint32_t events) {
  return csystem_epoll_control(epoll, EPOLL_CTL_ADD, descriptor, events);
}

static inline int csystem_epoll_modify(int epoll, int descriptor, uint32_t events) {
  return csystem_epoll_control(epoll, EPOLL_CTL_MOD, descriptor, events);
}

static inline int csystem_epoll_remove(int epoll, int descriptor) {
  return csystem_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0);
}

// Waits until something is ready or `milliseconds` are over (-1: without end); fills at most `capacity` (64 or fewer)
// reports.
static inline int csystem_epoll_wait(int epoll, struct csystem_readiness *reports, int capacity, int milliseconds) {
  struct epoll_event events[64];
  int count = epoll_wait(epoll, events, capacity < 64 ? capacity : 64, milliseconds);
  for (int i = 0; i < count; i++) {
    reports[i].events = events[i].events;
    reports[i].descriptor = events[i].data.fd;
  }
  return count;
}

static inline int csystem_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int csystem_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

// Lets the timer fire once at that time of the monotonic clock; 0 disarms it.
static inline int csystem_timerfd_set(int timer, int64_t nanoseconds) {
  struct itimerspec at = {{0, 0}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, 0);
}

// A timer of the system's clock that becomes readable when that clock is set, also by the end of a suspension: reading
// fails with ECANCELED (TFD_TIMER_CANCEL_ON_SET, timerfd_create(2)). It is set to a time that does not come.
static inline int csystem_clock_watch(void) { return timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

static inline int csystem_clock_watch_arm(int timer) {
  struct itimerspec never = {{0, 0}, {INT64_C(1) << 33, 0}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, 0);
}

static inline int csystem_signalfd(const sigset_t *signals) {
  return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

// The number of the next pending signal, or -1 (EAGAIN: none is pending).
static inline int csystem_signalfd_read(int descriptor) {
  struct signalfd_siginfo info;
  ssize_t count = read(descriptor, &info, sizeof info);
  return count == sizeof info ? (int)info.ssi_signo : -1;
}

static inline int csystem_inotify(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

struct csystem_file_event {
  int watch;
  uint32_t mask;
  // The file's name in the directory that is watched, or null.
  const char *name;
};

// The next event of what was read from an inotify descriptor into `bytes`; moves `offset`, which begins at 0. Returns 0
// at the end.
static inline int csystem_next_file_event(
  const void *bytes, long count, long *offset, struct csystem_file_event *found) {
  struct inotify_event event;
  if (*offset + (long)sizeof event > count) return 0;
  const char *place = (const char *)bytes + *offset;
  __builtin_memcpy(&event, place, sizeof event);
  found->watch = event.wd;
  found->mask = event.mask;
  // The kernel ends names with zeros (inotify(7)).
  found->name = event.len > 0 ? place + sizeof event : 0;
  *offset += (long)sizeof event + event.len;
  return 1;
}

// pidfd_open(2): a descriptor that becomes readable when the process ends. Always close-on-exec.
// The first fields of struct statx. Source: statx(2), <linux/stat.h>, which has 256 bytes for them.
struct csystem_statx {
  uint32_t mask;
  uint32_t before_times[15];
  int64_t accessed[2];
  int64_t born_seconds;
  uint32_t born_nanoseconds;
  uint32_t rest[41];
};

// When the file of a descriptor was made, in nanoseconds since 1970; 0 where the file system does not say. Nothing that
// copies a file can set it.
static inline int64_t csystem_birth_time(int descriptor) {
  enum { EMPTY_PATH = 0x1000, BIRTH_TIME = 0x800 };
  struct csystem_statx status;
  if (syscall(SYS_statx, descriptor, "", EMPTY_PATH, BIRTH_TIME, &status) != 0 || !(status.mask & BIRTH_TIME)) return 0;
  return status.born_seconds * 1000000000LL + status.born_nanoseconds;
}

// Whether a file has another open descriptor, in any process: the kernel gives a lease for writing only where it has
// none. Also 1 where the file system gives no leases, or the file is another user's. Leases are shown under _GNU_SOURCE
// only. Source: fcntl(2), <linux/fcntl.h>.
static inline int csystem_is_open_elsewhere(int descriptor) {
  enum { SET_SIGNAL = 10, SET_LEASE = 1024 };
  // A process that opens the file during the lease makes the kernel send this one a signal: SIGIO by default, which
  // would end it. SIGURG is ignored by default.
  if (fcntl(descriptor, SET_SIGNAL, SIGURG) != 0 || fcntl(descriptor, SET_LEASE, F_WRLCK) != 0) return 1;
  fcntl(descriptor, SET_LEASE, F_UNLCK);
  return 0;
}

static inline int csystem_pidfd_open(pid_t pid) { return (int)syscall(434, pid, 0); }

static inline int csystem_accept(int listener) {
  return (int)syscall(SYS_accept4, listener, (void *)0, (void *)0, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static inline int csystem_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

static inline int csystem_unix_socketpair(int *pair) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static inline int csystem_pipe(int *pair) { return (int)syscall(SYS_pipe2, pair, O_CLOEXEC); }

// FIONREAD, ioctl(2): how many bytes can be read now from a pipe or a socket.
static inline int csystem_waiting_bytes(int descriptor, int *count) { return ioctl(descriptor, FIONREAD, count); }

static inline int csystem_set_nonblocking(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

struct csystem_credentials {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
};

// Where a file is: its device and inode, and the number of its mount, 0 on kernels that do not tell it (before 5.8).
struct csystem_mounted_file {
  uint32_t device_major;
  uint32_t device_minor;
  uint64_t inode;
  uint64_t mount;
};

// statx(2), whose structure sys/stat.h shows under _GNU_SOURCE only: the members' places are those of <linux/stat.h>.
static inline int csystem_find_mounted_file(const char *path, struct csystem_mounted_file *found) {
  unsigned char status[256];
  // AT_FDCWD; STATX_INO and STATX_MNT_ID
  if (syscall(SYS_statx, -100, path, 0, 0x100 | 0x1000, status) != 0) return -1;
  uint32_t mask;
  __builtin_memcpy(&mask, status, sizeof mask);
  __builtin_memcpy(&found->inode, status + 32, sizeof found->inode);
  __builtin_memcpy(&found->device_major, status + 136, sizeof found->device_major);
  __builtin_memcpy(&found->device_minor, status + 140, sizeof found->device_minor);
  __builtin_memcpy(&found->mount, status + 144, sizeof found->mount);
  if (!(mask & 0x1000)) found->mount = 0;
  return 0;
}

// SO_PEERCRED, unix(7): who was at the other end when the connection was made.
static inline int csystem_peer_credentials(int descriptor, struct csystem_credentials *credentials) {
  socklen_t size = sizeof *credentials;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, credentials, &size);
}

// gettid(2)
static inline pid_t csystem_thread_id(void) { return (pid_t)syscall(SYS_gettid); }

// PR_SET_NAME, prctl(2): what tools call the thread; the kernel keeps 15 bytes.
static inline void csystem_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// PR_SET_PDEATHSIG, prctl(2): the kernel sends `signal` when the thread that started this process ends.
static inline int csystem_signal_on_parent_death(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

// PR_SET_CHILD_SUBREAPER, prctl(2): orphaned descendants become children of this process.
static inline int csystem_become_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

// A program to start: what posix_spawn(3) cannot say, and what it can.
struct csystem_limit {
  int resource;
  uint64_t value;
};

// The number of the descriptor that a program gets beside its standard input, output and error.
enum { csystem_inherited = 3 };

struct csystem_program {
  const char *path;
  char *const *arguments;
  char *const *environment;
  int standard_output;
  int standard_error;
  // The signal that it gets when the thread that starts it ends.
  int parent_death_signal;
  const struct csystem_limit *limits;
  int limit_count;
  // What it reads; 0 for nothing.
  int standard_input;
  // A descriptor that it gets as number csystem_inherited; 0 for none.
  int inherited;
  // Where it is started; null for the directory of this process.
  const char *directory;
  // Whether what its descendants leave behind becomes its own child, and not this process's.
  int is_subreaper;
  // A place in the environment for its process ID, ten digits and a zero; null for none.
  char *own_pid;
  // The mark of its descendants, without its process ID; 0 for none.
  uint64_t mark;
  // The Landlock ruleset and the filter that confine it; 0 and null for none.
  int ruleset;
  const struct sock_filter *filter;
  int filter_length;
  // The file cgroup.procs of a control group that limits its memory, opened for writing; 0 for none.
  int memory_group;
};

// What the child does between vfork(2) and execve(2): system calls only, since it shares this process's memory.
static inline void csystem_become(const struct csystem_program *program, pid_t parent) {
  struct sigaction standard;
  standard.sa_handler = SIG_DFL;
  standard.sa_flags = 0;
  sigemptyset(&standard.sa_mask);
  for (int signal = 1; signal < 65; signal++) sigaction(signal, &standard, 0);
  setpgid(0, 0);
  // The parent may have died before the kernel knew whom to tell.
  if (prctl(PR_SET_PDEATHSIG, program->parent_death_signal, 0, 0, 0) != 0 || getppid() != parent) _exit(127);
  if (program->is_subreaper) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (program->own_pid) {
    char digits[16], *place = program->own_pid;
    int count = 0;
    for (pid_t id = getpid(); id > 0; id /= 10) digits[count++] = (char)('0' + id % 10);
    while (count > 0) *place++ = digits[--count];
    *place = 0;
  }
  if (program->mark) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_LOCKS, &limit) == 0) {
      limit.rlim_cur = program->mark | (uint64_t)getpid();
      setrlimit(RLIMIT_LOCKS, &limit);
    }
  }
  // Neither it nor what it starts gains rights through a set-user-ID file.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // "0" is the process that writes (https://docs.kernel.org/admin-guide/cgroup-v2.html, "cgroup.procs").
  int is_in_group = program->memory_group > 0 && write(program->memory_group, "0", 1) == 1;
  for (int i = 0; i < program->limit_count; i++) {
    struct rlimit limit;
    if (is_in_group && program->limits[i].resource == RLIMIT_DATA) continue;
    if (getrlimit(program->limits[i].resource, &limit) != 0) continue;
    rlim_t highest = limit.rlim_max;
    if (program->limits[i].value < limit.rlim_max) limit.rlim_max = program->limits[i].value;
    limit.rlim_cur = limit.rlim_max;
    // SIGXCPU at the soft limit says what has happened; the SIGKILL that follows at the hard one could come from
    // any process (setrlimit(2)).
    if (program->limits[i].resource == RLIMIT_CPU && limit.rlim_max < highest) limit.rlim_max++;
    setrlimit(program->limits[i].resource, &limit);
  }
  if (program->directory && chdir(program->directory) != 0) return;
  int nothing = program->standard_input > 0 ? program->standard_input : open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(program->standard_output, 1);
  dup2(program->standard_error, 2);
  if (program->ruleset > 0 && csystem_confine(program->ruleset, program->filter, program->filter_length) != 0) return;
  int first_closed = 3;
  if (program->inherited > 0) {
    // dup2(2) leaves a descriptor that has the number already close-on-exec.
    if (program->inherited == csystem_inherited) fcntl(csystem_inherited, F_SETFD, 0);
    else dup2(program->inherited, csystem_inherited);
    first_closed = csystem_inherited + 1;
  }
  // close_range(2): also what this program was itself started with.
  syscall(436, first_closed, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, 0);
  execve(program->path, program->arguments, program->environment);
}

// Starts a program in a process group of its own, with default signals and no descriptor but the three and the
// inherited one. Returns 0 and its process ID, or the error number of what failed: then there is no child.
__attribute__((noinline)) static int csystem_spawn(const struct csystem_program *program, pid_t *pid) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  volatile int failure = 0;
  pid_t parent = getpid();
  pid_t child = vfork();
  if (child == 0) {
    csystem_become(program, parent);
    failure = errno;
    _exit(127);
  }
  if (child < 0) failure = errno;
  pthread_sigmask(SIG_SETMASK, &before, 0);
  if (failure != 0 && child > 0) waitpid(child, 0, 0);
  *pid = child;
  return failure;
}

// Stores a value in memory that outlives this process when it is killed: what was stored before is there before, what
// is stored after comes after.
static inline void csystem_store_in_order(void *place, uint32_t value) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n((uint32_t *)place, value, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// A file in memory, close-on-exec (MFD_CLOEXEC): memfd_create(2), which sys/mman.h shows under _GNU_SOURCE only.
static inline int csystem_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U); }

/* Gives memory that was freed back to the kernel: malloc_trim(3). */
static inline void csystem_trim_heap(void) { malloc_trim(0); }

static inline int csystem_wait_status_exited(int status) { return (status & 0x7f) == 0; }
static inline int csystem_wait_status_code(int status) { return (status >> 8) & 0xff; }
static inline int csystem_wait_status_signal(int status) { return status & 0x7f; }

/* The commit that this is built from, as the build said with -DWORKERPOOL_COMMIT; empty when it did not. */
static inline const char *csystem_commit(void) {
#ifdef WORKERPOOL_COMMIT
  return WORKERPOOL_COMMIT;
#else
  return "";
#endif
}

#endif
