// The pages of a guest that differ from the memory that it was started from, in one file: changed-pages.c writes it, private-memory.c maps it.
//
//   struct memory_pages · struct memory_run[runs] · padding up to a page · the runs' pages, in the same order
#pragma once

#include <stdint.h>

#define MEMORY_PAGES_MAGIC "SKRYMEM1"

struct memory_pages {
  char magic[8];
  uint64_t memory_bytes; // of the guest
  uint64_t runs;
};

// All three are multiples of the page size.
struct memory_run {
  uint64_t memory_at;
  uint64_t bytes;
  uint64_t at; // in this file
};
