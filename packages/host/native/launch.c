// Starts one QEMU in its confinement: cgroup, network namespace, TAP, limits, its own uid; then becomes it.
//
//   launch --cgroup DIR --netns FILE --tap NAME --uid N [--group N] [--file-mib N] -- PROGRAM ARG...
//
// It is a program of its own because Node can neither enter a namespace nor open a TAP, and because joining the cgroup
// before exec leaves no moment in which QEMU runs outside it. On exec: fd 0-2 and 3 (the frozen state, if any) as
// inherited, fd 10 is the TAP, everything else is closed. Any failure ends it with a line on stderr and status 126.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATE_FD = 3, TAP_FD = 10, OPEN_FILES = 1024, FAILED = 126 };

static _Noreturn void fail(const char *step, const char *subject) {
  fprintf(stderr, "launch: %s %s: %s\n", step, subject, strerror(errno));
  exit(FAILED);
}

static unsigned number(const char *text) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (errno || *text == 0 || *end != 0 || value == 0 || value > 0x7fffffff) {
    errno = EINVAL;
    fail("not an id:", text);
  }
  return (unsigned)value;
}

static void join_cgroup(const char *dir) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/cgroup.procs", dir) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    fail("cgroup", dir);
  }
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) != 1) fail("join cgroup", dir);
  close(fd);
}

static void enter_netns(const char *file) {
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || setns(fd, CLONE_NEWNET)) fail("enter network namespace", file);
  close(fd);
}

static void open_tap(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
  if (strlen(name) >= sizeof request.ifr_name) {
    errno = ENAMETOOLONG;
    fail("TAP", name);
  }
  strcpy(request.ifr_name, name);
  int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) fail("open", "/dev/net/tun");
  if (ioctl(fd, TUNSETIFF, &request)) fail("attach TAP", name);
  if (dup2(fd, TAP_FD) < 0) fail("dup TAP", name);
  if (fd != TAP_FD) close(fd);
}

static void limit(int resource, rlim_t value) {
  struct rlimit both = {value, value};
  if (setrlimit(resource, &both)) fail("limit", "resources");
}

// A process that is not root has no capabilities left after this, and no_new_privs keeps it so.
static void drop_privileges(unsigned uid, unsigned group) {
  gid_t groups[1] = {group};
  if (setgroups(group ? 1 : 0, groups)) fail("set", "groups");
  if (setresgid(uid, uid, uid)) fail("set", "gid");
  if (setresuid(uid, uid, uid)) fail("set", "uid");
  // QEMU's tables are sparse: in huge pages each would take 2 MB.
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) fail("set", "THP off");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("set", "no_new_privs");
}

int main(int argc, char **argv) {
  const char *cgroup = NULL, *netns = NULL, *tap = NULL;
  unsigned uid = 0, group = 0, file_mib = 0;
  int at = 1;
  for (; at + 1 < argc && strcmp(argv[at], "--"); at += 2) {
    const char *flag = argv[at], *value = argv[at + 1];
    if (!strcmp(flag, "--cgroup")) cgroup = value;
    else if (!strcmp(flag, "--netns")) netns = value;
    else if (!strcmp(flag, "--tap")) tap = value;
    else if (!strcmp(flag, "--uid")) uid = number(value);
    else if (!strcmp(flag, "--group")) group = number(value);
    else if (!strcmp(flag, "--file-mib")) file_mib = number(value);
    else {
      errno = EINVAL;
      fail("unknown flag", flag);
    }
  }
  if (at >= argc - 1 || uid == 0) {
    errno = EINVAL;
    fail("usage:", "launch --uid N [--cgroup DIR] [--netns FILE --tap NAME] [--group N] [--file-mib N] -- PROGRAM ARG...");
  }
  if (cgroup) join_cgroup(cgroup);
  if (netns) enter_netns(netns);
  if (tap) open_tap(tap);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES);
  // The largest file that it may write, wherever: a guest's disk, and nothing that fills this machine.
  if (file_mib) limit(RLIMIT_FSIZE, (rlim_t)file_mib << 20);
  // Raw calls: older C libraries have no wrapper.
  int last_closed = tap ? TAP_FD - 1 : TAP_FD;
  if (syscall(SYS_close_range, STATE_FD + 1, last_closed, 0) || syscall(SYS_close_range, TAP_FD + 1, ~0U, 0)) {
    fail("close", "inherited files");
  }
  drop_privileges(uid, group);
  execv(argv[at + 1], argv + at + 1);
  fail("exec", argv[at + 1]);
}
