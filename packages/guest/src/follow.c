// What a host asks about executions, and how it is answered. Output goes to a reader as records, so that its order and its positions are
// exact however it is cut into frames: u8 kind, u32 length, then the bytes. guest-api/execution-records.ts is the other side.
#include "channel.h"
#include "execution.h"
#include "executions.h"
#include "json.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STDOUT_RECORD = 1, STDERR_RECORD = 2, DROPPED_RECORD = 3, RECORD_HEADER_BYTES = 5, DROPPED_BYTES = 8 };
enum { VIEW_BYTES = 6 * (COMMAND_SHOWN_BYTES + 8) + 1024 };

static const char *bool_word(bool value) {
  return value ? "true" : "false";
}

// `at`: where a reader begins.
static const char *view(const struct execution *execution, uint64_t at) {
  static char json[VIEW_BYTES], command[6 * sizeof execution->command + 3];
  json_quote(command, execution->command);
  int signal = execution->timed_out             ? SIGKILL
               : WIFSIGNALED(execution->status) ? WTERMSIG(execution->status)
                                                : 0;
  int64_t until_us = execution->exited ? execution->ended_us : now_us();
  snprintf(json, sizeof json,
           "{\"execution\":\"%s\",\"pid\":%d,\"command\":%s,\"tty\":%s,\"stdin\":%s,\"timeout_ms\":%lld,\"reattach_ms\":%lld,"
           "\"ended\":%s,\"at\":%llu,\"from\":%llu,\"position\":%llu,\"exit_code\":%d,\"signal\":%d,\"timed_out\":%s,"
           "\"oom_killed\":%s,\"duration_ms\":%lld,\"cpu_ms\":%lld,\"memory_peak_bytes\":%lld}",
           execution->id, (int)execution->pid, command, bool_word(execution->is_terminal), bool_word(execution->input_fd >= 0),
           (long long)execution->timeout_ms, (long long)execution->reattach_ms, bool_word(execution->ended),
           (unsigned long long)at, (unsigned long long)execution->ring.from, (unsigned long long)execution->ring.to,
           signal ? 128 + signal : WEXITSTATUS(execution->status), signal, bool_word(execution->timed_out),
           bool_word(execution->usage.oom_killed), (long long)(until_us - execution->started_us) / 1000,
           (long long)execution->usage.cpu_ms, (long long)execution->usage.memory_peak_bytes);
  return json;
}

// ---- requests

static void set_size(const struct execution *execution, const struct request *request) {
  if (execution->is_terminal && execution->outputs[0].fd >= 0) terminal_resize(execution->outputs[0].fd, request);
}

static void begin(struct stream *stream, uint32_t id, const struct request *request, struct execution *execution) {
  stream->id = id;
  stream->operation = request->operation;
  stream->exited = true; // it has no child, and no pipes of its own
  stream->credit = stream->input.credit = WINDOW_BYTES;
  stream->outputs[0].fd = stream->outputs[1].fd = -1;
  stream->execution = execution;
  if (execution) execution->streams++;
}

static void begin_start(struct stream *stream, uint32_t id, const struct request *request) {
  struct execution *execution = execution_find(request->execution);
  const char *problem;
  if (!execution) {
    execution = execution_start(request, &problem);
    if (!execution) return stream_send_error(id, problem, "no execution can be added");
  }
  begin(stream, id, request, execution);
}

static void begin_follow(struct stream *stream, uint32_t id, const struct request *request, struct execution *execution) {
  struct ring *ring = &execution->ring;
  uint64_t back = request->after < 0 ? (uint64_t)-request->after : 0, at = (uint64_t)request->after;
  if (request->after < 0) at = ring->to - ring->from > back ? ring->to - back : ring->from;
  if (at > ring->to) return stream_send_error(id, "position_ahead", "the position has not been reached");
  begin(stream, id, request, execution);
  stream->position = at;
  stream->holds = request->hold;
  execution->readers++;
  execution->alone_until_ms = 0;
}

static void begin_input(struct stream *stream, uint32_t id, const struct request *request, struct execution *execution) {
  int fd = execution->input_fd >= 0 && !execution->exited ? fcntl(execution->input_fd, F_DUPFD_CLOEXEC, 3) : -1;
  if (fd < 0) return stream_send_error(id, "input_closed", "the command reads no input");
  begin(stream, id, request, execution);
  stream->input.fd = fd;
  stream->ends_input = request->end;
}

static void forget(uint32_t id, struct execution *execution) {
  if (!execution_is_forgettable(execution)) return stream_send_error(id, "busy", "it has not ended, or is being read");
  execution_forget(execution);
  channel_send_json(FRAME_CLOSE, id, "{}");
}

void executions_open(struct stream *stream, uint32_t id, const struct request *request) {
  if (request->operation == START) return begin_start(stream, id, request);
  if (request->operation == EXECUTIONS) return begin(stream, id, request, NULL);
  struct execution *execution = execution_find(request->execution);
  if (!execution || execution->error[0]) return stream_send_error(id, "execution_not_found", "there is no such execution");
  if (request->operation == FOLLOW) return begin_follow(stream, id, request, execution);
  if (request->operation == INPUT) return begin_input(stream, id, request, execution);
  if (request->operation == FORGET) return forget(id, execution);
  if (request->operation == SIGNAL) execution_signal(execution, (int)request->signal);
  if (request->operation == RESIZE) set_size(execution, request);
  channel_send_json(FRAME_CLOSE, id, view(execution, execution->ring.to));
}

