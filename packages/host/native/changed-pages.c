// changed-pages PID ADDRESS BYTES BASE FILE: writes the pages of a guest that differ from the memory that it was started from into a new
// file, in the form of memory-pages.h. PID is its QEMU, whose vCPUs are stopped; BYTES of memory begin at ADDRESS there; BASE is the
// file of memory that private-memory.c has mapped there, or holds no data.
//
// A page is looked at that is private to QEMU (anonymous, in memory or swapped out), or that is mapped from any other file than BASE: that is one
// of the pages that the guest was started with (private-memory.c), so a chain of such files never has to be followed. It is written unless BASE
// has the same there.
//
// It is a program because Node reads neither /proc/PID/pagemap of a large guest nor its memory without holding both up.
#define _GNU_SOURCE
#include "memory-pages.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, GAP_PAGES = 8, BUFFER_BYTES = 1 << 20, ENTRIES_AT_ONCE = 1 << 15 };
// Bits of an entry of /proc/PID/pagemap.
static const uint64_t PRESENT = 1ull << 63, SWAPPED = 1ull << 62, OF_FILE = 1ull << 61;

static int out;
static uint64_t start, size, pages;
static uint8_t *changed; // a byte for each page of the guest

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "changed-pages: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int open_of(const char *pid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path);
  return fd;
}

static void mark(uint64_t from, uint64_t to) {
  memset(changed + (from - start) / PAGE, 1, (to - from) / PAGE);
}

// Not by the device in /proc/PID/maps, which is none that stat knows on some file systems.
static bool is_mapped_from(const char *pid, uint64_t from, uint64_t to, const struct stat *base) {
  char path[96];
  struct stat mapped;
  snprintf(path, sizeof path, "/proc/%s/map_files/%" PRIx64 "-%" PRIx64, pid, from, to);
  if (stat(path, &mapped)) fail(path);
  return mapped.st_dev == base->st_dev && mapped.st_ino == base->st_ino;
}

// What is mapped from a file that is not the base.
static void mark_inherited(const char *pid, const struct stat *base) {
  FILE *maps = fdopen(open_of(pid, "maps"), "r");
  char *line = NULL;
  size_t room = 0;
  uint64_t covered = 0;
  while (maps && getline(&line, &room, maps) > 0) {
    uint64_t from, to, inode;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %*x:%*x %" SCNu64, &from, &to, &inode) != 3) continue;
    if (to <= start || from >= start + size) continue;
    bool is_inherited = inode != 0 && !is_mapped_from(pid, from, to, base);
    if (from < start) from = start;
    if (to > start + size) to = start + size;
    covered += to - from;
    if (is_inherited) mark(from, to);
  }
  if (!maps || ferror(maps)) fail("maps");
  free(line);
  fclose(maps);
  // A QEMU that a guest has broken into may have unmapped what it likes.
  errno = EFAULT;
  if (covered != size) fail("the guest's memory is not where it should be");
}

static void mark_private(const char *pid) {
  static uint64_t entries[ENTRIES_AT_ONCE];
  int pagemap = open_of(pid, "pagemap");
  for (uint64_t page = 0; page < pages;) {
    size_t wanted = pages - page < ENTRIES_AT_ONCE ? pages - page : ENTRIES_AT_ONCE;
    ssize_t got = pread(pagemap, entries, wanted * sizeof *entries, (off_t)((start / PAGE + page) * sizeof *entries));
    if (got <= 0 || got % (ssize_t)sizeof *entries) fail("pagemap");
    for (size_t i = 0; i < (size_t)got / sizeof *entries; i++, page++) {
      if ((entries[i] & SWAPPED) || ((entries[i] & PRESENT) && !(entries[i] & OF_FILE))) changed[page] = 1;
    }
  }
  close(pagemap);
}

