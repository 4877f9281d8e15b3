// Starts one QEMU in its confinement: cgroup, namespaces, a root of its own, TAP, sockets, limits, its own uid, few system calls.
//
//   launch --uid N [--folder DIR] [--log FILE] [--state FILE] [--pages FILE] [--env NAME=VALUE]... [--cgroup DIR] [--netns FILE --tap NAME]
//          [--device FILE] [--huge-pages on] [--file-mib N] [--listen NAME]... [--console-log PROGRAM --console FILE]
//          [--read PATH]... -- PROGRAM ARG...
//
// It is a program of its own because Node can neither enter a namespace nor open a TAP, and because joining
// the cgroup before exec leaves no moment in which QEMU runs outside it. There are two processes. This one, on the machine, makes and opens
// what QEMU gets: QEMU's sockets, so that its folder can be root's from the first moment on, because a QEMU that a guest has broken into must
// not be able to put something else in their place; and the program that keeps its console, which must outlive it. The other one is the first
// process of a pid namespace, gives up the machine's file system (jail.c), its user and most system calls (system-calls.c), and becomes QEMU.
//
// On exec: fd 1 and 2 the log, 3 the frozen state, 4 the pages of a snapshot, 10 the TAP, 11 and 12 the sockets in the order of their flags,
// 13 the console, everything else is closed; no variable but those that were given; a session of its own, because QEMU outlives the
// host's processes. PROGRAM, and what it opens, is what --read names, and what is in the folder.
//
// With a log this process ends as soon as PROGRAM has begun, and says on standard output with which pid and start time: `PID FIELD_22`.
// Without one it waits for PROGRAM and ends like it. Any failure ends it with a line in the log, where that could be opened, and status 126.
#define _GNU_SOURCE
#include "descriptors.h"
#include "fail.h"
#include "jail.h"
#include "system-calls.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Below the servers that speak for all guests, also where no cgroup says so.
enum { NICENESS = 10 };

enum { VARIABLES_MAX = 16, READS_MAX = 256, LISTEN_MAX = 2, OPEN_FILES = 1024 };

struct options {
  const char *folder, *log, *state, *pages, *cgroup, *netns, *tap, *user, *console, *console_log, *sockets[LISTEN_MAX];
  char *variables[VARIABLES_MAX + 1];
  const char *reads[READS_MAX];
  struct jail jail;
  bool huge_pages;
  unsigned uid, file_mib, listens, variables_given;
  char **program; // and its arguments
};

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

static void limit(int resource, rlim_t value) {
  struct rlimit both = {value, value};
  if (setrlimit(resource, &both)) fail("limit", "resources");
}

// No thread of another VM, or of the machine's, runs beside it on a core with two hardware threads. A kernel
// without core scheduling and a processor without such threads refuse, and nothing is lost.
static void keep_cores_apart(void) {
  enum { THREAD_GROUP = 1 };
  prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, THREAD_GROUP, 0);
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

static void take_flag(struct options *options, const char *flag, char *value) {
  if (!strcmp(flag, "--folder")) options->folder = value;
  else if (!strcmp(flag, "--log")) options->log = value;
  else if (!strcmp(flag, "--state")) options->state = value;
  else if (!strcmp(flag, "--pages")) options->pages = value;
  else if (!strcmp(flag, "--env") && options->variables_given < VARIABLES_MAX) options->variables[options->variables_given++] = value;
  else if (!strcmp(flag, "--cgroup")) options->cgroup = value;
  else if (!strcmp(flag, "--netns")) options->netns = value;
  else if (!strcmp(flag, "--tap")) options->tap = value;
  else if (!strcmp(flag, "--uid")) options->uid = number(options->user = value);
  else if (!strcmp(flag, "--device")) options->jail.device = value;
  else if (!strcmp(flag, "--huge-pages") && !strcmp(value, "on")) options->huge_pages = true;
  else if (!strcmp(flag, "--file-mib")) options->file_mib = number(value);
  else if (!strcmp(flag, "--listen") && options->listens < LISTEN_MAX) options->sockets[options->listens++] = value;
  else if (!strcmp(flag, "--console")) options->console = value;
  else if (!strcmp(flag, "--console-log")) options->console_log = value;
  else if (!strcmp(flag, "--read") && options->jail.read_count < READS_MAX) options->reads[options->jail.read_count++] = value;
  else {
    errno = EINVAL;
    fail("unknown flag", flag);
  }
}

