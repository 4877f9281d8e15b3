// The extended attributes of files that users keep there (`user.NAME`).
#ifndef SKERRY_ATTRIBUTES_H
#define SKERRY_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

enum {
  ATTRIBUTE_NAME_MAX_BYTES = 250, // without the prefix: the kernel takes 255
  ATTRIBUTES_BYTES = 4096, // of one file: names and values; contract/src/bounds.ts has the same
  // Quoted: each byte escaped, and of the shortest ones, with a prefix, a name and a value, `"":"",`.
  ATTRIBUTES_JSON_BYTES = 6 * ATTRIBUTES_BYTES + 6 * (ATTRIBUTES_BYTES / 7) + 3,
};

// Writes an object of names, without their prefix, and values to `to`, which has ATTRIBUTES_JSON_BYTES. Answers its length, 0 where there are
// none. Values that are no text are left out, and so is what goes beyond ATTRIBUTES_BYTES.
size_t attributes_quote(char *to, const char *path, bool follow);

// Each is `NAME=value`. On failure errno says why.
bool attributes_set(int fd, char *const *attributes);

// Removes all there are. On failure errno says why.
bool attributes_clear(int fd);

#endif