// A page that says what BASE says there is none that was changed: a guest writes back what was there, pages were written to fill a short gap when it was
// saved before, and over a file without data there are pages of zeros that were only read.
static void unmark_same(int memory, const uint8_t *base, uint8_t *buffer) {
  for (uint64_t page = 0, count; page < pages; page += count) {
    for (count = 0; count < BUFFER_BYTES / PAGE && page + count < pages && changed[page + count];) count++;
    if (count == 0) {
      count = 1;
      continue;
    }
    if (pread(memory, buffer, count * PAGE, (off_t)(start + page * PAGE)) != (ssize_t)(count * PAGE)) fail("read memory");
    for (uint64_t i = 0; i < count; i++)
      changed[page + i] = memcmp(buffer + i * PAGE, base + (page + i) * PAGE, PAGE) != 0;
  }
}

// Pages in a row are one run, across short gaps too: a few pages more are cheaper than another mapping. Answers how many runs there are.
static uint64_t find_runs(struct memory_run *runs) {
  uint64_t count = 0;
  for (uint64_t page = 0, last = 0; page < pages; page++) {
    if (!changed[page]) continue;
    bool joins = count > 0 && page - last <= GAP_PAGES;
    if (!joins) count++;
    if (runs && !joins) runs[count - 1] = (struct memory_run){.memory_at = page * PAGE};
    if (runs) runs[count - 1].bytes = (page + 1) * PAGE - runs[count - 1].memory_at;
    last = page;
  }
  return count;
}

static void put(const void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t written = write(out, (const char *)bytes + done, length - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write");
    done += (size_t)written;
  }
}

static void put_pages(int memory, const struct memory_run *run, char *buffer) {
  for (uint64_t done = 0; done < run->bytes;) {
    size_t wanted = run->bytes - done < BUFFER_BYTES ? run->bytes - done : BUFFER_BYTES;
    ssize_t got = pread(memory, buffer, wanted, (off_t)(start + run->memory_at + done));
    if (got <= 0) fail("read memory");
    put(buffer, (size_t)got);
    done += (uint64_t)got;
  }
}

static uint64_t number(const char *text) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (errno == 0 && (*text == 0 || *end != 0 || value == 0 || value % PAGE)) errno = EINVAL;
  if (errno) fail(text);
  return value;
}

int main(int argc, char **argv) {
  struct stat base;
  if (argc != 6) {
    fprintf(stderr, "usage: changed-pages PID ADDRESS BYTES BASE FILE\n");
    return 2;
  }
  start = number(argv[2]);
  size = number(argv[3]);
  pages = size / PAGE;
  changed = calloc(pages, 1);
  char *buffer = malloc(BUFFER_BYTES);
  if (!changed || !buffer) fail("memory");
  int base_fd = open(argv[4], O_RDONLY | O_CLOEXEC);
  if (base_fd < 0 || fstat(base_fd, &base)) fail(argv[4]);
  errno = EINVAL;
  if ((uint64_t)base.st_size < size) fail("the memory that the guest was started from is shorter than the guest's");
  const uint8_t *contents = mmap(NULL, size, PROT_READ, MAP_SHARED, base_fd, 0);
  if (contents == MAP_FAILED) fail("map the memory that the guest was started from");
  out = open(argv[5], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (out < 0) fail(argv[5]);
  mark_inherited(argv[1], &base);
  mark_private(argv[1]);
  int memory = open_of(argv[1], "mem");
  unmark_same(memory, contents, (uint8_t *)buffer);
  struct memory_pages head = {.magic = MEMORY_PAGES_MAGIC, .memory_bytes = size, .runs = find_runs(NULL)};
  struct memory_run *runs = calloc(head.runs + 1, sizeof *runs);
  if (!runs) fail("memory");
  find_runs(runs);
  uint64_t index = sizeof head + head.runs * sizeof *runs, at = (index + PAGE - 1) / PAGE * PAGE;
  for (uint64_t i = 0; i < head.runs; i++) {
    runs[i].at = at;
    at += runs[i].bytes;
  }
  put(&head, sizeof head);
  put(runs, head.runs * sizeof *runs);
  memset(buffer, 0, PAGE);
  put(buffer, (PAGE - index % PAGE) % PAGE);
  for (uint64_t i = 0; i < head.runs; i++) put_pages(memory, &runs[i], buffer);
  return 0;
}
