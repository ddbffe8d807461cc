// The lists of types and conformances that Swift images bring along, as the Swift runtime keeps them.
//
// Source: stdlib/public/runtime/ImageInspectionCommon.h and shims/MetadataSections.h of Swift, from version 5.7 on.
#ifndef WORKERPOOL_CMETADATA_H
#define WORKERPOOL_CMETADATA_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csystem_metadata_range {
  uintptr_t start;
  size_t length;
};

// The beginning of what the runtime knows of one image; version 3 or later.
struct csystem_metadata_sections {
  uintptr_t version;
  const void *base;
  void *unused[2];
  struct csystem_metadata_range protocols;
  struct csystem_metadata_range conformances;
  struct csystem_metadata_range types;
};

// Calls `body` for each image, those opened with dlopen included, until it returns false.
void swift_enumerateAllMetadataSections(
    bool (*body)(const struct csystem_metadata_sections *sections, void *context), void *context);

// Calls a type's metadata accessor: the complete metadata of a type that is not generic.
static inline const void *csystem_type_metadata(const void *accessor) {
  struct response {
    const void *metadata;
    size_t state;
  };
  typedef struct response (*function)(size_t) __attribute__((swiftcall));
  return ((function)accessor)(0).metadata;
}

// dl_iterate_phdr(3), which <link.h> declares for _GNU_SOURCE only, under another name: calls `body` for each loaded
// image until it returns another value than 0.
struct csystem_loaded_image {
  uintptr_t base;
  const char *name;
  const Elf64_Phdr *segments;
  uint16_t segment_count;
};
int csystem_for_each_image(int (*body)(struct csystem_loaded_image *, size_t, void *), void *) __asm__(
    "dl_iterate_phdr");

static inline int csystem_finds_relro(struct csystem_loaded_image *image, size_t size, void *address) {
  (void)size;
  for (uint16_t index = 0; index < image->segment_count; index++) {
    const Elf64_Phdr *segment = &image->segments[index];
    if (segment->p_type != PT_GNU_RELRO) continue;
    if ((uintptr_t)address - (image->base + segment->p_vaddr) < segment->p_memsz) return 1;
  }
  return 0;
}

// Whether the address is in a part of an image that the dynamic linker made read-only after it had relocated it.
static inline bool csystem_is_relro(const void *address) {
  return csystem_for_each_image(csystem_finds_relro, (void *)address) == 1;
}

#endif
