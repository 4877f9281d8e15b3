// Starts programs for the host, because this process is small: Node copies the page tables of its whole
// memory for each one that it starts, and its event loop stands still for 6 ms meanwhile (measured with 90
// MB), ten times for each VM.
//
// Frames on stdin and stdout: type, id of the program, length of what follows, each 32 bits in this machine's
// order.
//   in:  RUN     the arguments, each ended by a zero byte; the first is looked for in PATH
//        INPUT   all of its standard input
//        KILL    nothing follows
//   out: STARTED          nothing follows
//        OUTPUT, ERROR    what it writes
//        ENDED            32 bits: its exit code, or minus the signal that ended it
// It ends with its standard input, and a program that still waits for its own reads an empty one then. What a program leaves running, such
// as QEMU, becomes its child, so that it can be reaped also where the machine's first process does not do that.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN = 1, INPUT, KILL };
enum { STARTED = 1, OUTPUT, ERROR, ENDED };
enum { FRAME_MAX = 16 << 20, ARGUMENTS_MAX = 512, NOT_STARTED = 127, CHUNK = 64 << 10 };

struct header {
  uint32_t type, id, length;
};

struct program {
  uint32_t id;
  pid_t pid; // 0 once it has ended
  int status;
  int input, outputs[2]; // -1 once closed
  bool has_input;
  char *bytes; // of its input
  size_t at, length;
};

static struct program *programs;
static struct pollfd *polls;
static size_t count, room;
static char *frames;
static size_t held, frames_room;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "spawn-helper: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void *resized(void *memory, size_t bytes) {
  void *larger = realloc(memory, bytes);
  if (!larger) die("no memory");
  return larger;
}

static void write_all(const void *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(1, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) exit(0); // the host has ended
    bytes = (const char *)bytes + written;
    length -= (size_t)written;
  }
}

static void answer(uint32_t type, uint32_t id, const void *bytes, size_t length) {
  struct header header = {type, id, (uint32_t)length};
  write_all(&header, sizeof header);
  write_all(bytes, length);
}

static void answer_end(uint32_t id, int32_t how) {
  answer(ENDED, id, &how, sizeof how);
}

