// Where the threads of this process are, by the names of functions, as far as its program file has them.
#ifndef WORKERPOOL_CSTACKS_H
#define WORKERPOOL_CSTACKS_H

#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The most frames of a thread that are told, with the two of the handler.
enum { csystem_most_frames = 64 };

// What handlers of signals and their callers share.
struct csystem_stacks {
  // The table of the program's own functions (elf(5), `.symtab`), which backtrace_symbols(3) does not read. Set once,
  // before there is a second thread; without a table the count is 0, as in a program that strip(1) was called for.
  const Elf64_Sym *symbols;
  const char *names;
  size_t count, names_size;
  // What is added to the table's addresses: a program may be loaded anywhere.
  uintptr_t bias;
  // Whether a thread prints its stack.
  volatile int turn;
  // The stack that another thread has taken of itself, and its length: 0 until it is there.
  void *taken[csystem_most_frames];
  volatile int taken_count;
};

// In a function, since Swift makes no variables of headers.
static inline struct csystem_stacks *csystem_stacks(void) {
  static struct csystem_stacks stacks;
  return &stacks;
}

static inline void csystem_read_functions(void) {
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0) return;
  const char *bytes = MAP_FAILED;
  size_t size = 0;
  if (fstat(file, &status) == 0 && status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
    size = (size_t)status.st_size;
    bytes = (const char *)mmap(0, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (bytes == MAP_FAILED) return;
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
  size_t sections_end = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
  size_t segments_end = header->e_phoff + (size_t)header->e_phnum * sizeof(Elf64_Phdr);
  int is_whole = memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64
    && header->e_shoff < size && sections_end <= size && header->e_phoff < size && segments_end <= size;
  if (is_whole) {
    uintptr_t bias = header->e_type == ET_EXEC ? 0 : (uintptr_t)getauxval(AT_PHDR) - header->e_phoff;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(bytes + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++)
      if (segments[i].p_type == PT_PHDR) bias = (uintptr_t)getauxval(AT_PHDR) - segments[i].p_vaddr;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
      const Elf64_Shdr *table = &sections[i];
      if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum) continue;
      const Elf64_Shdr *names = &sections[table->sh_link];
      if (table->sh_offset > size || table->sh_size > size - table->sh_offset) continue;
      if (names->sh_size == 0 || names->sh_offset > size || names->sh_size > size - names->sh_offset) continue;
      csystem_stacks()->symbols = (const Elf64_Sym *)(bytes + table->sh_offset);
      csystem_stacks()->count = table->sh_size / sizeof(Elf64_Sym);
      csystem_stacks()->names = bytes + names->sh_offset;
      csystem_stacks()->names_size = names->sh_size;
      csystem_stacks()->bias = bias;
      return;
    }
  }
  munmap((void *)bytes, size);
}

// Adds text to a line; safe in a signal handler.
static inline int csystem_append(char *line, int length, int size, const char *text, size_t count) {
  for (size_t i = 0; i < count && length < size && text[i]; i++) line[length++] = text[i];
  return length;
}

static inline int csystem_append_number(char *line, int length, int size, unsigned long number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  while (count > 0 && length < size) line[length++] = digits[--count];
  return length;
}

// A frame as a line: `  at FUNCTION + 31` and a newline. 0 for an address that is in no function of the program's
// table. Safe in a signal handler.
static inline int csystem_frame_line(const void *frame, int is_call, char *line, int size) {
  // The address of a frame is that of the instruction after the call, which may be the next function's first.
  uintptr_t address = (uintptr_t)frame - csystem_stacks()->bias - (is_call ? 1 : 0);
  for (size_t i = 0; i < csystem_stacks()->count; i++) {
    const Elf64_Sym *symbol = &csystem_stacks()->symbols[i];
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= csystem_stacks()->names_size) continue;
    if (address < symbol->st_value || address - symbol->st_value >= symbol->st_size) continue;
    int length = csystem_append(line, 0, size - 32, "  at ", 5);
    const char *name = csystem_stacks()->names + symbol->st_name;
    length = csystem_append(line, length, size - 32, name, csystem_stacks()->names_size - symbol->st_name);
    length = csystem_append(line, length, size, " + ", 3);
    length = csystem_append_number(line, length, size, address - symbol->st_value + (is_call ? 1 : 0));
    return csystem_append(line, length, size, "\n", 1);
  }
  return 0;
}

// The first two frames of a stack that a signal handler takes are the handler and what the kernel returns to; the third
// is where the signal came.
static inline int csystem_first_frame(int count) { return count > 2 ? 2 : 0; }

