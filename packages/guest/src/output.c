// The pipe is the only buffer: bytes leave it when the stream has credit and the queue to the host has room.
#include "channel.h"
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int drains[DRAINS_MAX];
static unsigned drain_count;

// 0 when the pipe has ended, negative when it is empty.
static ssize_t discard(int fd) {
  ssize_t dropped = splice(fd, NULL, dev_null, NULL, 1 << 20, SPLICE_F_NONBLOCK);
  return dropped < 0 && errno != EAGAIN && errno != EINTR ? 0 : dropped;
}

// A pipe that background children still hold is emptied, so that they neither block nor die of SIGPIPE.
void output_close(struct output *output) {
  if (output->fd < 0) return;
  if (discard(output->fd) == 0) {
    close(output->fd);
  } else {
    if (drain_count == DRAINS_MAX) {
      close(drains[0]);
      memmove(drains, drains + 1, --drain_count * sizeof drains[0]);
    }
    drains[drain_count++] = output->fd;
  }
  output->fd = -1;
}

unsigned drains_poll(struct pollfd *polls) {
  for (unsigned i = 0; i < drain_count; i++) polls[i] = (struct pollfd){.fd = drains[i], .events = POLLIN};
  return drain_count;
}

void drains_move(const struct pollfd *polls) {
  for (unsigned i = drain_count; i-- > 0;) {
    if (polls[i].revents == 0 || discard(drains[i]) != 0) continue;
    close(drains[i]);
    memmove(drains + i, drains + i + 1, (--drain_count - i) * sizeof drains[0]);
  }
}

// When a child exits it is owed what is in its pipes now; anything later is a background child's.
void output_count_last(struct stream *stream) {
  for (int i = 0; i < 2; i++) {
    int bytes = 0;
    if (stream->outputs[i].fd >= 0) ioctl(stream->outputs[i].fd, FIONREAD, &bytes);
    stream->outputs[i].last = bytes > 0 ? (size_t)bytes : 0;
  }
}

static bool skip(struct stream *stream, struct output *output) {
  ssize_t dropped = discard(output->fd);
  if (dropped < 0) return false;
  if (dropped == 0) close(output->fd);
  if (dropped == 0) output->fd = -1;
  if (dropped > 0) stream->truncated = true;
  output->last -= (size_t)dropped < output->last ? (size_t)dropped : output->last;
  return dropped > 0;
}

// True if bytes were moved and there may be more.
static bool move(struct stream *stream, unsigned which) {
  struct output *output = &stream->outputs[which];
  if (output->fd < 0) return false;
  if (stream->exited && output->last == 0) {
    output_close(output);
    return false;
  }
  if (output->allowed == 0) return skip(stream, output);
  size_t room;
  uint8_t *to = stream->credit > 0 ? channel_reserve(&room) : NULL;
  if (!to) return false;
  if (room > stream->credit) room = stream->credit;
  if (room > output->allowed) room = output->allowed;
  if (stream->exited && room > output->last) room = output->last;
  ssize_t got = read(output->fd, to, room);
  if (got <= 0) {
    bool empty = got < 0 && (errno == EAGAIN || errno == EINTR);
    output->last = 0; // empty: another process read what was there
    if (got < 0 && !empty) stream->broken = true;
    if (!empty) close(output->fd);
    if (!empty) output->fd = -1;
    return empty && stream->exited;
  }
  channel_commit(which == 0 ? FRAME_DATA : FRAME_STDERR, stream->id, (size_t)got);
  stream->credit -= (uint32_t)got;
  output->allowed -= (uint64_t)got;
  output->last -= (size_t)got < output->last ? (size_t)got : output->last;
  return true;
}

void output_move(struct stream *stream, const struct pollfd *polls) {
  if (stream->operation == READ && !stream->head_sent && atomic_load(&stream->outcome->has_head)) {
    stream->head_sent = channel_send_json(FRAME_HEAD, stream->id, stream->outcome->head);
    if (!stream->head_sent) return;
  }
  for (unsigned i = 0; i < 2; i++) {
    int poll = stream->outputs[i].poll;
    if (stream->exited) {
      while (move(stream, i)) continue;
    } else if (poll >= 0 && polls[poll].revents) {
      move(stream, i);
    }
  }
}
