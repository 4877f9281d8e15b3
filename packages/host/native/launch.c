// Starts one QEMU in its confinement: cgroup, network and IPC namespaces, TAP, sockets, limits, its own uid;
// then becomes it.
//
//   launch --folder DIR --log FILE [--state FILE] [--env NAME=VALUE]... --cgroup DIR --netns FILE --tap NAME --uid N [--device FILE]
//          [--huge-pages on] [--file-mib N] [--listen NAME]... [--console-log PROGRAM --console FILE] -- PROGRAM ARG...
//
// It is a program of its own because Node can neither enter a namespace nor open a TAP, and because joining
// the cgroup before exec leaves no moment in which QEMU runs outside it. QEMU's sockets are made here, so
// that its folder can be root's from the first moment on: a QEMU that a guest has broken into must not be
// able to put something else in their place. It leaves its starter's session, because QEMU outlives the
// host's processes. On exec: fd 1 and 2 the log, 3 the frozen state, 10 the TAP, 11 and 12 the sockets in the
// order of their flags, 13 the console, everything else is closed; no variable but those that were given. Any
// failure ends it with a line in the log, where that could be opened, and status 126.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// Below the servers that speak for all guests, also where no cgroup says so.
enum { NICENESS = 10 };

enum { VARIABLES_MAX = 16, STATE_FD = 3, TAP_FD = 10, LISTEN_FD = 11, LISTEN_MAX = 2, CONSOLE_FD = 13, OPEN_FILES = 1024, FAILED = 126 };

static bool kept[CONSOLE_FD + 1];

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

// Gives a file the number under which QEMU's command line knows it.
static void keep(int fd, int as, const char *what) {
  if (dup2(fd, as) < 0) fail("dup", what);
  if (fd != as) close(fd);
  kept[as] = true;
}

// Root owns the folder, so no other user can have put a link there.
static void open_log(const char *file) {
  int nothing = open("/dev/null", O_RDWR), log = open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
  if (nothing < 0 || dup2(nothing, 0) < 0) fail("open", "/dev/null");
  if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) fail("open", file);
  if (nothing > 2) close(nothing);
  if (log > 2) close(log);
}

static void open_state(const char *file) {
  int fd = open(file, O_RDONLY);
  if (fd < 0) fail("open", file);
  keep(fd, STATE_FD, file);
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
  int fd = open("/dev/net/tun", O_RDWR);
  if (fd < 0) fail("open", "/dev/net/tun");
  if (ioctl(fd, TUNSETIFF, &request)) fail("attach TAP", name);
  keep(fd, TAP_FD, name);
}

// QEMU itself listens on it once it is ready; until then connections are refused.
static void bind_socket(const char *name, int as) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(name) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail("socket", name);
  }
  strcpy(address.sun_path, name);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  mode_t mask = umask(0177);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address)) fail("bind", name);
  umask(mask);
  keep(fd, as, name);
}

// Starts the program that keeps what QEMU says on the console. It outlives this host's processes and ends
// with QEMU, which is not its parent, because QEMU expects no children.
static void start_console(const char *program, const char *file, const char *uid) {
  int ends[2], log = open(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (log < 0) fail("open", file);
  if (access(program, X_OK)) fail("run", program);
  if (pipe(ends)) fail("pipe for", file);
  pid_t child = fork();
  if (child < 0) fail("fork for", file);
  if (child == 0) {
    if (fork() != 0) _exit(0);
    setsid();
    if (dup2(ends[0], 0) < 0 || dup2(log, 1) < 0 || syscall(SYS_close_range, 3, ~0U, 0)) _exit(FAILED);
    execl(program, program, uid, NULL);
    _exit(FAILED);
  }
  waitpid(child, NULL, 0);
  close(log);
  close(ends[0]);
  keep(ends[1], CONSOLE_FD, file);
}

static void close_others(void) {
  for (int fd = STATE_FD; fd <= CONSOLE_FD; fd++) {
    if (!kept[fd]) close(fd);
  }
  // A raw call: older C libraries have no wrapper.
  if (syscall(SYS_close_range, CONSOLE_FD + 1, ~0U, 0)) fail("close", "inherited files");
}

static void limit(int resource, rlim_t value) {
  struct rlimit both = {value, value};
  if (setrlimit(resource, &both)) fail("limit", "resources");
}

// A node of its own for the device in the place of the machine's: without udev it is root's alone, and a
// group that may open it may open other devices, too. The rest of the file system stays as it is. /sys serves as a place for a moment.
static void own_device(const char *device, unsigned uid) {
  struct stat found;
  if (stat(device, &found)) fail("find", device);
  if (!S_ISCHR(found.st_mode)) {
    errno = ENODEV;
    fail("not a character device:", device);
  }
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL)) fail("make", "a mount namespace");
  if (mount("skerry", "/sys", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0700,size=4k")) fail("make", "a place for a device");
  if (mknod("/sys/device", S_IFCHR | 0600, found.st_rdev) || chown("/sys/device", uid, uid)) fail("make", device);
  if (mount("/sys/device", device, NULL, MS_BIND, NULL)) fail("mount", device);
  if (umount2("/sys", MNT_DETACH)) fail("leave", "/sys");
}

// No thread of another VM, or of the machine's, runs beside it on a core with two hardware threads. A kernel
// without core scheduling and a processor without such threads refuse, and nothing is lost.
static void keep_cores_apart(void) {
  enum { THREAD_GROUP = 1 };
  prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, THREAD_GROUP, 0);
}

