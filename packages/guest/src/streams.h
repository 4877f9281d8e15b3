// The streams of a conversation: each is one operation, its child, its pipes and its credit.
#ifndef SKERRY_STREAMS_H
#define SKERRY_STREAMS_H

#include "child.h"
#include "frames.h"

#include <poll.h>
#include <sys/resource.h>

struct output {
  int fd;
  int poll;         // its place in the poll set of this turn, or -1
  uint64_t allowed; // bytes until the output limit
  size_t last;      // once the child has exited: bytes of it that are still in the pipe
};

struct input {
  int fd;
  int poll;
  uint8_t *ring; // WINDOW_BYTES, once the pipe has been full
  uint32_t at, bytes;
  uint32_t credit, owed; // what the host may send, and what has been consumed but not granted again
  bool ended, refused;   // `refused`: the reader went before it had taken all
};

enum connecting { NOT_CONNECTING, CONNECTING_IPV4, CONNECTING_IPV6 };

struct stream {
  uint32_t id; // 0: the stream has ended. The slot is free when its child has gone too
  enum operation operation;
  pid_t pid; // 0 once it has been reaped
  int status;
  bool exited, timed_out, truncated, head_sent;
  struct cgroup group;
  struct cgroup_usage usage;
  int64_t started_us, ended_us, deadline_ms;
  struct outcome *outcome;
  struct input input;
  struct output outputs[2]; // [0] becomes DATA, [1] STDERR
  uint32_t credit;
  struct execution *execution; // that it is about, where it is about one
  uint64_t position;           // of the next byte that its reader is sent
  bool holds, ends_input, canceled;
  // Of a CONNECT, whose input and first output are the same socket.
  enum connecting connecting;
  uint16_t port;
  bool broken, end_sent; // reading has failed; the host knows that the output has ended
  // In a LONG: the request that comes in parts, and how much of it there is.
  char *text;
  uint32_t text_bytes, text_length;
};

struct execution;

enum { DRAINS_MAX = 64, POLLS_MAX = 3 * SLOTS + DRAINS_MAX };

// streams.c: the table
void streams_start(void);
void streams_take(const struct frame *frame);
void streams_forget(void); // a new conversation begins: everything of the old one is killed
unsigned streams_poll(struct pollfd *polls);
void streams_move(const struct pollfd *polls);
bool streams_reap(void);       // true if there may be more dead children
int64_t streams_wait_ms(void); // until the next deadline, or -1
void streams_time_out(void);
bool streams_use_cgroup(uint32_t number);
bool streams_have_shut_down(void); // a shutdown has been done and answered
void stream_send_error(uint32_t id, const char *code, const char *message);
uint64_t streams_needed_from(const struct execution *execution); // by readers that it waits for; UINT64_MAX for none
void stream_refuse(struct stream *stream, const char *code, const char *message);
int64_t now_us(void);

// input.c: from the host into the child's pipe
void input_take(struct stream *stream, const struct frame *frame);
void input_flush(struct stream *stream);
void input_grant(struct stream *stream, size_t bytes); // so much more has been consumed
void input_end(struct stream *stream);
void input_close(struct input *input);

// connection.c: to what listens in the guest
void connection_open(struct stream *stream, uint16_t port);
void connection_advance(struct stream *stream, const struct pollfd *polls); // while it is being made
bool connection_end(struct stream *stream);
void connection_reset(struct stream *stream);

// output.c: from the child's pipes into frames
void output_move(struct stream *stream, const struct pollfd *polls);
void output_count_last(struct stream *stream);
void output_close(struct output *output);
unsigned drains_poll(struct pollfd *polls);
void drains_move(const struct pollfd *polls);

#endif