static void shut(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static int spawn(char *const arguments[], int ends[3][2], pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&actions, ends[i][i == 0 ? 0 : 1], i);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  int error = posix_spawnp(pid, arguments[0], &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

static void run(uint32_t id, char *text, size_t length) {
  char *arguments[ARGUMENTS_MAX + 1];
  int ends[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, error = 0, many = 0;
  if (length == 0 || text[length - 1] != 0) error = EINVAL;
  for (size_t at = 0; at < length && !error; at += strlen(text + at) + 1) {
    if (many == ARGUMENTS_MAX) error = E2BIG;
    else arguments[many++] = text + at;
  }
  arguments[many] = NULL;
  for (int i = 0; i < 3 && !error; i++) {
    if (pipe2(ends[i], O_CLOEXEC) != 0) error = errno;
  }
  struct program started = {.id = id, .input = ends[0][1], .outputs = {ends[1][0], ends[2][0]}};
  if (!error) error = spawn(arguments, ends, &started.pid);
  shut(&ends[0][0]);
  shut(&ends[1][1]);
  shut(&ends[2][1]);
  if (error) {
    for (int i = 0; i < 3; i++) shut(&ends[i][i == 0 ? 1 : 0]);
    answer(ERROR, id, strerror(error), strlen(strerror(error)));
    return answer_end(id, NOT_STARTED);
  }
  fcntl(started.input, F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 2; i++) fcntl(started.outputs[i], F_SETFL, O_NONBLOCK);
  if (count == room) {
    room = room ? 2 * room : 16;
    programs = resized(programs, room * sizeof *programs);
    polls = resized(polls, (2 + 3 * room) * sizeof *polls);
  }
  programs[count++] = started;
  answer(STARTED, id, NULL, 0);
}

static void feed(struct program *program) {
  while (program->input >= 0 && program->at < program->length) {
    ssize_t written = write(program->input, program->bytes + program->at, program->length - program->at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) break; // it may end without reading
    program->at += (size_t)written;
  }
  shut(&program->input);
  free(program->bytes);
  program->bytes = NULL;
}

static void take(const struct header *header, char *payload) {
  if (header->type == RUN) return run(header->id, payload, header->length);
  for (size_t i = 0; i < count; i++) {
    struct program *program = &programs[i];
    if (program->id != header->id) continue;
    if (header->type == KILL && program->pid > 0) kill(program->pid, SIGKILL);
    if (header->type != INPUT || program->has_input) return;
    program->has_input = true;
    program->bytes = resized(NULL, header->length + 1);
    memcpy(program->bytes, payload, header->length);
    program->length = header->length;
    return feed(program);
  }
}

static void take_frames(void) {
  struct header header;
  if (frames_room - held < CHUNK) frames = resized(frames, frames_room = held + 2 * CHUNK);
  ssize_t got = read(0, frames + held, frames_room - held);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) exit(0);
  held += (size_t)got;
  size_t at = 0;
  while (held - at >= sizeof header) {
    memcpy(&header, frames + at, sizeof header);
    if (header.length > FRAME_MAX) errno = EMSGSIZE, die("frame");
    if (held - at - sizeof header < header.length) break;
    take(&header, frames + at + sizeof header);
    at += sizeof header + header.length;
  }
  memmove(frames, frames + at, held -= at);
}

static void pass_on(struct program *program, int which) {
  char bytes[CHUNK];
  ssize_t got = read(program->outputs[which], bytes, sizeof bytes);
  if (got > 0) answer(which == 0 ? OUTPUT : ERROR, program->id, bytes, (size_t)got);
  else if (got == 0 || (errno != EAGAIN && errno != EINTR)) shut(&program->outputs[which]);
}

static void reap(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (size_t i = 0; i < count; i++) {
      if (programs[i].pid != pid) continue;
      programs[i].pid = 0;
      programs[i].status = status;
    }
  }
}

// Those whose last word has been passed on.
static void forget_ended(void) {
  for (size_t i = 0; i < count;) {
    struct program *program = &programs[i];
    if (program->pid > 0 || program->outputs[0] >= 0 || program->outputs[1] >= 0) {
      i++;
      continue;
    }
    shut(&program->input);
    free(program->bytes);
    int status = program->status;
    answer_end(program->id, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    *program = programs[--count];
  }
}

int main(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  signal(SIGPIPE, SIG_IGN);
  int ended = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ended < 0) die("signals");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) die("subreaper");
  polls = resized(NULL, 2 * sizeof *polls);
  for (;;) {
    size_t watched = count;
    polls[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = ended, .events = POLLIN};
    for (size_t i = 0; i < watched; i++) {
      const struct program *program = &programs[i];
      struct pollfd *of = polls + 2 + 3 * i;
      of[0] = (struct pollfd){.fd = program->bytes ? program->input : -1, .events = POLLOUT};
      of[1] = (struct pollfd){.fd = program->outputs[0], .events = POLLIN};
      of[2] = (struct pollfd){.fd = program->outputs[1], .events = POLLIN};
    }
    if (poll(polls, 2 + 3 * watched, -1) < 0 && errno != EINTR) die("poll");
    struct signalfd_siginfo information;
    if (polls[1].revents && read(ended, &information, sizeof information) > 0) reap();
    for (size_t i = 0; i < watched; i++) {
      const struct pollfd *of = polls + 2 + 3 * i;
      if (of[0].revents) feed(&programs[i]);
      for (int which = 0; which < 2; which++) {
        if (of[1 + which].revents) pass_on(&programs[i], which);
      }
    }
    forget_ended();
    if (polls[0].revents) take_frames();
  }
}
