// What Glibc's Swift module leaves out: Linux system calls that the pool needs, behind small inline functions.
#ifndef WORKERPOOL_CSYSTEM_H
#define WORKERPOOL_CSYSTEM_H

// Not _GNU_SOURCE: it renames the member of fd_set, and Dispatch's module already holds the struct under the other name.
#include <features.h>
#ifndef __USE_GNU
#define __USE_GNU 1
#endif

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

#endif
