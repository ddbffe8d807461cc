#define _GNU_SOURCE
#include "CTrespass.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

// Ways out of a confinement, in C since the C library hides some system calls from Swift. None of them harms a pool
// that lets it: each asks for a right without using it, or puts in place what is there already.

typedef const struct trespass_place *place_t;

static char text[4096];

static const char *join(const char *directory, const char *name) {
  static char paths[4][2048];
  static int next;
  char *path = paths[next++ & 3];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}

static const char *of_pool(const char *name) {
  snprintf(text, sizeof text, "/proc/%d/%s", getppid(), name);
  return text;
}

static int said(long value) { return value < 0 ? errno : 0; }

static int opened(const char *path, int flags) {
  int descriptor = open(path, flags, 0600);
  int error = said(descriptor);
  if (descriptor >= 0) close(descriptor);
  return error;
}

static int pool_memory(place_t p) { return opened(of_pool("mem"), O_RDONLY); }
static int pool_environment(place_t p) { return opened(of_pool("environ"), O_RDONLY); }
static int pool_root(place_t p) { return opened(of_pool("root/etc/hostname"), O_RDONLY); }
static int pool_directory(place_t p) { return opened(of_pool("cwd/."), O_RDONLY | O_DIRECTORY); }

static int pool_descriptor(place_t p) {
  int pool = syscall(SYS_pidfd_open, getppid(), 0);
  int error = said(syscall(SYS_pidfd_getfd, pool, 1, 0));
  close(pool);
  return error;
}

static int pool_pages(place_t p) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *)8, 1};
  // An address at which there is nothing: EFAULT if it was let.
  int error = said(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
  return error == EFAULT ? 0 : error;
}

static int follow_link(place_t p) {
  const char *link = join(p->own, "way");
  unlink(link);
  if (symlink(p->outside, link) != 0) return errno;
  int error = opened(join(link, "secret"), O_RDONLY);
  unlink(link);
  return error;
}

static int link_in(place_t p) {
  const char *name = join(p->own, "linked");
  int error = said(link(join(p->outside, "secret"), name));
  unlink(name);
  return error;
}

static int move_in(place_t p) {
  const char *from = join(p->outside, "secret"), *to = join(p->own, "moved");
  int error = said(rename(from, to));
  if (error == 0) rename(to, from);
  return error;
}

static int move_out(place_t p) {
  const char *from = join(p->own, "mine"), *to = join(p->outside, "theirs");
  close(open(from, O_WRONLY | O_CREAT, 0600));
  int error = said(rename(from, to));
  unlink(from);
  unlink(to);
  return error;
}

static int truncate_file(place_t p) { return said(truncate(join(p->outside, "secret"), 6)); }
static int change_mode(place_t p) { return said(chmod(join(p->outside, "secret"), 0644)); }
static int change_mode_at(place_t p) {
  int error = said(syscall(452, AT_FDCWD, join(p->outside, "secret"), 0644, 0));
  return error == ENOSYS ? 0 : error;  // fchmodat2, since Linux 6.6
}
static int change_owner(place_t p) { return said(chown(join(p->outside, "secret"), getuid(), getgid())); }
static int mark(place_t p) {
  int error = said(setxattr(join(p->outside, "secret"), "user.mark", "x", 1, 0));
  return error == ENOTSUP ? 0 : error;
}

// The model, which workers read, stands for all that they read.
static int change_open(place_t p, int (*change)(int)) {
  int descriptor = open(getenv("WORKERPOOL_MODEL"), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return errno;
  int error = said(change(descriptor));
  close(descriptor);
  return error;
}
static int set_same_mode(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) ? -1 : fchmod(descriptor, status.st_mode & 07777);
}
static int set_same_owner(int descriptor) { return fchown(descriptor, getuid(), getgid()); }
static int set_no_time(int descriptor) {
  return futimens(descriptor, (struct timespec[]){{0, UTIME_OMIT}, {0, UTIME_OMIT}});
}
static int set_mark(int descriptor) {
  int result = fsetxattr(descriptor, "user.mark", "x", 1, 0);
  if (result == 0) fremovexattr(descriptor, "user.mark");
  return result < 0 && errno == ENOTSUP ? 0 : result;
}
static int mode_of_open(place_t p) { return change_open(p, set_same_mode); }
static int owner_of_open(place_t p) { return change_open(p, set_same_owner); }
static int times_of_open(place_t p) { return change_open(p, set_no_time); }
static int mark_of_open(place_t p) { return change_open(p, set_mark); }