// What is looked for by its command line is QEMU, and no launcher that has it among its arguments.
static char **taken_out(char **arguments) {
  size_t count = 0;
  while (arguments[count]) count++;
  char **copy = calloc(count + 1, sizeof *copy);
  for (size_t i = 0; copy && i < count; i++) {
    copy[i] = strdup(arguments[i]);
    if (!copy[i]) fail("copy", "the command line");
    memset(arguments[i], 0, strlen(arguments[i]));
  }
  if (!copy) fail("copy", "the command line");
  return copy;
}

static void take_flags(struct options *options, int argc, char **argv) {
  int at = 1;
  for (; at + 1 < argc && strcmp(argv[at], "--"); at += 2) take_flag(options, argv[at], argv[at + 1]);
  if (at >= argc - 1 || options->uid == 0 || !options->console != !options->console_log) {
    errno = EINVAL;
    fail("usage:", "launch --uid N [FLAG VALUE]... -- PROGRAM ARG...");
  }
  options->program = taken_out(argv + at + 1);
  options->jail.folder = options->folder;
  options->jail.uid = options->uid;
  options->jail.reads = options->reads;
}

// On this machine, as root.
static void open_all(const struct options *options) {
  errno = 0;
  if (nice(NICENESS) < 0 && errno) fail("set", "priority");
  if (options->folder && chdir(options->folder)) fail("enter", options->folder);
  if (options->log) open_log(options->log);
  if (options->state) open_for_reading(options->state, STATE_FD);
  if (options->pages) open_for_reading(options->pages, PAGES_FD);
  if (options->cgroup) join_cgroup(options->cgroup);
  if (options->netns) enter_netns(options->netns);
  if (options->tap) open_tap(options->tap);
  for (unsigned i = 0; i < options->listens; i++) bind_socket(options->sockets[i], LISTEN_FD + (int)i);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES);
  // The largest file that it may write, wherever: a guest's disk, and nothing that fills this machine.
  if (options->file_mib) limit(RLIMIT_FSIZE, (rlim_t)options->file_mib << 20);
  // A write beyond it fails, and does not end the program.
  signal(SIGXFSZ, SIG_IGN);
  if (options->console) start_console(options->console_log, options->console, options->user);
}

static _Noreturn void become_program(const struct options *options) {
  report_failure_to(REPORT_FD);
  close_others();
  setsid();
  keep_cores_apart();
  enter_jail(&options->jail);
  if (!options->huge_pages) disable_huge_pages();
  drop_bounding_set();
  drop_privileges(options->uid);
  // Without a log it is nothing without the process that waits for it.
  if (!options->log && prctl(PR_SET_PDEATHSIG, SIGKILL)) fail("follow", "the launcher");
  restrict_system_calls();
  execve(options->program[0], options->program, options->variables);
  fail("exec", options->program[0]);
}

// As it is known in this machine's pid namespace.
static void say_identity(int answer, pid_t pid) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  text[got > 0 ? got : 0] = 0;
  // The name before the third field may hold anything.
  char *field = strrchr(text, ')');
  for (int at = 2; field && at < 22; at++) field = strchr(field + 1, ' ');
  dprintf(answer, "%d %llu\n", (int)pid, field ? strtoull(field, NULL, 10) : 0);
}

static int wait_for(pid_t pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail("wait for", "the program");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
  struct options options = {0};
  int ends[2], answer = fcntl(1, F_DUPFD_CLOEXEC, REPORT_FD + 1);
  take_flags(&options, argc, argv);
  open_all(&options);
  if (pipe2(ends, O_CLOEXEC)) fail("make", "a pipe");
  pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
  if (pid < 0) fail("make", "namespaces");
  if (pid == 0) {
    keep(ends[1], REPORT_FD, "a pipe");
    if (fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC)) fail("close on exec", "a pipe");
        become_program(&options);
  }
  close(ends[1]);
  char failed;
  // It is closed by exec.
  bool has_begun = read(ends[0], &failed, 1) == 0;
  if (!has_begun || !options.log) return wait_for(pid);
  say_identity(answer, pid);
  return 0;
}
