#include "CCounters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int ccounters_open(enum ccounters_event event) {
  struct perf_event_attr attributes = {
      .size = sizeof attributes,
      .type = PERF_TYPE_HARDWARE,
      .config = event == ccounters_cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS,
      .exclude_kernel = 1,
      .exclude_hv = 1,
      .inherit = 1,
  };
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
