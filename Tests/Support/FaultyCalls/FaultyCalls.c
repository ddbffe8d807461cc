// Loaded before the C library (LD_PRELOAD) this numbers the system calls of a program that can fail, and lets them fail
// as its environment says: FAULT_GROUP and FAULT_AT, the first call of that group with this number or a higher one,
// since runs differ a little; FAULT_MODE, `once`, `ever` (then all later calls of the group fail, too) or `kill` (then
// the program is killed before the call); FAULT_ERRNO. FAULT_LOG is a file that gets a line for each call: its number,
// group, function and file. FAULT_PROGRAM is the name of the program that this is about; in others, and where it is
// called to describe itself, nothing is counted. FAULT_MARK is a file that is made when a call fails `once`: after that
// none fails in any process.
//
// SQLite calls the C library by the same names, so its calls are among them: a pwrite that fails is its SQLITE_FULL or
// SQLITE_IOERR, a lock that fails its SQLITE_BUSY.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int calls;
static int fault_at, fault_errno, is_for_good, is_kill, is_watched, log_descriptor = -1;
static const char *mark, *fault_group;
static atomic_int has_failed;
static pid_t program;

// The C library's own functions; other libraries call them before this one has begun.
static ssize_t real_write(int descriptor, const void *bytes, size_t count) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  return real(descriptor, bytes, count);
}

static long real_syscall(long number, long a, long b, long c, long d, long e, long f) {
  static long (*real)(long, ...);
  if (!real) real = dlsym(RTLD_NEXT, "syscall");
  return real(number, a, b, c, d, e, f);
}

static int real_open(const char *path, int flags) {
  static int (*real)(const char *, int, ...);
  if (!real) real = dlsym(RTLD_NEXT, "open");
  return real(path, flags, 0600);
}

__attribute__((constructor)) static void begin(int count, char **arguments) {
  const char *text = getenv("FAULT_PROGRAM");
  is_watched = text && strcmp(text, program_invocation_short_name) == 0;
  if (count > 1 && strcmp(arguments[1], "describe") == 0) is_watched = 0;
  if (!is_watched) return;
  text = getenv("FAULT_AT");
  fault_at = text ? atoi(text) : 0;
  fault_group = getenv("FAULT_GROUP");
  text = getenv("FAULT_ERRNO");
  fault_errno = text ? atoi(text) : EIO;
  text = getenv("FAULT_MODE");
  is_for_good = text && strcmp(text, "ever") == 0;
  is_kill = text && strcmp(text, "kill") == 0;
  text = getenv("FAULT_LOG");
  program = getpid();
  if (text) log_descriptor = real_open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
  mark = getenv("FAULT_MARK");
}