// System V objects and message queues of this machine are out of its reach, and its own end with it: the next
// process of its uid finds none.
static void leave_ipc(void) {
  if (unshare(CLONE_NEWIPC)) fail("make", "an IPC namespace");
}

// So that neither a file with capabilities nor a fault in no_new_privs can give it one. The kernel tells
// which is the last one.
static void drop_bounding_set(void) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)) fail("drop", "the bounding set");
  }
}

// A process that is not root has no capabilities left after this, and no_new_privs keeps it so.
static void drop_privileges(unsigned uid) {
  if (setgroups(0, NULL)) fail("set", "groups");
  if (setresgid(uid, uid, uid)) fail("set", "gid");
  if (setresuid(uid, uid, uid)) fail("set", "uid");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("set", "no_new_privs");
}

// QEMU's tables are sparse: in huge pages each would take 2 MB. A guest whose memory is no file gains more by them than that.
static void disable_huge_pages(void) {
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) fail("set", "THP off");
}

int main(int argc, char **argv) {
  const char *cgroup = NULL, *netns = NULL, *tap = NULL, *user = NULL, *console = NULL, *console_log = NULL;
  const char *folder = NULL, *log = NULL, *state = NULL, *device = NULL, *sockets[LISTEN_MAX] = {0};
  char *variables[VARIABLES_MAX + 1] = {0};
  bool huge_pages = false;
  unsigned uid = 0, file_mib = 0, listens = 0, variables_given = 0;
  int at = 1;
  for (; at + 1 < argc && strcmp(argv[at], "--"); at += 2) {
    const char *flag = argv[at];
    char *value = argv[at + 1];
    if (!strcmp(flag, "--folder")) folder = value;
    else if (!strcmp(flag, "--log")) log = value;
    else if (!strcmp(flag, "--state")) state = value;
    else if (!strcmp(flag, "--env") && variables_given < VARIABLES_MAX) variables[variables_given++] = value;
    else if (!strcmp(flag, "--cgroup")) cgroup = value;
    else if (!strcmp(flag, "--netns")) netns = value;
    else if (!strcmp(flag, "--tap")) tap = value;
    else if (!strcmp(flag, "--uid")) uid = number(user = value);
    else if (!strcmp(flag, "--device")) device = value;
    else if (!strcmp(flag, "--huge-pages") && !strcmp(value, "on")) huge_pages = true;
    else if (!strcmp(flag, "--file-mib")) file_mib = number(value);
    else if (!strcmp(flag, "--listen") && listens < LISTEN_MAX) sockets[listens++] = value;
    else if (!strcmp(flag, "--console")) console = value;
    else if (!strcmp(flag, "--console-log")) console_log = value;
    else {
      errno = EINVAL;
      fail("unknown flag", flag);
    }
  }
  if (at >= argc - 1 || uid == 0 || !console != !console_log) {
    errno = EINVAL;
    fail("usage:", "launch --uid N [--folder DIR] [--log FILE] [--state FILE] [--env NAME=VALUE]... [--cgroup DIR] [--netns FILE --tap NAME] [--device FILE] [--huge-pages on] [--file-mib N] [--listen NAME]... "
                   "[--console-log PROGRAM --console FILE] -- PROGRAM ARG...");
  }
  setsid(); // a starter may have done so
  errno = 0;
  if (nice(NICENESS) < 0 && errno) fail("set", "priority");
  if (folder && chdir(folder)) fail("enter", folder);
  if (log) open_log(log);
  if (state) open_state(state);
  if (cgroup) join_cgroup(cgroup);
  if (netns) enter_netns(netns);
  if (tap) open_tap(tap);
  for (unsigned i = 0; i < listens; i++) bind_socket(sockets[i], LISTEN_FD + (int)i);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES);
  // The largest file that it may write, wherever: a guest's disk, and nothing that fills this machine.
  if (file_mib) limit(RLIMIT_FSIZE, (rlim_t)file_mib << 20);
  if (console) start_console(console_log, console, user);
  close_others();
  keep_cores_apart();
  leave_ipc();
  if (device) own_device(device, uid);
  if (!huge_pages) disable_huge_pages();
  drop_bounding_set();
  drop_privileges(uid);
  execve(argv[at + 1], argv + at + 1, variables);
  fail("exec", argv[at + 1]);
}
