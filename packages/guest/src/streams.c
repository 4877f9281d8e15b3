#include "streams.h"
#include "channel.h"
#include "executions.h"
#include "mainprocess.h"
#include "user.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  REAPS_MAX = 64,
  CREDIT_MAX = 1 << 30,
  KILL_GRACE_MS = 2000, // after which a killed command counts as gone, also where the kernel still lists it
};

static struct stream streams[SLOTS];
static unsigned slots_used; // no slot from here on is taken
static unsigned first_to_move;
static uint32_t last_id;
static bool shut_down;

int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void streams_start(void) {
  struct outcome *outcomes = outcomes_make(SLOTS);
  for (unsigned i = 0; i < SLOTS; i++) streams[i].outcome = &outcomes[i];
}

// ---- the life of a stream

static struct stream *free_slot(void) {
  for (unsigned i = 0; i < SLOTS; i++) {
    if (streams[i].id != 0 || streams[i].pid != 0) continue;
    if (i >= slots_used) slots_used = i + 1;
    struct outcome *outcome = streams[i].outcome;
    streams[i] = (struct stream){.outcome = outcome, .input = {.fd = -1, .poll = -1}, .group = {.fd = -1}};
    return &streams[i];
  }
  return NULL;
}

void stream_send_error(uint32_t id, const char *code, const char *message) {
  char json[OUTCOME_BYTES];
  snprintf(json, sizeof json, "{\"code\":\"%s\",\"message\":\"%s\"}", code, message);
  channel_send_json(FRAME_RESET, id, json);
}

static void watch_main(struct stream *stream, uint32_t id, const struct request *request) {
  if (!mainprocess_start(request)) {
    return stream_send_error(id, "out_of_memory", "no memory or no number is left for another process");
  }
  stream->id = id;
  stream->operation = MAIN;
  stream->credit = stream->input.credit = WINDOW_BYTES;
  stream->outputs[0].fd = stream->outputs[1].fd = -1;
  channel_send_json(FRAME_HEAD, id, "{}"); // it runs, or has
}

static void open_connection(struct stream *stream, uint32_t id, const struct request *request) {
  stream->id = id;
  stream->operation = CONNECT;
  stream->credit = stream->input.credit = WINDOW_BYTES;
  for (int i = 0; i < 2; i++) stream->outputs[i] = (struct output){-1, -1, UINT64_MAX, 0};
  connection_open(stream, (uint16_t)request->port);
}

// A request that one frame does not hold. Its parts come in DATA frames behind its OPEN and cost no credit.
static void await_parts(struct stream *stream, uint32_t id, const struct request *request) {
  stream->text = malloc((size_t)request->bytes);
  if (!stream->text) return stream_send_error(id, "out_of_memory", "no memory for the request");
  stream->text_length = (uint32_t)request->bytes;
  stream->id = id;
  stream->operation = LONG;
  stream->outputs[0].fd = stream->outputs[1].fd = -1;
}

static void open_request(uint32_t id, char *text, size_t length) {
  struct request request;
  struct child child;
  const char *problem;
  if (!request_parse(&request, text, length, &problem)) {
    return stream_send_error(id, "bad_request", problem);
  }
  if (request.operation == TERMINATE) {
    mainprocess_signal((int)request.signal);
    channel_send_json(FRAME_CLOSE, id, "{}");
    return;
  }
  struct stream *stream = free_slot();
  if (!stream) return stream_send_error(id, "too_many_streams", "too many operations at once");
  if (request.operation == LONG) return await_parts(stream, id, &request);
  if (request.operation == MAIN) return watch_main(stream, id, &request);
  if (request.operation >= START && request.operation <= EXECUTIONS) return executions_open(stream, id, &request);
  if (request.operation == CONNECT) return open_connection(stream, id, &request);
  if (request.operation == SHUTDOWN) shutdown_begin();
  if (request.operation == CONFIGURE) user_keep(&request);
  if (request.operation == CONFIGURE && !environment_keep(&request)) {
    return stream_send_error(id, "out_of_memory", "no memory for the environment");
  }
  stream->started_us = now_us();
  if (!child_start(&child, &request, stream->outcome)) {
    return stream_send_error(id, "out_of_memory", "no memory or no number is left for another process");
  }
  stream->id = id;
  stream->operation = request.operation;
  stream->pid = child.pid;
  stream->exited = child.pid == 0;
  stream->group = child.group;
  stream->credit = stream->input.credit = WINDOW_BYTES;
  stream->input.fd = child.pipes[0];
  uint64_t limit = request.operation == EXECUTE ? (uint64_t)request.output_limit : 0;
  for (int i = 0; i < 2; i++) {
    stream->outputs[i] = (struct output){child.pipes[1 + i], -1, limit > 0 ? limit : UINT64_MAX, 0};
  }
  if (request.operation == EXECUTE) stream->deadline_ms = stream->started_us / 1000 + request.timeout_ms;
}