// Whether it has not happened yet, in any process.
static int is_first(void) {
  if (!mark) return 1;
  int descriptor = real_open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

// Whether this call is to fail; sets errno then.
static int fails(const char *group, const char *function, int descriptor, const char *path) {
  // Before the beginning, and in a child before it becomes another program, nothing is counted.
  if (!is_watched || getpid() != program) return 0;
  int number = atomic_fetch_add(&calls, 1) + 1;
  if (log_descriptor >= 0) {
    char link[64], target[512] = "", line[700];
    if (!path && descriptor >= 0) {
      snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
      ssize_t length = readlink(link, target, sizeof target - 1);
      if (length > 0) target[length] = 0;
      path = target;
    }
    const char *name = path ? strrchr(path, '/') : 0;
    const char *file = name ? name + 1 : path ? path : "";
    int length = snprintf(line, sizeof line, "%d %s %s %s\n", number, group, function, file);
    if (length > 0) real_write(log_descriptor, line, (size_t)length);
  }
  if (number < fault_at || !fault_group || strcmp(fault_group, group) != 0) return 0;
  if (!is_for_good && (atomic_exchange(&has_failed, 1) || !is_first())) return 0;
  if (is_kill) kill(program, SIGKILL);
  errno = fault_errno;
  return 1;
}

static int is_regular(int descriptor) {
  struct stat status;
  return descriptor > 2 && descriptor != log_descriptor && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

#define REAL(type, name, ...)                                      \
  static type (*real)(__VA_ARGS__);                                \
  if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (is_regular(descriptor) && fails("write", "write", descriptor, 0)) return -1;
  return real_write(descriptor, bytes, count);
}

#define WRITES_AT(name, offset_type)                                                       \
  ssize_t name(int descriptor, const void *bytes, size_t count, offset_type offset) {      \
    REAL(ssize_t, name, int, const void *, size_t, offset_type);                           \
    if (is_regular(descriptor) && fails("write", "pwrite", descriptor, 0)) return -1;      \
    return real(descriptor, bytes, count, offset);                                         \
  }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

#define READS_AT(name, offset_type)                                                        \
  ssize_t name(int descriptor, void *bytes, size_t count, offset_type offset) {            \
    REAL(ssize_t, name, int, void *, size_t, offset_type);                                 \
    if (is_regular(descriptor) && fails("read", "pread", descriptor, 0)) return -1;        \
    return real(descriptor, bytes, count, offset);                                         \
  }
READS_AT(pread, off_t)
READS_AT(pread64, off64_t)

#define TRUNCATES(name, offset_type)                                                       \
  int name(int descriptor, offset_type length) {                                           \
    REAL(int, name, int, offset_type);                                                     \
    if (fails("write", "ftruncate", descriptor, 0)) return -1;                             \
    return real(descriptor, length);                                                       \
  }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

#define SYNCS(name)                                                                        \
  int name(int descriptor) {                                                               \
    REAL(int, name, int);                                                                  \
    if (fails("sync", #name, descriptor, 0)) return -1;                                    \
    return real(descriptor);                                                               \
  }
SYNCS(fsync)
SYNCS(fdatasync)

int rename(const char *from, const char *to) {
  REAL(int, rename, const char *, const char *);
  return fails("rename", "rename", -1, to) ? -1 : real(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  REAL(int, renameat, int, const char *, int, const char *);
  return fails("rename", "renameat", -1, to) ? -1 : real(from_directory, from, to_directory, to);
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int);
  return fails("unlink", "unlinkat", -1, path) ? -1 : real(directory, path, flags);
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
  REAL(ssize_t, send, int, const void *, size_t, int);
  return fails("send", "send", -1, 0) ? -1 : real(descriptor, bytes, count, flags);
}

int socket(int domain, int type, int protocol) {
  REAL(int, socket, int, int, int);
  return fails("socket", "socket", -1, 0) ? -1 : real(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int ends[2]) {
  REAL(int, socketpair, int, int, int, int *);
  return fails("spawn", "socketpair", -1, 0) ? -1 : real(domain, type, protocol, ends);
}

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
  REAL(int, bind, int, const struct sockaddr *, socklen_t);
  return fails("socket", "bind", -1, 0) ? -1 : real(descriptor, address, length);
}

#define OPENS(name)                                                                        \
  int name(const char *path, int flags, ...) {                                             \
    REAL(int, name, const char *, int, ...);                                               \
    va_list arguments;                                                                     \
    va_start(arguments, flags);                                                            \
    int mode = va_arg(arguments, int);                                                     \
    va_end(arguments);                                                                     \
    if (strncmp(path, "/proc/", 6) != 0 && fails("open", "open", -1, path)) return -1;     \
    return real(path, flags, mode);                                                        \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                     \
  int name(int directory, const char *path, int flags, ...) {                              \
    REAL(int, name, int, const char *, int, ...);                                          \
    va_list arguments;                                                                     \
    va_start(arguments, flags);                                                            \
    int mode = va_arg(arguments, int);                                                     \
    va_end(arguments);                                                                     \
    if (fails("open", "openat", -1, path)) return -1;                                      \
    return real(directory, path, flags, mode);                                             \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

#define LOCKS(name)                                                                        \
  int name(int descriptor, int command, ...) {                                             \
    REAL(int, name, int, int, ...);                                                        \
    va_list arguments;                                                                     \
    va_start(arguments, command);                                                          \
    void *argument = va_arg(arguments, void *);                                            \
    va_end(arguments);                                                                     \
    int is_lock = command == F_SETLK || command == F_OFD_SETLKW || command == F_OFD_SETLK; \
    if (is_lock && ((struct flock *)argument)->l_type != F_UNLCK && fails("lock", "fcntl", descriptor, 0)) return -1; \
    return real(descriptor, command, argument);                                            \
  }
LOCKS(fcntl)
LOCKS(fcntl64)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  Dl_info place;
  // What a thread begins with tells who wanted it: Dispatch, Foundation or the program.
  const char *path = dladdr((void *)body, &place) ? place.dli_fname : 0;
  return fails("thread", "pthread_create", -1, path) ? fault_errno : real(thread, attributes, body, argument);
}

// This function could not return twice into memory that both share, so the child gets a copy; the parent waits as for
// vfork(2).
pid_t vfork(void) {
  if (fails("spawn", "vfork", -1, 0)) return -1;
  return (pid_t)real_syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
}

long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a = va_arg(arguments, long), b = va_arg(arguments, long), c = va_arg(arguments, long);
  long d = va_arg(arguments, long), e = va_arg(arguments, long), f = va_arg(arguments, long);
  va_end(arguments);
  const char *name = number == SYS_accept4 ? "accept4" : 0;
  if (number == SYS_pipe2) name = "pipe2";
  if (number == 434) name = "pidfd_open";
  if (name && fails(number == SYS_accept4 ? "accept" : "spawn", name, -1, 0)) return -1;
  return real_syscall(number, a, b, c, d, e, f);
}
