// The lists of types and conformances that Swift images bring along, as the Swift runtime keeps them.
//
// Source: stdlib/public/runtime/ImageInspectionCommon.h and shims/MetadataSections.h of Swift, from version 5.7 on.
#ifndef WORKERPOOL_CMETADATA_H
#define WORKERPOOL_CMETADATA_H

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

#endif