static void open_stream(const struct frame *frame) {
  if (frame->stream <= last_id) return stream_send_error(frame->stream, "bad_request", "stream numbers must rise");
  last_id = frame->stream;
  open_request(last_id, (char *)frame->payload, frame->length);
}

static void kill_child(struct stream *stream) {
  if (stream->operation == CONNECT) connection_reset(stream);
  if (stream->operation == EXECUTE) cgroup_kill(&stream->group);
  if (stream->pid <= 0 || stream->operation == SHUTDOWN) return;
  if (stream->operation == EXECUTE) kill(-stream->pid, SIGKILL);
  // An upload may have a temporary file to remove, and handles SIGTERM then.
  kill(stream->pid, stream->operation == WRITE ? SIGTERM : SIGKILL);
}

static void release(struct stream *stream) {
  input_close(&stream->input);
  for (int i = 0; i < 2; i++) output_close(&stream->outputs[i]);
  free(stream->text);
  stream->text = NULL;
  cgroup_release(&stream->group);
  executions_leave(stream, stream->canceled);
  stream->id =
      0; // a child that does not die keeps the slot, so that it can never write into another's outcome
  while (slots_used > 0 && streams[slots_used - 1].id == 0 && streams[slots_used - 1].pid == 0) slots_used--;
}

void stream_refuse(struct stream *stream, const char *code, const char *message) {
  kill_child(stream);
  stream->canceled = true;
  stream_send_error(stream->id, code, message);
  release(stream);
}

void streams_forget(void) {
  for (unsigned i = slots_used; i-- > 0;) {
    if (streams[i].id == 0) continue;
    kill_child(&streams[i]);
    release(&streams[i]);
  }
  last_id = 0;
}

// The last part makes the stream the operation that its request asks for.
static void take_part(struct stream *stream, const struct frame *frame) {
  if (frame->length > stream->text_length - stream->text_bytes)
    return stream_refuse(stream, "bad_request", "the request is longer than announced");
  memcpy(stream->text + stream->text_bytes, frame->payload, frame->length);
  stream->text_bytes += frame->length;
  if (stream->text_bytes < stream->text_length) return;
  char *text = stream->text;
  const uint32_t id = stream->id, length = stream->text_length;
  stream->text = NULL;
  release(stream);
  open_request(id, text, length);
  free(text);
}

// ---- its end

static const char *execute_result(const struct stream *stream, char json[OUTCOME_BYTES]) {
  int signal = stream->timed_out ? SIGKILL : WIFSIGNALED(stream->status) ? WTERMSIG(stream->status) : 0;
  snprintf(json, OUTCOME_BYTES,
           "{\"exit_code\":%d,\"signal\":%d,\"timed_out\":%s,\"oom_killed\":%s,\"truncated\":%s,"
           "\"duration_ms\":%lld,\"cpu_ms\":%lld,\"memory_peak_bytes\":%lld}",
           signal ? 128 + signal : WEXITSTATUS(stream->status), signal, stream->timed_out ? "true" : "false",
           stream->usage.oom_killed ? "true" : "false", stream->truncated ? "true" : "false",
           (long long)(stream->ended_us - stream->started_us) / 1000, (long long)stream->usage.cpu_ms,
           (long long)stream->usage.memory_peak_bytes);
  return json;
}

