// What a process may do from now on: Landlock rules for files and networks, and a filter of system calls. Both pass on to all
// that it starts, and nobody can take them back.
//
// Sources: landlock(7), landlock_create_ruleset(2), seccomp(2), Documentation/userspace-api/landlock.rst of Linux. The numbers and
// structures stand here, since the headers of the C library may be older than the kernel.
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

// The version of the kernel's interface, or -1: ENOSYS for a kernel without Landlock, EOPNOTSUPP where it was turned off.
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

// A descriptor that stands for a path, without opening what is there: O_PATH, which fcntl.h shows under _GNU_SOURCE only.
static inline int csystem_open_path(const char *path) { return open(path, 010000000 | O_CLOEXEC); }

// MARK: System calls

// What no worker needs, and what would let it out: other processes' memory, mounts, namespaces, modules, keys, the clock, and
// rings of requests, which no filter sees.
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
    433, 438, 440, 442,       // fspick, pidfd_getfd, process_madvise, mount_setattr
};

enum { csystem_filter_room = 16 + 2 * (int)(sizeof csystem_denied_calls / sizeof csystem_denied_calls[0]) + 24 };

#if defined(__x86_64__)
#define CSYSTEM_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CSYSTEM_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// Writes the filter into `filter`, which has room for csystem_filter_room instructions, and returns how many it has. Sockets of other
// families than AF_UNIX are denied unless `has_network`.
static inline int csystem_write_filter(struct sock_filter *filter, int has_network) {
  int count = 0;
  const uint32_t denied = SECCOMP_RET_ERRNO | EPERM, refused = SECCOMP_RET_ERRNO | EACCES;
#define ADD(...) filter[count++] = (struct sock_filter)__VA_ARGS__
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CSYSTEM_ARCHITECTURE, 1, 0));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#if defined(__x86_64__)
  // The calls of the x32 interface have other numbers.
  ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  ADD(BPF_STMT(BPF_RET | BPF_K, denied));
#endif
  // clone3 keeps its flags in memory, where no filter sees them. Without it the C library takes clone.
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 435, 0, 1));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  for (size_t i = 0; i < sizeof csystem_denied_calls / sizeof csystem_denied_calls[0]; i++) {
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)csystem_denied_calls[i], 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, denied));
  }
  // New namespaces: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
  ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7E020000, 0, 1));
  ADD(BPF_STMT(BPF_RET | BPF_K, denied));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  if (!has_network) {
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_RET | BPF_K, refused));
  }
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
  return count;
}

// Confines the calling thread, which must have no new privileges. Returns 0, or -1 with errno. Only system calls.
static inline int csystem_confine(int ruleset, const struct sock_filter *filter, int length) {
  if (syscall(446, ruleset, 0U) != 0) return -1;
  struct sock_fprog program = {(unsigned short)length, (struct sock_filter *)filter};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#endif