static int change_times(place_t p) {
  return said(utimensat(AT_FDCWD, p->queue, (struct timespec[]){{0, UTIME_OMIT}, {0, UTIME_OMIT}}, 0));
}

static int change_attributes(place_t p) {
  int error = said(syscall(469, AT_FDCWD, p->queue, 0, 0, 0));
  // file_setattr, since Linux 6.17: no attributes were given.
  return error == EINVAL || error == ENOSYS || error == EFAULT ? 0 : error;
}

static int open_again(place_t p) {
  int descriptor = open("/etc/hosts", O_RDONLY);
  if (descriptor < 0) return errno;
  snprintf(text, sizeof text, "/proc/self/fd/%d", descriptor);
  int error = opened(text, O_WRONLY);
  close(descriptor);
  return error;
}

static int make_device(place_t p) {
  const char *name = join(p->own, "disk");
  int error = said(mknod(name, S_IFBLK | 0600, makedev(7, 1)));
  unlink(name);
  return error;
}

static int limit_pool(place_t p) {
  struct rlimit limit;
  int error = said(prlimit(getppid(), RLIMIT_CORE, 0, &limit));
  return error ? error : said(prlimit(getppid(), RLIMIT_CORE, &limit, 0));
}

static int slow_pool(place_t p) {
  return said(setpriority(PRIO_PROCESS, getppid(), getpriority(PRIO_PROCESS, getppid())));
}

static int schedule_pool(place_t p) {
  struct sched_param parameters = {0};
  return said(sched_setscheduler(getppid(), SCHED_OTHER, &parameters));
}

static int pin_pool(place_t p) {
  cpu_set_t processors;
  if (sched_getaffinity(getppid(), sizeof processors, &processors) != 0) return errno;
  return said(sched_setaffinity(getppid(), sizeof processors, &processors));
}

static int starve_pool(place_t p) {
  return said(syscall(SYS_ioprio_set, 1, getppid(), 2 << 13 | 4));
}

static int signal_group(place_t p) { return said(kill(-getpgid(getppid()), 0)); }

static int signal_descriptor(place_t p) {
  int pool = syscall(SYS_pidfd_open, getppid(), 0);
  int error = said(syscall(SYS_pidfd_send_signal, pool, 0, 0, 0));
  close(pool);
  return error;
}

static int signal_queue(place_t p) { return said(sigqueue(getppid(), 0, (union sigval){0})); }

// Another worker of the pool, or -1.
static pid_t sibling(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", getppid());
  DIR *threads = opendir(path);
  struct dirent *thread;
  pid_t found = -1;
  while (threads && found < 0 && (thread = readdir(threads))) {
    char children[400];
    snprintf(children, sizeof children, "%s/%s/children", path, thread->d_name);
    FILE *file = fopen(children, "r");
    int child;
    while (file && fscanf(file, "%d", &child) == 1)
      if (child != getpid()) found = child;
    if (file) fclose(file);
  }
  if (threads) closedir(threads);
  return found;
}

static int of_sibling(int (*attempt)(pid_t)) {
  pid_t other = sibling();
  return other < 0 ? ECHILD : said(attempt(other));
}
static int read_memory_of(pid_t other) {
  snprintf(text, sizeof text, "/proc/%d/mem", other);
  int descriptor = open(text, O_RDWR);
  if (descriptor >= 0) close(descriptor);
  return descriptor < 0 ? -1 : 0;
}
static int write_pages_of(pid_t other) {
  char byte = 0;
  struct iovec here = {&byte, 1}, there = {(void *)8, 1};
  return process_vm_writev(other, &here, 1, &there, 1, 0) < 0 && errno != EFAULT ? -1 : 0;
}
static int trace(pid_t other) {
  // PTRACE_PEEKDATA of a process that it does not trace: ESRCH if it was let.
  return syscall(SYS_ptrace, 2, other, 0, 0) < 0 && errno != ESRCH ? -1 : 0;
}
static int signal_it(pid_t other) { return kill(other, 0); }
static int limit_it(pid_t other) {
  struct rlimit limit;
  return prlimit(other, RLIMIT_CORE, 0, &limit) ? -1 : prlimit(other, RLIMIT_CORE, &limit, 0);
}
static int pin_it(pid_t other) {
  cpu_set_t processors;
  if (sched_getaffinity(other, sizeof processors, &processors)) return -1;
  return sched_setaffinity(other, sizeof processors, &processors);
}
static int take_descriptor_of(pid_t other) {
  int process = syscall(SYS_pidfd_open, other, 0);
  int descriptor = syscall(SYS_pidfd_getfd, process, 1, 0), error = errno;
  close(descriptor);
  close(process);
  errno = error;
  return descriptor;
}
static int sibling_memory(place_t p) { return of_sibling(read_memory_of); }
static int sibling_pages(place_t p) { return of_sibling(write_pages_of); }
static int sibling_trace(place_t p) { return of_sibling(trace); }
static int sibling_signal(place_t p) { return of_sibling(signal_it); }
static int sibling_limits(place_t p) { return of_sibling(limit_it); }
static int sibling_processors(place_t p) { return of_sibling(pin_it); }
static int sibling_descriptor(place_t p) { return of_sibling(take_descriptor_of); }