// ---- answers that take their time

static bool serve_start(struct stream *stream) {
  const struct execution *execution = stream->execution;
  if (execution->error[0]) return execution->ended && channel_send_json(FRAME_RESET, stream->id, execution->error);
  if (execution->outcome && execution->outcome->error[0]) return false; // it failed, and has not been reaped yet
  return execution->exec_fd < 0 && channel_send_json(FRAME_CLOSE, stream->id, view(execution, 0));
}

static void write_u64(uint8_t *to, uint64_t value) {
  write_u32(to, (uint32_t)value);
  write_u32(to + 4, (uint32_t)(value >> 32));
}

static bool send_dropped(struct stream *stream) {
  uint8_t record[RECORD_HEADER_BYTES + DROPPED_BYTES] = {DROPPED_RECORD};
  write_u32(record + 1, DROPPED_BYTES);
  write_u64(record + RECORD_HEADER_BYTES, stream->execution->ring.from);
  if (stream->credit < sizeof record || !channel_has_data_room()) return false;
  if (!channel_send(FRAME_DATA, stream->id, record, sizeof record)) return false;
  stream->credit -= sizeof record;
  stream->position = stream->execution->ring.from;
  return true;
}

// One frame of as many records as fit. False where none did.
static bool send_records(struct stream *stream) {
  const struct ring *ring = &stream->execution->ring;
  size_t room, used = 0;
  uint8_t *to = stream->credit > RECORD_HEADER_BYTES ? channel_reserve(&room) : NULL;
  if (!to) return false;
  if (room > stream->credit) room = stream->credit;
  while (stream->position < ring->to && room - used > RECORD_HEADER_BYTES) {
    size_t length;
    bool is_error;
    const uint8_t *bytes =
        ring_run(ring, stream->position, room - used - RECORD_HEADER_BYTES, &length, &is_error);
    to[used] = is_error ? STDERR_RECORD : STDOUT_RECORD;
    write_u32(to + used + 1, (uint32_t)length);
    memcpy(to + used + RECORD_HEADER_BYTES, bytes, length);
    used += RECORD_HEADER_BYTES + length;
    stream->position += length;
  }
  channel_commit(FRAME_DATA, stream->id, used);
  stream->credit -= (uint32_t)used;
  return true;
}

static bool serve_follow(struct stream *stream) {
  const struct execution *execution = stream->execution;
  if (execution->error[0]) return channel_send_json(FRAME_RESET, stream->id, execution->error);
  if (!stream->head_sent) {
    // The host waits for the answer to the start too, so the head waits for it: both then go in one message.
    if (execution->exec_fd >= 0 || !channel_has_data_room()) return false;
    stream->head_sent = channel_send_json(FRAME_HEAD, stream->id, view(execution, stream->position));
    if (!stream->head_sent) return false;
  }
  // The host leaves, and tells where it stands by closing its side.
  if (stream->input.ended) return channel_send_json(FRAME_CLOSE, stream->id, view(execution, stream->position));
  if (stream->position < execution->ring.from && !send_dropped(stream)) return false;
  while (stream->position < execution->ring.to && send_records(stream)) continue;
  if (!execution->ended || stream->position < execution->ring.to) return false;
  return channel_send_json(FRAME_CLOSE, stream->id, view(execution, stream->position));
}

// A command that has taken all and exits before the end of its input is heard of has missed nothing, so the end is waited for.
static bool serve_input(struct stream *stream) {
  struct execution *execution = stream->execution;
  const struct input *input = &stream->input;
  if (input->refused || (execution->exited && input->bytes > 0)) {
    return channel_send_json(FRAME_RESET, stream->id,
                             "{\"code\":\"input_closed\",\"message\":\"the command reads no more input\"}");
  }
  if (!input->ended || input->bytes > 0 || !channel_send_json(FRAME_CLOSE, stream->id, "{}")) return false;
  if (stream->ends_input) execution_end_input(execution);
  return true;
}

static bool serve_list(struct stream *stream) {
  for (struct execution *next; (next = execution_after(stream->position)); stream->position = next->sequence) {
    const char *line = view(next, next->ring.to);
    size_t length = strlen(line), room;
    if (next->error[0]) continue;
    uint8_t *to = stream->credit > length ? channel_reserve(&room) : NULL;
    if (!to || room <= length) return false;
    memcpy(to, line, length);
    to[length] = '\n';
    channel_commit(FRAME_DATA, stream->id, length + 1);
    stream->credit -= (uint32_t)length + 1;
  }
  return channel_send_json(FRAME_CLOSE, stream->id, "{}");
}

bool executions_serve(struct stream *stream) {
  switch (stream->operation) {
  case START:
    return serve_start(stream);
  case FOLLOW:
    return serve_follow(stream);
  case INPUT:
    return serve_input(stream);
  default:
    return serve_list(stream);
  }
}

void executions_leave(struct stream *stream, bool is_canceled) {
  struct execution *execution = stream->execution;
  stream->execution = NULL;
  if (!execution) return;
  execution->streams--;
  if (stream->operation == FOLLOW) {
    execution->readers--;
    execution->left_at = stream->position;
    if (!execution->exited) execution_await_reader(execution, !is_canceled);
  }
  // One that could not be started has been told to all that asked.
  if (execution->error[0] && execution->ended && execution->streams == 0) execution_forget(execution);
}
