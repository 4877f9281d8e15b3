#include "executions.h"
#include "channel.h"
#include "execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  EXECUTIONS_MAX = 256,               // with those that have ended
  RINGS_MAX_BYTES = 24 * 1024 * 1024, // of all; beyond it rings do not grow, and hold less than they could
  ENDED_RINGS_MAX_BYTES = 16 * 1024 * 1024,
  KILL_GRACE_MS = 2000, // after which a killed command counts as gone, also where the kernel still lists it
  LINGER_MS = 100,      // for what is on its way through a terminal whose command has exited
  READ_BYTES = 64 * 1024,
};

static struct execution *executions[EXECUTIONS_MAX];
static unsigned running;
static uint64_t last_sequence;
static size_t rings_bytes;

static struct outcome *outcomes;
static bool outcome_is_taken[EXECUTIONS_RUNNING_MAX];

void executions_start(void) {
  outcomes = outcomes_make(EXECUTIONS_RUNNING_MAX);
}

struct execution *execution_find(const char *id) {
  for (unsigned i = 0; i < EXECUTIONS_MAX; i++) {
    if (executions[i] && strcmp(executions[i]->id, id) == 0) return executions[i];
  }
  return NULL;
}

struct execution *execution_after(uint64_t sequence) {
  struct execution *next = NULL;
  for (unsigned i = 0; i < EXECUTIONS_MAX; i++) {
    struct execution *one = executions[i];
    if (one && one->sequence > sequence && (!next || one->sequence < next->sequence)) next = one;
  }
  return next;
}

// ---- memory

static void release_outcome(struct execution *execution) {
  if (execution->outcome) outcome_is_taken[execution->outcome - outcomes] = false;
  execution->outcome = NULL;
}

static void set_capacity(struct execution *execution, uint32_t capacity) {
  size_t before = ring_memory(execution->ring.capacity);
  if (capacity == 0) ring_free(&execution->ring);
  else if (!ring_resize(&execution->ring, capacity)) return;
  rings_bytes = rings_bytes - before + ring_memory(capacity);
}

void execution_forget(struct execution *execution) {
  set_capacity(execution, 0);
  release_outcome(execution);
  for (unsigned i = 0; i < EXECUTIONS_MAX; i++) {
    if (executions[i] == execution) executions[i] = NULL;
  }
  free(execution);
}

bool execution_is_forgettable(const struct execution *execution) {
  return execution->ended && execution->streams == 0 && execution->pid <= 0;
}

static bool forget_oldest_ended(void) {
  for (struct execution *one = execution_after(0); one; one = execution_after(one->sequence)) {
    if (!execution_is_forgettable(one)) continue;
    execution_forget(one);
    return true;
  }
  return false;
}

static size_t ended_bytes(void) {
  size_t bytes = 0;
  for (unsigned i = 0; i < EXECUTIONS_MAX; i++) {
    if (executions[i] && executions[i]->ended) bytes += ring_memory(executions[i]->ring.capacity);
  }
  return bytes;
}

static void grow(struct execution *execution) {
  uint32_t capacity = execution->ring.capacity ? execution->ring.capacity * 2 : RING_MIN_BYTES;
  size_t more = ring_memory(capacity) - ring_memory(execution->ring.capacity);
  while (rings_bytes + more > RINGS_MAX_BYTES && forget_oldest_ended()) continue;
  // The first few bytes of each are always to be had: they are bounded by how many there may be.
  if (rings_bytes + more <= RINGS_MAX_BYTES || capacity == RING_MIN_BYTES) set_capacity(execution, capacity);
}

static void shrink(struct execution *execution) {
  uint64_t held = execution->ring.to - execution->ring.from;
  uint32_t capacity = held == 0 ? 0 : RING_MIN_BYTES;
  while (capacity > 0 && capacity < held) capacity *= 2;
  if (capacity < execution->ring.capacity) set_capacity(execution, capacity);
}

// ---- its begin

