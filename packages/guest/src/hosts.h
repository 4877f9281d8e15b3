// /etc/hosts, in which one name is ours: the machine's own, of 127.0.1.1. All else in it is the user's.
#ifndef SKERRY_HOSTS_H
#define SKERRY_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

struct text {
  char *bytes; // NULL where there is none; else to be freed
  size_t length;
};

// The text with `name` in the place of the two former names, on lines of 127.0.1.1. With `complete` also the
// lines that are missing: those of localhost first, that of the name last. NULL where nothing changes, or
// there is no memory.
struct text hosts_renamed(struct text hosts, const char *const former[2], const char *name, bool complete);

#endif
