// What a process may do from now on: Landlock rules for files and networks, and a filter of system calls. Both pass on
// to all that it starts, and nobody can take them back.
//
// Sources: landlock(7), landlock_create_ruleset(2), seccomp(2), Documentation/userspace-api/landlock.rst of Linux. The
// numbers and structures stand here, since the headers of the C library may be older than the kernel.
#ifndef WORKERPOOL_CCONFINEMENT_H
#define WORKERPOOL_CCONFINEMENT_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: Landlock

struct csystem_landlock_ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

struct csystem_landlock_path {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

// The version of the kernel's interface, or -1: ENOSYS for a kernel without Landlock, EOPNOTSUPP where it was turned
// off.
static inline int csystem_landlock_version(void) { return (int)syscall(444, (void *)0, (size_t)0, 1U); }

// A ruleset that denies all of these but what is allowed later. Close-on-exec.
static inline int csystem_landlock_create(uint64_t files, uint64_t network, uint64_t scopes, int version) {
  struct csystem_landlock_ruleset ruleset = {files, network, scopes};
  size_t size = version >= 6 ? sizeof ruleset : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
  return (int)syscall(444, &ruleset, size, 0U);
}

// Allows these rights at a path and, if it is a directory, below it. Returns 0, or -1.
static inline int csystem_landlock_allow(int ruleset, int path, uint64_t rights) {
  struct csystem_landlock_path rule = {rights, path};
  return (int)syscall(445, ruleset, 1, &rule, 0U);
}

// A descriptor that stands for a path, without opening what is there: O_PATH, which fcntl.h shows under _GNU_SOURCE
// only.
static inline int csystem_open_path(const char *path) { return open(path, 010000000 | O_CLOEXEC); }

// MARK: System calls

// What no worker needs, and what would let it out: other processes' memory, mounts, namespaces, modules, keys, the
// clock, rings of requests, which no filter sees, and what Landlock knows nothing of: memory and messages shared by
// name, and modes, owners, times and attributes of files by their path, wherever it leads.
static const int csystem_denied_calls[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_perf_event_open, SYS_bpf, SYS_userfaultfd,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_swapon, SYS_swapoff, SYS_quotactl,
    SYS_acct, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot,
    SYS_add_key, SYS_request_key, SYS_keyctl, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_sethostname, SYS_setdomainname, SYS_syslog, SYS_vhangup, SYS_open_by_handle_at, SYS_name_to_handle_at,
    SYS_fanotify_init, SYS_personality,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
    425, 426, 427,            // io_uring_setup, _enter, _register
    428, 429, 430, 431, 432,  // open_tree, move_mount, fsopen, fsconfig, fsmount
    433, 438, 440, 442, 443,  // fspick, pidfd_getfd, process_madvise, mount_setattr, quotactl_fd
    448, 452, 463, 466,       // process_mrelease, fchmodat2, setxattrat, removexattrat
    467, 469,                 // open_tree_attr, file_setattr
    SYS_fchmodat, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl, SYS_msgget, SYS_msgsnd,
    SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
};

// Calls that change the mode, the owner, the times or the attributes of an open file, also of one that was opened for
// reading only, which Landlock does not see. Programs that write files need them. SQLite does without: it gives new
// files of a store the mode and the owner of the old ones, and goes on when it cannot.
static const int csystem_calls_on_open_files[] = {
    SYS_fchmod, SYS_fchown, SYS_fsetxattr, SYS_fremovexattr, SYS_utimensat,
};

// Calls that change a process's limits and its share of the machine, and where they name the process. Landlock does not
// keep them from other processes of the same user. They may name the caller by 0.
static const struct {
  int call, argument;
} csystem_calls_on_processes[] = {
    {SYS_prlimit64, 0},       {SYS_sched_setaffinity, 0}, {SYS_sched_setscheduler, 0},
    {SYS_sched_setparam, 0},  {SYS_sched_setattr, 0},     {SYS_setpriority, 1},
    {SYS_ioprio_set, 1},      {SYS_migrate_pages, 0},     {SYS_move_pages, 0},
};

#define CSYSTEM_COUNT(array) (sizeof array / sizeof array[0])

// Room for all instructions of the filter: two for each call that is denied, five for each that may name a process, and
// what the other rules take.
enum {
  csystem_filter_room = 2 * (int)CSYSTEM_COUNT(csystem_denied_calls) +
                        2 * (int)CSYSTEM_COUNT(csystem_calls_on_open_files) +
                        5 * (int)CSYSTEM_COUNT(csystem_calls_on_processes) + 64
};

#if defined(__x86_64__)
#define CSYSTEM_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CSYSTEM_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// MARK: Building a filter

// A filter while it is written. It works on one number, which a load replaces, and its instructions run from the first
// to the last, but for blocks that are passed over.
struct csystem_filter {
  struct sock_filter *instructions;
  int count;
};

static inline int csystem_add(struct csystem_filter *filter, uint16_t code, uint32_t value) {
  filter->instructions[filter->count] = (struct sock_filter){code, 0, 0, value};
  return filter->count++;
}

// Loads a member of seccomp_data, which begins at this byte.
static inline void csystem_load(struct csystem_filter *filter, size_t member) {
  csystem_add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)member);
}

