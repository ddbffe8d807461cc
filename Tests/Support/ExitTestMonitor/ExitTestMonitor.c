#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Swift Testing's thread that waits for exit tests asks for any child that has ended, and leaves the child's status in
// place (P_ALL and WNOWAIT). While a child of somebody else has ended and is not reaped, the call returns at once, each
// time with that child: the thread takes a processor, and hears of no exit test.
//
// So that thread gets children of the tests' process group only. Exit tests run in it. Foundation's Process and the pool
// start their children in groups of their own.
//
// The test program exports this function, so that the toolchain's libraries call it instead of the C library's.
int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
  char name[16];
  if (type == P_ALL && (options & WNOWAIT) && pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
      strcmp(name, "SWT ExT monitor") == 0) {
    type = P_PGID;
    id = (id_t)getpgrp();
  }
  return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}