static struct outcome *take_outcome(void) {
  for (unsigned i = 0; i < EXECUTIONS_RUNNING_MAX; i++) {
    if (outcome_is_taken[i]) continue;
    outcome_is_taken[i] = true;
    return &outcomes[i];
  }
  return NULL;
}

static void keep_command(struct execution *execution, const char *command) {
  size_t length = strlen(command);
  bool is_cut = length > COMMAND_SHOWN_BYTES;
  if (is_cut) length = COMMAND_SHOWN_BYTES;
  while (is_cut && length > 0 && (command[length] & 0xC0) == 0x80) length--; // not in the middle of a character
  memcpy(execution->command, command, length);
  strcpy(execution->command + length, is_cut ? "\xE2\x80\xA6" : "");
}

static struct execution *make(const struct request *request) {
  unsigned slot = 0;
  while (slot < EXECUTIONS_MAX && executions[slot]) slot++;
  if (slot == EXECUTIONS_MAX) {
    if (!forget_oldest_ended()) return NULL;
    for (slot = 0; executions[slot]; slot++) continue;
  }
  struct execution *execution = calloc(1, sizeof *execution);
  if (!execution) return NULL;
  strcpy(execution->id, request->execution); // `operations.c` has bounded it
  keep_command(execution, request->command);
  execution->sequence = ++last_sequence;
  execution->is_terminal = request->tty;
  execution->timeout_ms = request->timeout_ms;
  execution->reattach_ms = request->reattach_ms;
  execution->outcome = take_outcome();
  executions[slot] = execution;
  return execution;
}

struct execution *execution_start(const struct request *request, const char **problem) {
  *problem = "too_many_executions";
  if (running == EXECUTIONS_RUNNING_MAX) return NULL;
  *problem = "out_of_memory";
  struct execution *execution = make(request);
  struct child child;
  if (!execution || !execution->outcome || !child_start(&child, request, execution->outcome)) {
    if (execution) execution_forget(execution);
    return NULL;
  }
  running++;
  execution->started_us = now_us();
  execution->pid = child.pid;
  execution->group = child.group;
  execution->input_fd = request->tty ? child.pipes[1] : child.pipes[0];
  for (int i = 0; i < 2; i++) execution->outputs[i] = (struct output){.fd = child.pipes[1 + i], .poll = -1};
  execution->exec_fd = child.pipes[3];
  execution->exec_poll = -1;
  int64_t now_ms = execution->started_us / 1000;
  if (request->timeout_ms > 0) execution->deadline_ms = now_ms + request->timeout_ms;
  execution_await_reader(execution, true);
  return execution;
}

// ---- its readers

void execution_await_reader(struct execution *execution, bool is_expected) {
  if (execution->reattach_ms < 0 || execution->readers > 0) return;
  int64_t wait_ms = execution->reattach_ms;
  if (is_expected && wait_ms < EXPECTED_READER_MS) wait_ms = EXPECTED_READER_MS;
  execution->alone_until_ms = now_us() / 1000 + wait_ms;
}

// The position from which on nothing may be dropped: UINT64_MAX where the command waits for no reader.
static uint64_t needed_from(const struct execution *execution) {
  if (execution->is_killed) return UINT64_MAX;
  uint64_t needed = streams_needed_from(execution);
  // One whose reader has left waits for it to come back.
  if (execution->alone_until_ms > 0 && execution->left_at < needed) needed = execution->left_at;
  // What was sent may have been lost on the way, so half of the ring stays behind.
  uint64_t behind = execution->ring.capacity / 2;
  return needed == UINT64_MAX ? needed : needed > behind ? needed - behind : 0;
}

// How much more the command may write now.
static uint64_t room_of(struct execution *execution) {
  struct ring *ring = &execution->ring;
  if (ring->capacity < RING_MAX_BYTES && (ring->to - ring->from) * 2 >= ring->capacity) grow(execution);
  uint64_t needed = needed_from(execution);
  if (needed < ring->from) needed = ring->from;
  uint64_t held = needed > ring->to ? 0 : ring->to - needed;
  return held < ring->capacity ? ring->capacity - held : 0;
}

