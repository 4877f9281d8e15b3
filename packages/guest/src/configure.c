// What makes a clone a machine of its own, and what ends one.
#include "boot.h"
#include "child.h"
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// linux/random.h is not on musl's path.
#define RNDADDENTROPY 0x40085203
#define RNDRESEEDCRNG 0x5207

// On a tmpfs; each variable is ended by a NUL byte.
#define ENVIRONMENT "/run/skerry-environment"
#define ENVIRONMENT_PART "/run/skerry-environment.part"

enum { SLEW_MAX_US = 500000, ENTROPY_BYTES = 64, DYING_MAX_MS = 2000, DRAINING_MAX_MS = 1000 };

static bool mix_entropy(const char *hex) {
  struct {
    int bits, bytes;
    unsigned char pool[ENTROPY_BYTES];
  } entropy = {.bits = 8 * ENTROPY_BYTES, .bytes = ENTROPY_BYTES};
  for (int i = 0; i < ENTROPY_BYTES; i++) {
    char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
    entropy.pool[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
  int fd = open("/dev/urandom", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  bool mixed = fd >= 0 && ioctl(fd, RNDADDENTROPY, &entropy) == 0 && ioctl(fd, RNDRESEEDCRNG) == 0;
  if (fd >= 0) close(fd);
  return mixed;
}

static void rename_machine(const struct request *request) {
  char id[64], now[65] = "";
  snprintf(id, sizeof id, "%s\n", request->machine_id);
  gethostname(now, sizeof now - 1);
  // A resumed sandbox keeps its name, and what its user has written into these files.
  if (strcmp(now, request->hostname) == 0) return;
  sethostname(request->hostname, strlen(request->hostname));
  identity_rename(now, request->hostname);
  write_file("/etc/machine-id", id);
}

// For programs that ran before this was a machine of its own, such as those that are frozen with a template: they have no other way to the variables
// that every command begins with. Root's alone, because what runs as another user may not see those of its neighbours.
static void write_environment(const struct request *request) {
  unlink(ENVIRONMENT_PART);
  int fd = open(ENVIRONMENT_PART, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  bool whole = true;
  for (char *const *entry = request->env; *entry && whole; entry++) {
    size_t size = strlen(*entry) + 1;
    whole = write(fd, *entry, size) == (ssize_t)size;
  }
  close(fd);
  if (!whole || rename(ENVIRONMENT_PART, ENVIRONMENT) != 0) unlink(ENVIRONMENT_PART);
}

void apply_clock_and_entropy(const struct request *request, struct outcome *outcome) {
  struct timespec clock = {.tv_sec = request->clock_us / 1000000,
                           .tv_nsec = request->clock_us % 1000000 * 1000};
  if (machine_is_ours) {
    if (!mix_entropy(request->entropy)) return outcome_fail_errno(outcome, "cannot mix the entropy");
    if (clock_settime(CLOCK_REALTIME, &clock) != 0) return outcome_fail_errno(outcome, "cannot set the clock");
    if (request->operation == CONFIGURE) {
      write_environment(request);
      rename_machine(request);
    }
  }
  strcpy(outcome->result, "{}");
}

// A small difference is made up for slowly, so that no program sees time go back; the kernel takes 2 s for a millisecond.
void adjust_clock(const struct request *request, struct outcome *outcome) {
  int64_t adjust_us = request->adjust_us;
  struct timespec now;
  if (machine_is_ours && adjust_us != 0) {
    struct timeval slew = {.tv_sec = 0, .tv_usec = adjust_us};
    bool small = adjust_us > -SLEW_MAX_US && adjust_us < SLEW_MAX_US;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t then_us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000 + adjust_us;
    struct timespec then = {.tv_sec = then_us / 1000000, .tv_nsec = then_us % 1000000 * 1000};
    if ((small ? adjtime(&slew, NULL) : clock_settime(CLOCK_REALTIME, &then)) != 0)
      return outcome_fail_errno(outcome, "cannot adjust the clock");
  }
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(outcome->result, sizeof outcome->result, "{\"clock_us\":%lld}",
           now.tv_sec * 1000000LL + now.tv_nsec / 1000);
}

void shutdown_begin(void) {
  cgroup_kill_all();
  if (machine_is_ours) kill(-1, SIGKILL); // all but the agent itself
}

// The last words of what ran here are still on their way through a slow port.
static void drain_console(void) {
  int console = open("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  for (int ms = 0, left = 0; ms < DRAINING_MAX_MS; ms++) {
    if (ioctl(console, TIOCOUTQ, &left) != 0 || left == 0) return;
    usleep(1000);
  }
}

void shutdown_child(const struct request *request, struct outcome *outcome) {
  (void)request;
  for (int ms = 0; ms < DYING_MAX_MS && !cgroup_is_empty(); ms++) usleep(1000);
  if (machine_is_ours) {
    sync();
    drain_console();
    mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
  }
  child_succeed(outcome, "{}");
}