// In a process of its own, which ends with it.
static int unshared(int flags) {
  pid_t child = fork();
  if (child == 0) _exit(syscall(SYS_unshare, flags) == 0 ? 0 : errno);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}
static int mount_namespace(place_t p) { return unshared(CLONE_NEWNS); }
static int process_namespace(place_t p) { return unshared(CLONE_NEWPID); }

static int user_namespace(place_t p) {
  long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, 0, 0);
  return said(child);
}

static int user_namespace_by_clone3(place_t p) {
  uint64_t arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long child = syscall(435, arguments, sizeof arguments);
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, 0, 0);
  int error = said(child);
  return error == ENOSYS ? EPERM : error;
}

static int ring(place_t p) {
  char parameters[512] = {0};
  int ring = syscall(425, 1, parameters);
  int error = said(ring);
  if (ring >= 0) close(ring);
  // A kernel may be built without it.
  return error == ENOSYS ? 0 : error;
}

static int kernel_program(place_t p) {
  char attributes[128] = {0};
  int error = said(syscall(SYS_bpf, 0, attributes, sizeof attributes));
  return error == EINVAL || error == ENOSYS ? 0 : error;
}

static int fault_handler(place_t p) {
  int descriptor = syscall(SYS_userfaultfd, 0);
  int error = said(descriptor);
  if (descriptor >= 0) close(descriptor);
  return error == ENOSYS ? 0 : error;
}

static int keyring(place_t p) {
  int error = said(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 0));
  return error == ENOKEY || error == ENOSYS ? 0 : error;
}

static int performance_counters(place_t p) {
  char attributes[128] = {0};
  int error = said(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
  // Neither a process nor a processor was named, and the machine may have no counters.
  return error == EINVAL || error == ENOENT || error == ENOSYS ? 0 : error;
}

// The calls of 32-bit programs have other numbers, which a filter for 64 bits would take for others.
static int old_calls(place_t p) {
#if defined(__x86_64__)
  pid_t child = fork();
  if (child == 0) {
    long result = 20;  // getpid
    __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  // A kernel may be built without them.
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? EPERM : 0;
#else
  return EPERM;
#endif
}

static int kernel_log(place_t p) { return said(syscall(SYS_syslog, 10, 0, 0)); }

static int shared_memory(place_t p) {
  int segment = shmget(IPC_PRIVATE, 4096, 0600);
  int error = said(segment);
  if (segment >= 0) shmctl(segment, IPC_RMID, 0);
  return error;
}

static int semaphores(place_t p) {
  int set = semget(IPC_PRIVATE, 1, 0600);
  int error = said(set);
  if (set >= 0) semctl(set, 0, IPC_RMID);
  return error;
}

static int messages(place_t p) {
  int queue = msgget(IPC_PRIVATE, 0600);
  int error = said(queue);
  if (queue >= 0) msgctl(queue, IPC_RMID, 0);
  return error;
}

static int message_queue(place_t p) {
  snprintf(text, sizeof text, "/trespass-%d", getpid());
  mqd_t queue = mq_open(text, O_RDWR | O_CREAT, 0600, 0);
  int error = said(queue);
  if (queue >= 0) mq_close(queue), mq_unlink(text);
  return error == ENOSYS ? 0 : error;
}

static int abstract_socket(place_t p) {
  struct sockaddr_un address = {AF_UNIX};
  size_t length = strlen(p->abstract_socket);
  memcpy(address.sun_path + 1, p->abstract_socket, length);
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor < 0) return errno;
  int error =
      said(connect(descriptor, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + length));
  close(descriptor);
  return error;
}

// A file without a name is executed in the same bounds: it cannot open the secret either.
static int nameless_program(place_t p) {
  int program = memfd_create("program", 0), source = open("/bin/cat", O_RDONLY);
  if (program < 0 || source < 0) return errno;
  long count;
  while ((count = read(source, text, sizeof text)) > 0)
    if (write(program, text, count) != count) return EIO;
  close(source);
  const char *secret = join(p->outside, "secret");
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 1);
    dup2(nothing, 2);
    fexecve(program, (char *[]){"cat", (char *)secret, 0}, (char *[]){0});
    _exit(126);
  }
  close(program);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EACCES;
}

