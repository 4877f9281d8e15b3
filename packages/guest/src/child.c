#include "child.h"
#include "boot.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { PIPE_BYTES = 256 * 1024, PIPES = 4 };

int dev_null = -1;

struct pipe {
  int read_end, write_end;
};

struct outcome *outcomes_make(unsigned count) {
  if (dev_null < 0) dev_null = open("/dev/null", O_RDWR | O_CLOEXEC);
  size_t size = count * sizeof(struct outcome);
  void *outcomes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcomes == MAP_FAILED) abort();
  return outcomes;
}

static bool open_pipe(struct pipe *pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  *pipe = (struct pipe){ends[0], ends[1]};
  return true;
}

void terminal_resize(int terminal, const struct request *request) {
  struct winsize size = {.ws_col = (unsigned short)request->cols, .ws_row = (unsigned short)request->rows};
  ioctl(terminal, TIOCSWINSZ, &size);
}

// A terminal of its own. Not by the path of its other end, which a command with root's rights could have replaced.
// Its size is there before the command is, which is told of no change and reads no other.
static bool open_terminal(struct pipe pipes[PIPES], const struct request *request) {
  int locked = 0;
  pipes[1].read_end = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (pipes[1].read_end < 0 || ioctl(pipes[1].read_end, TIOCSPTLCK, &locked) != 0) return false;
  terminal_resize(pipes[1].read_end, request);
  pipes[0].read_end = ioctl(pipes[1].read_end, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  return pipes[0].read_end >= 0;
}

static bool sends_output(enum operation operation) {
  return operation >= READ && operation <= PORTS && operation != REMOVE && operation != UNPACK;
}

static bool open_pipes(struct pipe pipes[PIPES], const struct request *request) {
  bool start = request->operation == START;
  bool execute = request->operation == EXECUTE || (start && !request->tty);
  bool wanted[PIPES] = {request->operation == WRITE || request->operation == UNPACK || (execute && request->wants_stdin),
                        execute || sends_output(request->operation), execute, start};
  if (start && request->tty && !open_terminal(pipes, request)) return false;
  for (int i = 0; i < PIPES; i++) {
    if (wanted[i] && !open_pipe(&pipes[i])) return false;
  }
  return true;
}

// A slow reader, and a serial port always is one, blocks the main process and no other.
static int open_console(void) {
  if (!machine_is_ours) return 2;
  int console = open("/dev/console", O_WRONLY | O_NOCTTY);
  return console >= 0 ? console : dev_null;
}

static noreturn void run(const struct request *request, struct outcome *outcome, struct pipe pipes[PIPES]) {
  dup2(pipes[0].read_end >= 0 ? pipes[0].read_end : dev_null, 0);
  int elsewhere = request->operation == MAIN ? open_console() : request->tty ? 0 : dev_null;
  dup2(pipes[1].write_end >= 0 ? pipes[1].write_end : elsewhere, 1);
  dup2(pipes[2].write_end >= 0 ? pipes[2].write_end : elsewhere, 2);
  // A file operation never execs: without this it would hold the pipes of commands that run beside it.
  bool asks_cgroups = request->operation == IDLE || request->operation == SHUTDOWN;
  bool tells_exec = pipes[3].write_end >= 0;
  if (tells_exec && pipes[3].write_end != 3) dup3(pipes[3].write_end, 3, O_CLOEXEC);
  if (!asks_cgroups) syscall(SYS_close_range, tells_exec ? 4u : 3u, ~0u, 0u);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  switch (request->operation) {
  case EXECUTE:
  case MAIN:
  case START:
    execute_child(request, outcome);
  case WRITE:
    write_child(request, outcome);
  case READ:
    read_child(request, outcome);
  case LIST:
    list_child(request, outcome);
  case STAT:
    stat_child(request, outcome);
  case MKDIR:
    mkdir_child(request, outcome);
  case MOVE:
    move_child(request, outcome);
  case REMOVE:
    remove_child(request, outcome);
  case CHMOD:
    chmod_child(request, outcome);
  case PACK:
    pack_child(request, outcome);
  case UNPACK:
    unpack_child(request, outcome);
  case WATCH:
    watch_child(request, outcome);
  case PORTS:
    ports_child(request, outcome);
  case IDLE:
    idle_child(request, outcome);
  case SHUTDOWN:
    shutdown_child(request, outcome);
  case LONG: // the agent's own to do
  case CONNECT:
  case CONFIGURE:
  case WAKE:
  case CLOCK:
  case TERMINATE:
  case FOLLOW:
  case INPUT:
  case SIGNAL:
  case RESIZE:
  case EXECUTION:
  case FORGET:
  case EXECUTIONS:
    break;
  }
  _exit(1);
}

// Fork, straight into its cgroup: a command never runs an instruction outside of it. Where that is impossible
// the child runs without one.
static pid_t fork_into(int cgroup_fd, bool *outside) {
  uint64_t args[11] = {
      [0] = cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0, [4] = SIGCHLD, [10] = (uint64_t)cgroup_fd};
  *outside = cgroup_fd < 0;
  if (cgroup_fd >= 0) {
    pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof args);
    if (pid >= 0 || errno == EAGAIN || errno == ENOMEM) return pid;
    *outside = true;
  }
  return fork();
}