static inline void csystem_load_call(struct csystem_filter *filter) {
  csystem_load(filter, offsetof(struct seccomp_data, nr));
}

// Loads the lower half of a call's argument, which is all of an int.
static inline void csystem_load_argument(struct csystem_filter *filter, int number) {
  csystem_load(filter, offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)number);
}

static inline void csystem_load_upper_half(struct csystem_filter *filter, int number) {
  csystem_load(filter, offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)number + sizeof(uint32_t));
}

// Ends the filter with this answer.
static inline void csystem_answer(struct csystem_filter *filter, uint32_t answer) {
  csystem_add(filter, BPF_RET | BPF_K, answer);
}

// How a block begins; each test compares the loaded number with a value. csystem_end ends the block.
enum csystem_test { csystem_equals = BPF_JEQ, csystem_at_least = BPF_JGE, csystem_has_any_bit = BPF_JSET };

static inline int csystem_when(struct csystem_filter *filter, enum csystem_test test, uint32_t value) {
  return csystem_add(filter, (uint16_t)(BPF_JMP | test | BPF_K), value);
}

// Ends a block that runs if the test of its first instruction, `start`, succeeds.
static inline void csystem_end(struct csystem_filter *filter, int start) {
  filter->instructions[start].jf = (uint8_t)(filter->count - start - 1);
}

// The answer, if the loaded number passes the test.
static inline void csystem_answer_when(struct csystem_filter *filter, enum csystem_test test, uint32_t value,
                                       uint32_t answer) {
  int block = csystem_when(filter, test, value);
  csystem_answer(filter, answer);
  csystem_end(filter, block);
}

// The answer, unless the loaded number is this one.
static inline void csystem_answer_unless(struct csystem_filter *filter, uint32_t value, uint32_t answer) {
  int start = csystem_when(filter, csystem_equals, value);
  csystem_answer(filter, answer);
  filter->instructions[start].jt = (uint8_t)(filter->count - start - 1);
}

static inline void csystem_answer_calls(
  struct csystem_filter *filter, const int *calls, size_t count, uint32_t answer) {
  for (size_t i = 0; i < count; i++) csystem_answer_when(filter, csystem_equals, (uint32_t)calls[i], answer);
}

static const uint32_t csystem_allowed = SECCOMP_RET_ALLOW;
static const uint32_t csystem_denied = SECCOMP_RET_ERRNO | EPERM;
static const uint32_t csystem_refused = SECCOMP_RET_ERRNO | EACCES;

// The architecture, and the calls that are denied whatever their arguments.
static inline void csystem_filter_calls(struct csystem_filter *filter, int changes_files) {
  csystem_load(filter, offsetof(struct seccomp_data, arch));
  csystem_answer_unless(filter, CSYSTEM_ARCHITECTURE, SECCOMP_RET_KILL_PROCESS);
  csystem_load_call(filter);
#if defined(__x86_64__)
  // The calls of the x32 interface have other numbers.
  csystem_answer_when(filter, csystem_at_least, 0x40000000, csystem_denied);
#endif
  // clone3 keeps its flags in memory, where no filter sees them. Without it the C library takes clone.
  csystem_answer_when(filter, csystem_equals, 435, SECCOMP_RET_ERRNO | ENOSYS);
  csystem_answer_calls(filter, csystem_denied_calls, CSYSTEM_COUNT(csystem_denied_calls), csystem_denied);
  if (!changes_files) {
    csystem_answer_calls(filter, csystem_calls_on_open_files, CSYSTEM_COUNT(csystem_calls_on_open_files),
                         csystem_denied);
  }
}

// The calls on open files and terminals that depend on their arguments.
static inline void csystem_filter_open_files(struct csystem_filter *filter) {
  // The times of a file by its path. Without one, futimens(3) of an open file; a pointer has two halves.
  int call = csystem_when(filter, csystem_equals, SYS_utimensat);
  csystem_load_argument(filter, 1);
  csystem_answer_unless(filter, 0, csystem_denied);
  csystem_load_upper_half(filter, 1);
  csystem_answer_unless(filter, 0, csystem_denied);
  csystem_answer(filter, csystem_allowed);
  csystem_end(filter, call);
  // Putting input into a terminal: TIOCSTI and TIOCLINUX.
  call = csystem_when(filter, csystem_equals, SYS_ioctl);
  csystem_load_argument(filter, 1);
  csystem_answer_when(filter, csystem_equals, 0x5412, csystem_denied);
  csystem_answer_when(filter, csystem_equals, 0x541C, csystem_denied);
  csystem_answer(filter, csystem_allowed);
  csystem_end(filter, call);
}

