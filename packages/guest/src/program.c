#include "program.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_THERE = 127 };

static noreturn void execute(char *const arguments[]) {
  static char *const env[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                              "LANG=C.UTF-8", NULL};
  prctl(PR_SET_PDEATHSIG, SIGKILL); // it is canceled with the child
  execvpe(arguments[0], arguments, env);
  _exit(NOT_THERE);
}

static noreturn void fail(const char *name, const char *how, struct outcome *outcome) {
  char code[32];
  snprintf(code, sizeof code, "%s_%s", name, how);
  child_fail(outcome, code, "a program in the guest could not do it");
}

void program_run(char *const arguments[], const char *name, int most_status, struct outcome *outcome) {
  pid_t pid = fork();
  int status;
  if (pid < 0) child_fail_errno(outcome, "cannot run a program");
  if (pid == 0) execute(arguments);
  close(0); // so that the end of its input reaches who writes it
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= most_status) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE) fail(name, "missing", outcome);
  struct statvfs disk;
  if (statvfs(".", &disk) == 0 && (disk.f_bavail == 0 || (disk.f_files > 0 && disk.f_favail == 0))) {
    child_fail(outcome, "no_space", "the disk is full");
  }
  fail(name, "failed", outcome);
}
