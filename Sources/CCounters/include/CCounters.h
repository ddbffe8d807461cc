#ifndef CCOUNTERS_H
#define CCOUNTERS_H

/// The number of calls of malloc(3) and its relatives since the first call of this function, by all threads and
/// libraries. Zero under a sanitizer, which has its own allocator.
unsigned long ccounters_allocations(void);

enum ccounters_event { ccounters_cycles, ccounters_instructions };

/// Opens a counter of this process's events outside the kernel, threads and processes that it starts later included.
/// Returns a descriptor from which read(2) gives the count as 8 bytes; -1 with errno if the kernel or the machine has
/// no such counter (perf_event_open(2)).
int ccounters_open(enum ccounters_event event);

#endif