// Answers false while the queue is full.
static bool send_end(const struct stream *stream) {
  char json[OUTCOME_BYTES];
  const struct outcome *outcome = stream->outcome;
  if (outcome->error[0]) return channel_send_json(FRAME_RESET, stream->id, outcome->error);
  if (stream->operation == EXECUTE)
    return channel_send_json(FRAME_CLOSE, stream->id, execute_result(stream, json));
  if (outcome->result[0]) return channel_send_json(FRAME_CLOSE, stream->id, outcome->result);
  bool killed = WIFSIGNALED(stream->status) && WTERMSIG(stream->status) == SIGKILL;
  return channel_send_json(
      FRAME_RESET, stream->id,
      killed ? "{\"code\":\"out_of_memory\",\"message\":\"the operation was killed\"}"
             : "{\"code\":\"io_error\",\"message\":\"the operation ended without a result\"}");
}

static void move(struct stream *stream, const struct pollfd *polls) {
  if (stream->connecting) return connection_advance(stream, polls);
  int poll = stream->input.poll;
  if (stream->input.fd >= 0 && poll >= 0 && polls[poll].revents) input_flush(stream);
  input_grant(stream, 0);
  if (stream->operation >= START && stream->operation <= EXECUTIONS) {
    stream->input.poll = -1;
    if (executions_serve(stream)) release(stream);
    return;
  }
  output_move(stream, polls);
  stream->input.poll = stream->outputs[0].poll = stream->outputs[1].poll = -1;
  if (stream->operation == MAIN) {
    char json[OUTCOME_BYTES];
    if (mainprocess_result(json) && channel_send_json(FRAME_CLOSE, stream->id, json)) release(stream);
    return;
  }
  if (stream->operation == CONNECT) {
    if (connection_end(stream)) release(stream);
    return;
  }
  bool failed = stream->exited && stream->outcome->error[0];
  bool drained = stream->outputs[0].fd < 0 && stream->outputs[1].fd < 0;
  if (!stream->exited || (!failed && !drained) || !send_end(stream)) return;
  if (stream->operation == SHUTDOWN) shut_down = true;
  channel_flush(); // the host need not wait for the cleaning up
  release(stream);
}

void streams_move(const struct pollfd *polls) {
  unsigned count = slots_used;
  if (count == 0) return;
  first_to_move = (first_to_move + 1) % count;
  for (unsigned i = 0; i < count; i++) {
    struct stream *stream = &streams[(first_to_move + i) % count];
    if (stream->id != 0) move(stream, polls);
  }
}