bool child_start(struct child *child, const struct request *request, struct outcome *outcome) {
  struct pipe pipes[PIPES] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
  bool execute = request->operation == EXECUTE || request->operation == MAIN || request->operation == START;
  bool outside = true;
  bool system = request->operation >= IDLE;
  memset(outcome, 0, sizeof *outcome);
  if (request->operation == CONFIGURE || request->operation == WAKE || request->operation == CLOCK) {
    if (request->operation == CLOCK) adjust_clock(request, outcome);
    else apply_clock_and_entropy(request, outcome);
    *child = (struct child){.pid = 0, .pipes = {-1, -1, -1, -1}, .group = {.fd = -1}};
    return true;
  }
  child->group = execute ? cgroup_take() : (struct cgroup){.fd = -1};
  child->pid = -1;
  if (open_pipes(pipes, request)) {
    child->pid = fork_into(execute ? child->group.fd : system ? -1 : cgroup_of_files(), &outside);
    if (child->pid == 0) run(request, outcome, pipes);
  }
  if (outside || child->pid < 0) cgroup_release(&child->group);
  for (int i = 0; i < PIPES; i++) {
    int ours = i == 0 ? pipes[i].write_end : pipes[i].read_end;
    int theirs = i == 0 ? pipes[i].read_end : pipes[i].write_end;
    if (theirs >= 0) close(theirs);
    // A command with root's rights could steal bytes from our end: then a blocking read would block the
    // agent.
    if (ours >= 0 && child->pid > 0)
      fcntl(ours, F_SETFL, O_NONBLOCK);
    else if (ours >= 0)
      close(ours);
    // As much as the host may send at once: fewer turns between the agent and its child.
    if (ours >= 0 && !execute && child->pid > 0) fcntl(ours, F_SETPIPE_SZ, PIPE_BYTES);
    child->pipes[i] = ours;
  }
  return child->pid > 0;
}

static const char *code_of(int error) {
  switch (error) {
  case ENOENT:
    return "not_found";
  case EISDIR:
    return "is_a_directory";
  case ENOTDIR:
    return "not_a_directory";
  case ENOSPC:
  case EDQUOT:
    return "no_space";
  case EACCES:
  case EPERM:
  case EROFS:
    return "permission_denied";
  case ENAMETOOLONG:
    return "path_too_long";
  case ELOOP:
    return "link_loop";
  case ENOTEMPTY:
  case EEXIST:
    return "not_empty";
  case EBUSY:
  case ETXTBSY:
    return "busy";
  case ENOMEM:
    return "out_of_memory";
  default:
    return "io_error";
  }
}

static void fail(struct outcome *outcome, const char *code, const char *message) {
  snprintf(outcome->error, sizeof outcome->error, "{\"code\":\"%s\",\"message\":\"%s\"}", code, message);
}

void child_fail(struct outcome *outcome, const char *code, const char *message) {
  fail(outcome, code, message);
  _exit(1);
}

void outcome_fail_errno(struct outcome *outcome, const char *doing) {
  char message[160];
  int error = errno;
  snprintf(message, sizeof message, "%s: %s", doing, strerror(error));
  fail(outcome, code_of(error), message);
}

void child_fail_errno(struct outcome *outcome, const char *doing) {
  outcome_fail_errno(outcome, doing);
  _exit(1);
}

void child_succeed(struct outcome *outcome, const char *result) {
  snprintf(outcome->result, sizeof outcome->result, "%s", result);
  _exit(0);
}
