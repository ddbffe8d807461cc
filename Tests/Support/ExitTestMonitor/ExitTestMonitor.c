#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Swift Testing's thread that waits for exit tests asks for any child that has ended, and leaves the child's status in
// place (P_ALL and WNOWAIT). While a child that no exit test started has ended and is not reaped, the call returns at
// once, each time with that child: the thread takes a processor, and hears of no exit test.
//
// So that thread gets children of the tests' process group only. Exit tests run in it. Foundation's Process and the
// pool start their children in groups of their own.
//
// The same happens with an exit test that has ended before its task has a thread and is known: with all threads busy,
// that takes seconds, in which the thread would take 8 % of all processor time. So it pauses before it hears of a child
// again. There is no event to wait for instead: the child has ended, it is this thread that reaps it, and that the child
// is known is a change in Swift Testing's memory.
//
// The test program exports this function, so that the toolchain's libraries call it instead of the C library's.
int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
  char name[16];
  int isMonitor = type == P_ALL && (options & WNOWAIT) && pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
                  strcmp(name, "SWT ExT monitor") == 0;
  if (isMonitor) {
    type = P_PGID;
    id = (id_t)getpgrp();
  }
  int result = (int)syscall(SYS_waitid, type, id, info, options, NULL);
  if (isMonitor && result == 0) {
    static pid_t last; // of the one thread
    if (info->si_pid == last) usleep(5000);
    last = info->si_pid;
  }
  return result;
}