// ---- its end

void execution_signal(struct execution *execution, int number) {
  if (execution->pid <= 0) return;
  if (number == SIGKILL) cgroup_kill(&execution->group);
  if (kill(-execution->pid, number) != 0) kill(execution->pid, number); // it has not come to its own group yet
}

static void end_by_force(struct execution *execution) {
  execution->is_killed = true;
  execution->alone_until_ms = 0;
  execution->deadline_ms = now_us() / 1000 + KILL_GRACE_MS;
  execution_signal(execution, SIGKILL);
}

void execution_end_input(struct execution *execution) {
  if (execution->input_fd < 0) return;
  if (execution->is_terminal && !execution->exited) {
    // What a person types to end it; a terminal goes on.
    if (write(execution->input_fd, "\x04", 1) != 1) return;
  } else {
    if (!execution->is_terminal) close(execution->input_fd);
    execution->input_fd = -1;
  }
}

static void close_exec(struct execution *execution) {
  if (execution->exec_fd >= 0) close(execution->exec_fd);
  execution->exec_fd = -1;
}

static void take_exit(struct execution *execution, int status, const struct rusage *use) {
  if (execution->exited) return;
  execution->exited = true;
  execution->status = status;
  execution->ended_us = now_us();
  memcpy(execution->error, execution->outcome->error, sizeof execution->error);
  execution->deadline_ms = execution->is_terminal ? execution->ended_us / 1000 + LINGER_MS : 0;
  for (int i = 0; i < 2; i++) {
    int bytes = 0;
    if (execution->outputs[i].fd >= 0) ioctl(execution->outputs[i].fd, FIONREAD, &bytes);
    execution->outputs[i].last = bytes > 0 ? (size_t)bytes : 0;
  }
  if (cgroup_usage(&execution->group, &execution->usage) || !use) return;
  execution->usage.memory_peak_bytes = (int64_t)use->ru_maxrss * 1024;
  execution->usage.cpu_ms = (int64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000 +
                            (use->ru_utime.tv_usec + use->ru_stime.tv_usec) / 1000;
}

// All that it has written is in the ring.
static void finish(struct execution *execution) {
  execution->ended = true;
  execution->deadline_ms = execution->alone_until_ms = 0;
  running--;
  execution_end_input(execution);
  close_exec(execution);
  cgroup_release(&execution->group);
  shrink(execution);
  while (ended_bytes() > ENDED_RINGS_MAX_BYTES && forget_oldest_ended()) continue;
}

bool executions_reap(pid_t pid, int status, const struct rusage *use) {
  for (unsigned i = 0; i < EXECUTIONS_MAX; i++) {
    struct execution *execution = executions[i];
    if (!execution || execution->pid != pid) continue;
    execution->pid = 0;
    take_exit(execution, status, use);
    release_outcome(execution);
    return true;
  }
  return false;
}

// ---- output, from its pipes or its terminal into the ring

// True if bytes were moved and there may be more.
static bool read_output(struct execution *execution, unsigned which) {
  struct output *output = &execution->outputs[which];
  if (output->fd < 0) return false;
  bool by_count = execution->exited && !execution->is_terminal;
  if (by_count && output->last == 0) {
    output_close(output);
    return false;
  }
  uint64_t allowed = room_of(execution);
  if (allowed == 0) return false;
  size_t room;
  uint8_t *to = ring_reserve(&execution->ring, &room);
  if (room > READ_BYTES) room = READ_BYTES;
  if (room > allowed) room = allowed;
  if (by_count && room > output->last) room = output->last;
  ssize_t got = read(output->fd, to, room);
  if (got > 0) {
    ring_commit(&execution->ring, (size_t)got, which == 1);
    output->last -= (size_t)got < output->last ? (size_t)got : output->last;
    return true;
  }
  bool is_empty = got < 0 && (errno == EAGAIN || errno == EINTR);
  output->last = 0; // empty: another process read what was there
  if (is_empty) return by_count;
  close(output->fd); // a terminal that no process holds any more fails with EIO
  output->fd = -1;
  return false;
}

unsigned executions_poll(struct pollfd *polls) {
  unsigned count = 0;
  for (unsigned i = 0; running > 0 && i < EXECUTIONS_MAX; i++) {
    struct execution *execution = executions[i];
    if (!execution || execution->ended) continue;
    execution->exec_poll = execution->outputs[0].poll = execution->outputs[1].poll = -1;
    if (execution->exec_fd >= 0) {
      polls[count] = (struct pollfd){.fd = execution->exec_fd, .events = POLLIN};
      execution->exec_poll = (int)count++;
    }
    bool reads = (!execution->exited || execution->is_terminal) && room_of(execution) > 0;
    for (int j = 0; reads && j < 2; j++) {
      if (execution->outputs[j].fd < 0) continue;
      polls[count] = (struct pollfd){.fd = execution->outputs[j].fd, .events = POLLIN};
      execution->outputs[j].poll = (int)count++;
    }
  }
  return count;
}

static void move(struct execution *execution, const struct pollfd *polls) {
  if (execution->exec_fd >= 0 && (execution->exited || (execution->exec_poll >= 0 && polls[execution->exec_poll].revents)))
    close_exec(execution);
  for (unsigned i = 0; i < 2; i++) {
    int poll = execution->outputs[i].poll;
    bool is_ready = poll >= 0 && polls[poll].revents;
    execution->outputs[i].poll = -1;
    if (execution->exited && !execution->is_terminal) {
      while (read_output(execution, i)) continue;
    } else if (is_ready) {
      read_output(execution, i);
    }
  }
  if (execution->exited && execution->outputs[0].fd < 0 && execution->outputs[1].fd < 0) finish(execution);
}

void executions_move(const struct pollfd *polls) {
  for (unsigned i = 0; running > 0 && i < EXECUTIONS_MAX; i++) {
    if (executions[i] && !executions[i]->ended) move(executions[i], polls);
  }
}

// ---- time

static void sooner(int64_t *next, int64_t at_ms) {
  if (at_ms > 0 && (*next == 0 || at_ms < *next)) *next = at_ms;
}

int64_t executions_wait_ms(void) {
  int64_t next = 0;
  for (unsigned i = 0; running > 0 && i < EXECUTIONS_MAX; i++) {
    struct execution *execution = executions[i];
    if (!execution || execution->ended) continue;
    sooner(&next, execution->deadline_ms);
    sooner(&next, execution->alone_until_ms);
    // What it has left in its pipes can be taken as soon as a reader has made room.
    if (execution->exited && !execution->is_terminal && room_of(execution) > 0) return 0;
  }
  if (next == 0) return -1;
  int64_t wait = next - now_us() / 1000;
  return wait > 0 ? wait : 0;
}

static void time_out(struct execution *execution) {
  if (execution->exited) {
    if (execution->outputs[0].fd >= 0) close(execution->outputs[0].fd);
    execution->outputs[0].fd = -1;
  } else if (execution->is_killed) {
    take_exit(execution, SIGKILL, NULL);
  } else {
    execution->timed_out = true;
    end_by_force(execution);
  }
}

void executions_time_out(void) {
  int64_t now_ms = now_us() / 1000;
  for (unsigned i = 0; running > 0 && i < EXECUTIONS_MAX; i++) {
    struct execution *execution = executions[i];
    if (!execution || execution->ended) continue;
    if (execution->alone_until_ms > 0 && execution->alone_until_ms <= now_ms) {
      if (execution->exited) execution->alone_until_ms = 0;
      else end_by_force(execution);
    }
    if (execution->deadline_ms > 0 && execution->deadline_ms <= now_ms) time_out(execution);
  }
}

bool executions_use_cgroup(uint32_t number) {
  for (unsigned i = 0; running > 0 && i < EXECUTIONS_MAX; i++) {
    struct execution *execution = executions[i];
    if (execution && execution->group.fd >= 0 && execution->group.number == number) return true;
  }
  return false;
}