// Writes the stack of the thread that it runs on to standard error. Calls only what is safe in a signal handler, once
// backtrace(3) has been called outside of one.
static void csystem_print_stack(int signal) {
  int number = errno;
  // Threads write in turn; one that waits for long writes anyway.
  struct timespec pause = {0, 1000000};
  for (int i = 0; i < 200 && __sync_lock_test_and_set(&csystem_stacks()->turn, 1); i++) nanosleep(&pause, 0);
  void *frames[csystem_most_frames];
  int count = backtrace(frames, csystem_most_frames);
  char line[1024], name[17] = "";
  int length = csystem_append(line, 0, sizeof line, "thread ", 7);
  length = csystem_append_number(line, length, sizeof line, (unsigned long)syscall(SYS_gettid));
  if (prctl(PR_GET_NAME, name, 0, 0, 0) == 0) {
    length = csystem_append(line, length, sizeof line, " (", 2);
    length = csystem_append(line, length, sizeof line, name, 16);
    length = csystem_append(line, length, sizeof line, ")", 1);
  }
  length = csystem_append(line, length, sizeof line, ":\n", 2);
  int is_open = write(2, line, (size_t)length) >= 0;
  for (int i = csystem_first_frame(count); i < count && is_open; i++) {
    length = csystem_frame_line(frames[i], i > 2, line, sizeof line);
    if (length > 0) is_open = write(2, line, (size_t)length) >= 0;
    else backtrace_symbols_fd(frames + i, 1, 2);
  }
  __sync_lock_release(&csystem_stacks()->turn);
  errno = number;
  (void)signal;
}

// Lets each thread of the process print its stack.
static void csystem_print_all_stacks(int signal) {
  int number = errno;
  int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return;
  char buffer[4096];
  long size;
  // getdents64(2): opendir(3) allocates.
  while ((size = syscall(SYS_getdents64, tasks, buffer, sizeof buffer)) > 0) {
    for (long offset = 0; offset < size;) {
      struct {
        uint64_t inode;
        int64_t next;
        unsigned short length;
        unsigned char type;
      } *entry = (void *)(buffer + offset);
      const char *name = buffer + offset + 19;
      long thread = 0;
      while (*name >= '0' && *name <= '9') thread = thread * 10 + (*name++ - '0');
      if (thread > 0) syscall(SYS_tgkill, getpid(), thread, SIGRTMIN + 1);
      offset += entry->length;
    }
  }
  close(tasks);
  errno = number;
  (void)signal;
}

static void csystem_take_stack(int signal) {
  int number = errno;
  int count = backtrace(csystem_stacks()->taken, csystem_most_frames);
  __sync_synchronize();
  csystem_stacks()->taken_count = count;
  errno = number;
  (void)signal;
}

// The stack of another thread of this process, as text of up to `size` bytes; returns their number, 0 if the thread
// does not answer within a fifth of a second. One call at a time.
static inline int csystem_stack_of(int thread, char *text, int size) {
  csystem_stacks()->taken_count = 0;
  if (syscall(SYS_tgkill, getpid(), thread, SIGRTMIN + 2) != 0) return 0;
  struct timespec pause = {0, 1000000};
  for (int i = 0; i < 200 && csystem_stacks()->taken_count == 0; i++) nanosleep(&pause, 0);
  int count = csystem_stacks()->taken_count, length = 0;
  __sync_synchronize();
  for (int i = csystem_first_frame(count); i < count && size - length > 64; i++) {
    char line[1024];
    int line_length = csystem_frame_line(csystem_stacks()->taken[i], i > 2, line, sizeof line);
    char **other = line_length > 0 ? 0 : backtrace_symbols(csystem_stacks()->taken + i, 1);
    if (other) line_length = snprintf(line, sizeof line, "%s\n", other[0]);
    if (line_length >= (int)sizeof line) line_length = (int)sizeof line - 1;
    free(other);
    length = csystem_append(text, length, size, line, (size_t)line_length);
  }
  return length;
}

// From now on `signal` makes each thread print its stack to standard error, one after the other, and
// `csystem_stack_of` can ask a thread for its own. Called before there is a second thread.
static inline int csystem_print_stacks_on(int signal) {
  void *frames[1];
  backtrace(frames, 1);
  csystem_read_functions();
  struct sigaction one, all, taken;
  one.sa_handler = csystem_print_stack;
  all.sa_handler = csystem_print_all_stacks;
  taken.sa_handler = csystem_take_stack;
  one.sa_flags = all.sa_flags = taken.sa_flags = SA_RESTART;
  sigemptyset(&one.sa_mask);
  sigemptyset(&taken.sa_mask);
  sigemptyset(&all.sa_mask);
  sigaddset(&all.sa_mask, SIGRTMIN + 1);
  return sigaction(SIGRTMIN + 1, &one, 0) | sigaction(SIGRTMIN + 2, &taken, 0) | sigaction(signal, &all, 0);
}

// Names of Swift's functions for people: in the standard library. The caller frees the result; null for other names.
char *swift_demangle(const char *name, size_t length, char *output, size_t *output_size, uint32_t flags);

#endif
