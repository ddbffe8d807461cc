#pragma once

// What a hostile plugin knows of its surroundings.
struct trespass_place {
  // A directory of another user, with a file `secret`.
  const char *outside;
  // A directory of the worker's own.
  const char *own;
  // The queue directory.
  const char *queue;
  // The name of an abstract socket at which another process listens.
  const char *abstract_socket;
};

// How many ways out of a confinement there are to try.
int trespass_count(void);

// What a way out would do.
const char *trespass_name(int index);

// Tries a way out. Gives 0 if the worker was let, or the error number.
int trespass_try(int index, const struct trespass_place *place);
