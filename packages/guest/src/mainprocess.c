#include "mainprocess.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static enum { NEVER_STARTED, RUNNING, ENDED } state;
static struct child child;
static int exit_status;
static struct cgroup_usage usage;

bool mainprocess_start(const struct request *request) {
  static struct outcome unused; // it has none: its words go to the console
  if (state != NEVER_STARTED) return true;
  if (!child_start(&child, request, &unused)) return false;
  state = RUNNING;
  return true;
}

// Its process group, so that a shell's own child hears of it too; of SIGKILL everything that it has ever
// started.
void mainprocess_signal(int signal) {
  if (state != RUNNING) return;
  if (signal == SIGKILL) cgroup_kill(&child.group);
  if (kill(-child.pid, signal) != 0) kill(child.pid, signal); // it has not come to its own group yet
}

bool mainprocess_reap(pid_t pid, int status) {
  if (state != RUNNING || pid != child.pid) return false;
  state = ENDED;
  exit_status = status;
  cgroup_usage(&child.group, &usage);
  cgroup_release(&child.group);
  return true;
}

const char *mainprocess_result(char json[OUTCOME_BYTES]) {
  if (state != ENDED) return NULL;
  int signal = WIFSIGNALED(exit_status) ? WTERMSIG(exit_status) : 0;
  snprintf(json, OUTCOME_BYTES, "{\"exit_code\":%d,\"signal\":%d,\"oom_killed\":%s}",
           signal ? 128 + signal : WEXITSTATUS(exit_status), signal, usage.oom_killed ? "true" : "false");
  return json;
}

bool mainprocess_uses_cgroup(uint32_t number) {
  return state == RUNNING && child.group.fd >= 0 && child.group.number == number;
}