static void end_child(struct stream *stream, int status, const struct rusage *use) {
  stream->exited = true;
  stream->status = status;
  stream->ended_us = now_us();
  stream->deadline_ms = 0;
  output_count_last(stream);
  if (stream->operation != EXECUTE || cgroup_usage(&stream->group, &stream->usage) || !use) return;
  stream->usage.memory_peak_bytes = (int64_t)use->ru_maxrss * 1024;
  stream->usage.cpu_ms = (int64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000 +
                         (use->ru_utime.tv_usec + use->ru_stime.tv_usec) / 1000;
}

bool streams_reap(void) {
  for (int i = 0; i < REAPS_MAX; i++) {
    int status;
    struct rusage use;
    pid_t pid = wait4(-1, &status, WNOHANG, &use);
    if (pid <= 0) return false;
    if (mainprocess_reap(pid, status) || executions_reap(pid, status, &use)) continue;
    for (unsigned slot = 0; slot < slots_used; slot++) {
      struct stream *stream = &streams[slot];
      if (stream->pid != pid) continue;
      stream->pid = 0;
      if (stream->id != 0 && !stream->exited) end_child(stream, status, &use);
    }
  }
  return true;
}

// ---- what the event loop asks

void streams_take(const struct frame *frame) {
  if (frame->type == FRAME_OPEN) return open_stream(frame);
  struct stream *stream = NULL;
  for (unsigned i = 0; i < slots_used; i++) {
    if (streams[i].id == frame->stream && frame->stream != 0) stream = &streams[i];
  }
  if (!stream) return; // it has ended meanwhile
  if (frame->type == FRAME_DATA && stream->operation == LONG) return take_part(stream, frame);
  if (frame->type == FRAME_DATA) input_take(stream, frame);
  if (frame->type == FRAME_CLOSE) input_end(stream);
  if (frame->type == FRAME_RESET) stream_refuse(stream, "canceled", "canceled by the host");
  if (frame->type == FRAME_WINDOW && frame->length == 4) {
    uint32_t more = read_u32(frame->payload);
    stream->credit = more > CREDIT_MAX - stream->credit ? CREDIT_MAX : stream->credit + more;
  }
}

// A pipe that cannot be served now is left out altogether, or its hang-up would wake us again and again.
unsigned streams_poll(struct pollfd *polls) {
  unsigned count = 0;
  bool room = channel_has_data_room();
  for (unsigned i = 0; i < slots_used; i++) {
    struct stream *stream = &streams[i];
    if (stream->id == 0) continue;
    if (stream->input.fd >= 0 && (stream->input.bytes > 0 || (stream->connecting && room))) {
      polls[count] = (struct pollfd){.fd = stream->input.fd, .events = POLLOUT};
      stream->input.poll = (int)count++;
    }
    for (int j = 0; j < 2 && !stream->exited; j++) {
      struct output *output = &stream->outputs[j];
      if (output->fd < 0 || (output->allowed > 0 && (stream->credit == 0 || !room))) continue;
      polls[count] = (struct pollfd){.fd = output->fd, .events = POLLIN};
      output->poll = (int)count++;
    }
  }
  return count;
}

int64_t streams_wait_ms(void) {
  int64_t next = 0;
  for (unsigned i = 0; i < slots_used; i++) {
    int64_t deadline = streams[i].id != 0 ? streams[i].deadline_ms : 0;
    if (deadline > 0 && (next == 0 || deadline < next)) next = deadline;
  }
  if (next == 0) return -1;
  int64_t wait = next - now_us() / 1000;
  return wait > 0 ? wait : 0;
}

void streams_time_out(void) {
  int64_t now_ms = now_us() / 1000;
  for (unsigned i = 0; i < slots_used; i++) {
    struct stream *stream = &streams[i];
    if (stream->id == 0 || stream->deadline_ms == 0 || stream->deadline_ms > now_ms) continue;
    if (stream->operation == CONNECT) {
      stream_refuse(stream, "connection_timed_out", "the port does not answer");
    } else if (stream->timed_out) {
      end_child(stream, SIGKILL, NULL);
    } else {
      stream->timed_out = true;
      stream->deadline_ms = now_ms + KILL_GRACE_MS;
      kill_child(stream);
    }
  }
}

uint64_t streams_needed_from(const struct execution *execution) {
  uint64_t needed = UINT64_MAX;
  for (unsigned i = 0; i < slots_used; i++) {
    const struct stream *stream = &streams[i];
    if (stream->id == 0 || stream->execution != execution || !stream->holds) continue;
    if (stream->position < needed) needed = stream->position;
  }
  return needed;
}

bool streams_use_cgroup(uint32_t number) {
  if (mainprocess_uses_cgroup(number) || executions_use_cgroup(number)) return true;
  for (unsigned i = 0; i < slots_used; i++) {
    if (streams[i].group.fd >= 0 && streams[i].group.number == number) return true;
  }
  return false;
}

bool streams_have_shut_down(void) {
  return shut_down;
}