// The calls on processes that depend on their arguments: on others than the caller, and for new namespaces.
static inline void csystem_filter_processes(struct csystem_filter *filter) {
  int call;
  for (size_t i = 0; i < CSYSTEM_COUNT(csystem_calls_on_processes); i++) {
    call = csystem_when(filter, csystem_equals, (uint32_t)csystem_calls_on_processes[i].call);
    csystem_load_argument(filter, csystem_calls_on_processes[i].argument);
    csystem_answer_unless(filter, 0, csystem_denied);
    csystem_load_call(filter);
    csystem_end(filter, call);
  }
  // A group or a user is more than the caller: PRIO_PROCESS is 0, IOPRIO_WHO_PROCESS 1.
  call = csystem_when(filter, csystem_equals, SYS_setpriority);
  csystem_load_argument(filter, 0);
  csystem_answer_unless(filter, 0, csystem_denied);
  csystem_answer(filter, csystem_allowed);
  csystem_end(filter, call);
  call = csystem_when(filter, csystem_equals, SYS_ioprio_set);
  csystem_load_argument(filter, 0);
  csystem_answer_unless(filter, 1, csystem_denied);
  csystem_answer(filter, csystem_allowed);
  csystem_end(filter, call);
  // New namespaces: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
  call = csystem_when(filter, csystem_equals, SYS_clone);
  csystem_load_argument(filter, 0);
  csystem_answer_when(filter, csystem_has_any_bit, 0x7E020000, csystem_denied);
  csystem_answer(filter, csystem_allowed);
  csystem_end(filter, call);
}

static inline void csystem_filter_sockets(struct csystem_filter *filter, int has_network) {
  // No filter sees where a Unix socket connects to, and every service of the user has one, other pools too.
  int call = csystem_when(filter, csystem_equals, SYS_socket);
  csystem_load_argument(filter, 0);
  csystem_answer_when(filter, csystem_equals, AF_UNIX, csystem_refused);
  csystem_answer(filter, has_network ? csystem_allowed : csystem_refused);
  csystem_end(filter, call);
  // A pair of streams stays a pair. A socket of a pair for packets can be connected to a path (unix(7)).
  call = csystem_when(filter, csystem_equals, SYS_socketpair);
  csystem_load_argument(filter, 1);
  csystem_add(filter, BPF_ALU | BPF_AND | BPF_K, 0xF);
  csystem_answer_when(filter, csystem_equals, SOCK_DGRAM, csystem_refused);
  csystem_end(filter, call);
}

// Writes the filter into `instructions`, which has room for csystem_filter_room of them, and returns how many it has.
// Sockets are denied: those of networks unless `has_network`, and all others. Changes of open files' modes and owners
// are denied unless `changes_files`.
static inline int csystem_write_filter(struct sock_filter *instructions, int has_network, int changes_files) {
  struct csystem_filter filter = {instructions, 0};
  csystem_filter_calls(&filter, changes_files);
  csystem_filter_open_files(&filter);
  csystem_filter_processes(&filter);
  csystem_filter_sockets(&filter, has_network);
  csystem_answer(&filter, csystem_allowed);
  return filter.count;
}

// MARK: Capabilities

// What is left to root: files of all users, who to be, and low ports. Others open what Landlock and the filter close:
// raw memory, devices, the memory and the environment of every process.
static const uint64_t csystem_kept_capabilities =
    1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 |  // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID
    1 << 5 | 1 << 6 | 1 << 7 | 1 << 10;           // KILL, SETGID, SETUID, NET_BIND_SERVICE

// Gives up all others, and never gets them again, by no program either. Returns 0, or -1 with errno.
static inline int csystem_drop_capabilities(void) {
  for (int i = 0; i < 64; i++) {
    // EINVAL: the kernel has no more. EPERM: a user who may not has none to lose, and no_new_privs lets nobody gain
    // any.
    if (!(csystem_kept_capabilities >> i & 1) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0) break;
  }
  struct {
    uint32_t version;
    int process;
  } header = {0x20080522, 0};
  struct {
    uint32_t effective, permitted, inheritable;
  } sets[2];
  if (syscall(SYS_capget, &header, sets) != 0) return -1;
  for (int i = 0; i < 2; i++) {
    uint32_t kept = (uint32_t)(csystem_kept_capabilities >> 32 * i);
    sets[i].effective &= kept;
    sets[i].permitted &= kept;
    sets[i].inheritable &= kept;
  }
  return (int)syscall(SYS_capset, &header, sets);
}

// Confines the calling thread, which must have no new privileges. Returns 0, or -1 with errno. Only system calls.
static inline int csystem_confine(int ruleset, const struct sock_filter *filter, int length) {
  if (syscall(446, ruleset, 0U) != 0 || csystem_drop_capabilities() != 0) return -1;
  struct sock_fprog program = {(unsigned short)length, (struct sock_filter *)filter};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#endif
