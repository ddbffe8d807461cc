#ifndef CCOUNTERS_H
#define CCOUNTERS_H

/// How often this process has asked malloc(3) and its relatives for memory since it began: all threads, all libraries.
/// Zero under a sanitizer, which has an allocator of its own.
unsigned long ccounters_allocations(void);

enum ccounters_event { ccounters_cycles, ccounters_instructions };

/// A descriptor of a counter of what this process does outside the kernel, with threads and processes that it starts
/// from now on. read(2) gives the count, as 8 bytes. -1 with errno where the kernel or the machine has no such counter
/// (perf_event_open(2)).
int ccounters_open(enum ccounters_event event);

#endif
