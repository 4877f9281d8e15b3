// Preloaded into a clone's QEMU, which opens a memory file for writing even where it maps it copy-on-write
// (share=off), so a QEMU that a guest has broken into could write to the memory that all other clones start
// from. Here that one file is opened read-only, and another user can then own it; a private writable mapping
// needs no more. From 8.2 on `readonly=on,rom=off` would do as much, but then QEMU gives back none of the
// memory that its guest has freed.
//
// When a guest reports free memory, QEMU cuts it out of the file before it drops its own copy. All clones
// share the file, so it must not be cut; dropping the copy is what gives the memory back, so the cut is
// answered as done. (From 8.2 on QEMU writes one line about the danger into its log.)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int read_only(const char *path, int flags) {
  const char *memory = getenv("SKERRY_PRIVATE_MEMORY");
  if (memory == NULL || strcmp(path, memory) != 0) return flags;
  return (flags & ~O_ACCMODE) | O_RDONLY;
}

typedef int open_function(const char *, int, ...);

static int open_as(const char *symbol, const char *path, int flags, mode_t mode) {
  open_function *real = (open_function *)dlsym(RTLD_NEXT, symbol);
  if (real == NULL) abort();
  return real(path, read_only(path, flags), mode);
}

static mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_as("open64", path, flags, mode);
}

static bool is_cut_of_memory(int fd, int mode) {
  return (mode & FALLOC_FL_PUNCH_HOLE) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

typedef int fallocate_function(int, int, off_t, off_t);

static int fallocate_as(const char *symbol, int fd, int mode, off_t at, off_t length) {
  if (is_cut_of_memory(fd, mode)) return 0;
  fallocate_function *real = (fallocate_function *)dlsym(RTLD_NEXT, symbol);
  if (real == NULL) abort();
  return real(fd, mode, at, length);
}

int fallocate(int fd, int mode, off_t at, off_t length) { return fallocate_as("fallocate", fd, mode, at, length); }
int fallocate64(int fd, int mode, off_t at, off_t length) { return fallocate_as("fallocate64", fd, mode, at, length); }

// What _FORTIFY_SOURCE turns an open without a mode into.
int __open_2(const char *path, int flags) { return open_as("open", path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_as("open64", path, flags, 0); }
