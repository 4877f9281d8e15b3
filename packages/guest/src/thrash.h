// Commands that have filled their memory so far that they read the same pages of files again and again.
#ifndef SKERRY_THRASH_H
#define SKERRY_THRASH_H

#include <poll.h>

// Only where this machine is ours: the victim is chosen among all its processes.
void thrash_watch(void);

struct pollfd thrash_poll(void);
void thrash_move(const struct pollfd *poll);

#endif
