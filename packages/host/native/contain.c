// Runs a program so that nothing of it outlasts its end, or the end of the process that started it: no child and no mount.
//
//   contain --parent PID PROGRAM ARG...
//
// There are three processes. The kernel kills this one with its parent, whose pid it is told. The second one is the first process of a pid
// namespace: the kernel kills it with this one, and everything in its namespace with it, also what ignores signals or has a session of its own.
// The third one is the program. What it mounts is in the mount namespace that it shares with the second, and goes with them. So SIGKILL to this
// process is enough to end all of it.
//
// It ends like the program, with 128 and the number of the signal where that was killed, and with 127 where it could not be started. It needs
// the namespaces that each QEMU gets from the launcher, and without them it fails with status 126 and a line on stderr.
#define _GNU_SOURCE
#include "fail.h"
#include "jail.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127, KILLED = 128 };

static void follow_parent(void) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL)) fail("follow", "the parent");
}

static int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

// The machine's mounts stay reachable under the paths that they have.
static void own_mounts(void) {
  int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0) fail("open", "the working directory");
  separate_mounts();
  if (fchdir(here)) fail("return to", "the working directory");
  close(here);
  // A program that looks up its own pid there finds itself. One that does not runs as well without it.
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) return;
}

// Reaps what the program leaves behind, and ends with the program: the kernel kills the rest.
static _Noreturn void be_first(char **program) {
  own_mounts();
  pid_t child = fork();
  if (child < 0) fail("fork for", program[0]);
  if (child == 0) {
    execvp(program[0], program);
    fprintf(stderr, "%s\n", strerror(errno));
    _exit(NOT_STARTED);
  }
  for (;;) {
    int status;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended == child) _exit(code_of(status));
    if (ended < 0 && errno != EINTR) fail("wait for", program[0]);
  }
}

int main(int argc, char **argv) {
  if (argc < 4 || strcmp(argv[1], "--parent")) {
    errno = EINVAL;
    fail("usage:", "contain --parent PID PROGRAM ARG...");
  }
  follow_parent();
  // It ended before this process asked to be told.
  if (getppid() != atoi(argv[2])) exit(FAILED);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) fail("make", "a pipe");
  pid_t first = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
  if (first < 0) fail("make", "namespaces of its own for a program");
  if (first == 0) {
    follow_parent();
    close(ends[1]);
    // The same: only the process above holds the other end.
    struct pollfd above = {.fd = ends[0]};
    if (poll(&above, 1, 0) > 0) _exit(FAILED);
    be_first(argv + 3);
  }
  close(ends[0]);
  int status;
  while (waitpid(first, &status, 0) < 0) {
    if (errno != EINTR) fail("wait for", argv[3]);
  }
  return code_of(status);
}