static int exec_commands(place_t p) {
  const char *name = join(p->queue, "exec.json");
  int error = opened(name, O_WRONLY | O_CREAT | O_EXCL);
  if (error == 0) unlink(name);
  return error == EEXIST ? 0 : error;
}

static int moved_and_back(const char *from, const char *to) {
  int error = said(rename(from, to));
  if (error == 0) rename(to, from);
  return error;
}

static int pool_socket(place_t p) {
  return moved_and_back(join(p->queue, "run/status.sock"), join(p->queue, "run/other.sock"));
}
static int queue_directory(place_t p) { return moved_and_back(join(p->queue, "rejected"), join(p->queue, "other")); }
static int pool_log(place_t p) { return opened(join(p->queue, "log/pool.jsonl"), O_WRONLY); }
static int read_log(place_t p) { return opened(join(p->queue, "log/pool.jsonl"), O_RDONLY); }
static int read_identity(place_t p) { return opened(join(p->queue, "run/identity"), O_RDONLY); }
static int list_queue(place_t p) { return opened(p->queue, O_RDONLY | O_DIRECTORY); }
// A program in the same directory as this one.
static int read_neighbour(place_t p) {
  char path[4096];
  long count = readlink("/proc/self/exe", path, sizeof path - 1);
  if (count < 0) return errno;
  path[count] = 0;
  strcpy(strrchr(path, '/') + 1, "fake-worker");
  return opened(path, O_RDONLY);
}
// A pair of sockets for packets can be connected to a path. Nobody listens there.
static int packets(place_t p) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) return errno;
  close(ends[0]);
  close(ends[1]);
  return 0;
}
static int taken_file(place_t p) { return opened(join(p->queue, "taken/planted"), O_WRONLY | O_CREAT); }

// Ends no pause, since there is none.
static int steer_pool(place_t p) {
  struct sockaddr_un address = {AF_UNIX};
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor < 0) return errno;
  // A long path is given by the directory that has it open.
  int directory = open(join(p->queue, "run"), O_PATH | O_DIRECTORY);
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/status.sock", directory);
  int error;
  // The attempt before this one moves the socket away and back. The pool makes it again meanwhile, so that for a moment
  // nobody may listen at the one that came back.
  do error = said(connect(descriptor, (struct sockaddr *)&address, sizeof address));
  while (error == ECONNREFUSED);
  static const char request[] = "{\"command\":\"resume\"}\n";
  if (!error) error = said(write(descriptor, request, sizeof request - 1));
  if (!error) {
    ssize_t count = read(descriptor, text, sizeof text - 1);
    text[count > 0 ? count : 0] = 0;
    error = strstr(text, "\"ok\":true") ? 0 : EIO;
  }
  close(descriptor);
  close(directory);
  return error;
}

// The same from a child that outlives who connected is refused, too: it asks when its parent is gone.
static int steer_pool_as_orphan(place_t p) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  pid_t child = fork();
  if (child == 0) {
    if (setsid() < 0) _exit(1);
    pid_t self = getpid();
    if (fork() == 0) {
      while (getppid() == self) sched_yield();
      int error = steer_pool(p);
      if (write(ends[1], &error, sizeof error) < 0) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  waitpid(child, 0, 0);
  int error = EIO;
  if (read(ends[0], &error, sizeof error) <= 0) error = EIO;
  close(ends[0]);
  return error;
}

// Descriptors beside the three standard ones and the worker's own would be the pool's.
static int terminal(place_t p) {
  char byte = 0;
  for (int descriptor = 0; descriptor < 3; descriptor++)
    if (!ioctl(descriptor, 0x5412 /* TIOCSTI */, &byte) || !ioctl(descriptor, 0x541C /* TIOCLINUX */, &byte)) return 0;
  return EPERM;
}

// What a process of the pool opens is closed when the worker's program starts; what the worker opens itself is marked
// so.
static int inherited_descriptor(place_t p) {
  for (int descriptor = 3; descriptor < 4096; descriptor++) {
    int flags = fcntl(descriptor, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC)) return 0;
  }
  return EPERM;
}

