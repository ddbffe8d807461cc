// Argument lists, which Swift cannot step through.
#ifndef WORKERPOOL_CARGUMENTS_H
#define WORKERPOOL_CARGUMENTS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Reads `count` arguments, one letter of `kinds` each: 'i' int, 'd' double, anything else a 64-bit integer or a
// pointer. All at once, since on arm64 a va_list is passed by value and does not advance for the caller.
static inline void csystem_read_arguments(va_list list, const char *kinds, uint64_t *words, size_t count) {
  va_list copy;
  va_copy(copy, list);
  for (size_t i = 0; i < count; i++) {
    union {
      double real;
      uint64_t word;
    } value;
    switch (kinds[i]) {
    case 'd': value.real = va_arg(copy, double); break;
    case 'i': value.word = (uint64_t)(int64_t)va_arg(copy, int); break;
    default: value.word = va_arg(copy, uint64_t); break;
    }
    words[i] = value.word;
  }
  va_end(copy);
}

#endif
