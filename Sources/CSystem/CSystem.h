// What Glibc's Swift module leaves out: Linux system calls that the pool needs, behind small inline functions.
#ifndef WORKERPOOL_CSYSTEM_H
#define WORKERPOOL_CSYSTEM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
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
