// The kernel calls a group out of memory when it can free nothing more. A group whose memory is full of what cannot be freed, but for a few
// pages of its programs, can still free those: each is read from the disk again at once, and a guest has been seen to stand so for minutes.
// The kernel's account of stalls tells of it, and its own out-of-memory killer ends it.
#include "thrash.h"
#include "boot.h"
#include "cgroup.h"
#include "streams.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

// Thrashing was measured to stall a group for 40 % of the time under emulation, where faults themselves are slow, and more elsewhere.
static const char trigger[] = "full 1000000 5000000"; // us in which none of its processes got on, of each window
enum { WINDOW_MS = 5000, LASTS_MS = 10000 };

static int pressure_fd = -1;
static int64_t first_ms, last_ms;

void thrash_watch(void) {
  int fd = cgroup_open_pressure();
  if (fd < 0) return;
  if (write(fd, trigger, sizeof trigger) == sizeof trigger)
    pressure_fd = fd;
  else
    close(fd);
}

struct pollfd thrash_poll(void) {
  return (struct pollfd){.fd = pressure_fd, .events = POLLPRI};
}

static void kill_largest(void) {
  printf("skerry: the commands wait for their memory all the time: the largest is killed\n");
  fflush(stdout);
  int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "f", 1) != 1) printf("skerry: the kernel has no key for its out-of-memory killer\n");
  close(fd);
}

void thrash_move(const struct pollfd *poll) {
  if (!machine_is_ours || !(poll->revents & POLLPRI) || !cgroup_is_choked()) return;
  int64_t now_ms = now_us() / 1000;
  if (now_ms - last_ms > 2 * WINDOW_MS) first_ms = now_ms;
  last_ms = now_ms;
  if (now_ms - first_ms < LASTS_MS) return;
  last_ms = 0;
  kill_largest();
}
