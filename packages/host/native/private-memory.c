// Preloaded into a QEMU whose guest starts from a file of memory that others start from too: a frozen template's. QEMU is told that it shares
// that file (share=on), because only then does it leave memory out when it saves its state (`x-ignore-shared`), and the file is mapped
// privately all the same. So all that a guest has changed is what is anonymous in the mapping, and changed-pages.c can write just that.
// The file is opened read-only, and another user can own it: a QEMU that a guest has broken into cannot write to what others start from.
// (QEMU would open it for writing; from 8.2 on `readonly=on,rom=off` would not, but then QEMU gives back nothing that its guest has freed.)
//
//   SKERRY_PRIVATE_MEMORY  the file. One that holds no data at all is not mapped: its guest gets memory of its own, in huge pages if it may
//   SKERRY_MEMORY_PAGES    a file descriptor. Its pages, which changed-pages.c has written, lie over the file's; they are mapped as
//                          privately, so guests that start from the same pages share them
//
// When a guest reports free memory, QEMU cuts it out of the file before it drops its own copy. All clones
// share the file, so it must not be cut; dropping the copy is what gives the memory back, so the cut is
// answered as done. (From 8.2 on QEMU writes one line about the danger into its log.)
#define _GNU_SOURCE
#include "memory-pages.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A process may have some 65,000 mappings. What comes after these is copied.
enum { MAPPINGS_MAX = 16384 };

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

static _Noreturn void give_up(const char *why) {
  fprintf(stderr, "private-memory: %s\n", why);
  _exit(1);
}

typedef void *mmap_function(void *, size_t, int, int, int, off_t);

static mmap_function *real_mmap(void) {
  static mmap_function *real;
  if (real == NULL) real = (mmap_function *)dlsym(RTLD_NEXT, "mmap64");
  if (real == NULL) abort();
  return real;
}

// Newer C libraries have another atoi, which older ones lack: this file is built on one machine and runs on others.
static int number(const char *text) {
  int value = 0;
  for (; *text >= '0' && *text <= '9'; text++) value = 10 * value + (*text - '0');
  return value;
}

static void copy(int fd, char *to, struct memory_run run) {
  for (uint64_t done = 0; done < run.bytes;) {
    ssize_t got = pread(fd, to + done, run.bytes - done, (off_t)(run.at + done));
    if (got <= 0) give_up("the pages of a snapshot end too early");
    done += (uint64_t)got;
  }
}

// The host has checked the file; what would write outside of the guest's memory is looked for all the same.
static void lay_over(char *memory, size_t size) {
  const char *text = getenv("SKERRY_MEMORY_PAGES");
  if (text == NULL) return;
  int fd = number(text);
  struct memory_pages pages;
  if (pread(fd, &pages, sizeof pages, 0) != sizeof pages || memcmp(pages.magic, MEMORY_PAGES_MAGIC, sizeof pages.magic) ||
      pages.memory_bytes != size)
    give_up("these are not the pages of such a guest");
  for (uint64_t i = 0; i < pages.runs; i++) {
    struct memory_run run;
    if (pread(fd, &run, sizeof run, (off_t)(sizeof pages + i * sizeof run)) != sizeof run || run.memory_at > size ||
        run.bytes > size - run.memory_at)
      give_up("a run of pages lies outside of the guest's memory");
    if (i >= MAPPINGS_MAX) copy(fd, memory + run.memory_at, run);
    else if (real_mmap()(memory + run.memory_at, run.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, (off_t)run.at) == MAP_FAILED)
      give_up("a run of pages cannot be mapped");
  }
  close(fd);
}

static bool is_memory(int fd, struct stat *file) {
  const char *memory = getenv("SKERRY_PRIVATE_MEMORY");
  struct stat named;
  return memory != NULL && fd >= 0 && fstat(fd, file) == 0 && stat(memory, &named) == 0 && file->st_dev == named.st_dev &&
         file->st_ino == named.st_ino;
}

static void *mmap_privately(void *at, size_t size, int prot, int flags, int fd, off_t offset) {
  struct stat file;
  if (!(flags & MAP_SHARED) || !is_memory(fd, &file)) return real_mmap()(at, size, prot, flags, fd, offset);
  int private = (flags & ~(MAP_SHARED | MAP_SHARED_VALIDATE)) | MAP_PRIVATE;
  void *memory = file.st_blocks == 0 ? real_mmap()(at, size, prot, private | MAP_ANONYMOUS, -1, 0)
                                     : real_mmap()(at, size, prot, private, fd, offset);
  if (memory != MAP_FAILED && offset == 0) lay_over(memory, size);
  return memory;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset) { return mmap_privately(at, size, prot, flags, fd, offset); }
void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset) { return mmap_privately(at, size, prot, flags, fd, offset); }