// Rights that let root pass: raw memory, devices, modules, tracing, the network's configuration.
static int capability(place_t p) {
  FILE *status = fopen("/proc/self/status", "r");
  unsigned long long permitted = ~0ULL;
  while (status && fgets(text, sizeof text, status)) {
    sscanf(text, "CapPrm: %llx", &permitted);
  }
  if (status) fclose(status);
  unsigned long long mighty = 1ULL << 12 | 1ULL << 16 | 1ULL << 17 | 1ULL << 19 | 1ULL << 21 | 1ULL << 27 | 1ULL << 34;
  return permitted & mighty ? 0 : EPERM;
}

static int new_privileges(place_t p) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0; }

static const struct {
  const char *name;
  int (*attempt)(place_t);
} ways[] = {
    {"read the pool's memory by its file", pool_memory},
    {"read the pool's memory", pool_pages},
    {"read the pool's environment", pool_environment},
    {"go through the pool's root", pool_root},
    {"go through the pool's directory", pool_directory},
    {"take a descriptor of the pool", pool_descriptor},
    {"follow a link of its own", follow_link},
    {"link a file of others", link_in},
    {"move a file of others", move_in},
    {"move a file to others", move_out},
    {"truncate a file of others", truncate_file},
    {"change the mode of a file of others", change_mode},
    {"change the mode of a file of others by fchmodat2", change_mode_at},
    {"change the owner of a file of others", change_owner},
    {"mark a file of others", mark},
    {"change the mode of a file that it reads", mode_of_open},
    {"change the owner of a file that it reads", owner_of_open},
    {"change the times of a file that it reads", times_of_open},
    {"mark a file that it reads", mark_of_open},
    {"change the times of a file by its path", change_times},
    {"change the attributes of a file by its path", change_attributes},
    {"open a file again for writing", open_again},
    {"make a device", make_device},
    {"read another worker's memory by its file", sibling_memory},
    {"write another worker's memory", sibling_pages},
    {"trace another worker", sibling_trace},
    {"signal another worker", sibling_signal},
    {"limit another worker", sibling_limits},
    {"bind another worker to processors", sibling_processors},
    {"take a descriptor of another worker", sibling_descriptor},
    {"make a mount namespace", mount_namespace},
    {"make a process namespace", process_namespace},
    {"limit the pool", limit_pool},
    {"slow the pool", slow_pool},
    {"schedule the pool", schedule_pool},
    {"bind the pool to processors", pin_pool},
    {"slow the pool's reading", starve_pool},
    {"signal the pool's group", signal_group},
    {"signal the pool by a descriptor", signal_descriptor},
    {"queue a signal for the pool", signal_queue},
    {"make a user namespace", user_namespace},
    {"make a user namespace by clone3", user_namespace_by_clone3},
    {"make a ring of requests", ring},
    {"load a program into the kernel", kernel_program},
    {"handle faults", fault_handler},
    {"use a keyring", keyring},
    {"open counters of the processor", performance_counters},
    {"use the calls of 32 bits", old_calls},
    {"read the kernel's log", kernel_log},
    {"share memory", shared_memory},
    {"share semaphores", semaphores},
    {"share messages", messages},
    {"make a message queue", message_queue},
    {"connect to an abstract socket", abstract_socket},
    {"start a file without a name that reads", nameless_program},
    {"allow commands to exec jobs", exec_commands},
    {"replace the pool's socket", pool_socket},
    {"steer the pool", steer_pool},
    {"steer the pool as an orphan", steer_pool_as_orphan},
    {"replace a directory of the queue", queue_directory},
    {"write the pool's log", pool_log},
    {"read the pool's log", read_log},
    {"read a file of the pool", read_identity},
    {"list the queue directory", list_queue},
    {"read a file beside its program", read_neighbour},
    {"make a pair of sockets for packets", packets},
    {"plant a taken file", taken_file},
    {"type into a terminal", terminal},
    {"have a descriptor of the pool", inherited_descriptor},
    {"keep mighty capabilities", capability},
    {"gain privileges by a program", new_privileges},
};

int trespass_count(void) { return sizeof ways / sizeof ways[0]; }
const char *trespass_name(int index) { return ways[index].name; }
int trespass_try(int index, const struct trespass_place *place) {
  errno = 0;
  return ways[index].attempt(place);
}
