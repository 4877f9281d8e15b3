// Runs a program in a network namespace, which Node can enter no more than it can make a TAP. It becomes the
// program.
//
//   netns-exec --net FILE [--set NAME=VALUE]... [--tap NAME] -- PROGRAM ARG...
//
// In the namespace, and in this order, it sets kernel parameters, named as sysctl names them, and makes a TAP
// that stays. A parameter that this kernel does not have is passed over. PROGRAM is looked for in PATH. Any
// failure ends it with a line on stderr and status 126.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FAILED = 126 };

static _Noreturn void fail(const char *step, const char *subject) {
  fprintf(stderr, "netns-exec: %s %s: %s\n", step, subject, strerror(errno));
  exit(FAILED);
}

static _Noreturn void refuse(int why, const char *step, const char *subject) {
  errno = why;
  fail(step, subject);
}

static void enter_netns(const char *file) {
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || setns(fd, CLONE_NEWNET)) fail("enter network namespace", file);
  close(fd);
}

// /proc/sys/net shows the network namespace of the process that opens it.
static void set_parameter(const char *setting) {
  char path[256];
  const char *value = strchr(setting, '=');
  if (!value) refuse(EINVAL, "set", setting);
  int length = snprintf(path, sizeof path, "/proc/sys/%.*s", (int)(value - setting), setting);
  if (length >= (int)sizeof path) refuse(ENAMETOOLONG, "set", setting);
  for (char *at = path; *at; at++) {
    if (*at == '.') *at = '/';
  }
  value += 1;
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0 || write(fd, value, strlen(value)) < 0) fail("set", setting);
  close(fd);
}

static void make_tap(const char *name) {
  struct ifreq request = {.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL)};
  if (strlen(name) >= sizeof request.ifr_name) refuse(ENAMETOOLONG, "make TAP", name);
  strcpy(request.ifr_name, name);
  int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) fail("open", "/dev/net/tun");
  if (ioctl(fd, TUNSETIFF, &request) || ioctl(fd, TUNSETPERSIST, 1)) fail("make TAP", name);
  close(fd);
}

int main(int count, char **words) {
  int at = 3;
  if (count < at || strcmp(words[1], "--net")) refuse(EINVAL, "usage:", "netns-exec --net FILE ... -- PROGRAM ARG...");
  enter_netns(words[2]);
  for (; at + 1 < count && strcmp(words[at], "--"); at += 2) {
    if (!strcmp(words[at], "--set")) set_parameter(words[at + 1]);
    else if (!strcmp(words[at], "--tap")) make_tap(words[at + 1]);
    else refuse(EINVAL, "unknown flag", words[at]);
  }
  if (at + 1 >= count) refuse(EINVAL, "run", "nothing");
  execvp(words[at + 1], words + at + 1);
  fail("run", words[at + 1]);
}
