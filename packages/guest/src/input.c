#include "channel.h"
#include "streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { GRANT_BYTES = 64 * 1024 }; // credit is granted in pieces of this size, not byte by byte

void input_close(struct input *input) {
  // The other direction of a connection has a descriptor of its own, so closing this one alone would not end
  // it. A pipe does not mind.
  if (input->fd >= 0) shutdown(input->fd, SHUT_WR);
  if (input->fd >= 0) close(input->fd);
  input->fd = -1;
  input->bytes = 0;
  free(input->ring);
  input->ring = NULL;
}

// The end of the pipe alone could be a cancel: only `committed` makes an upload's child rename its file.
void input_end(struct stream *stream) {
  stream->input.ended = true;
  if (stream->input.fd < 0 || stream->input.bytes > 0) return;
  stream->outcome->committed = true;
  input_close(&stream->input);
}

void input_grant(struct stream *stream, size_t bytes) {
  struct input *input = &stream->input;
  input->owed += (uint32_t)bytes;
  if (input->owed < GRANT_BYTES || input->ended) return;
  uint8_t payload[4];
  write_u32(payload, input->owed);
  if (!channel_send(FRAME_WINDOW, stream->id, payload, sizeof payload)) return; // the next turn tries again
  input->credit += input->owed;
  input->owed = 0;
}

// The reader is gone: what it did not take is thrown away, as is all that comes later.
static void input_refuse(struct input *input) {
  input->refused = true;
  input_close(input);
}

void input_flush(struct stream *stream) {
  struct input *input = &stream->input;
  uint32_t first = WINDOW_BYTES - input->at < input->bytes ? WINDOW_BYTES - input->at : input->bytes;
  struct iovec parts[2] = {{input->ring + input->at, first}, {input->ring, input->bytes - first}};
  ssize_t written = writev(input->fd, parts, 2);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  uint32_t consumed = written < 0 ? input->bytes : (uint32_t)written;
  if (written < 0)
    input_refuse(input);
  else
    input->bytes -= consumed;
  input->at = (input->at + consumed) % WINDOW_BYTES;
  input_grant(stream, consumed);
  if (input->ended) input_end(stream);
}

// Never more than WINDOW_BYTES, because it is within the credit.
static bool keep(struct input *input, const uint8_t *bytes, uint32_t length) {
  if (!input->ring) input->ring = malloc(WINDOW_BYTES);
  if (!input->ring) return false;
  uint32_t at = (input->at + input->bytes) % WINDOW_BYTES;
  uint32_t first = WINDOW_BYTES - at < length ? WINDOW_BYTES - at : length;
  memcpy(input->ring + at, bytes, first);
  memcpy(input->ring, bytes + first, length - first);
  input->bytes += length;
  return true;
}

void input_take(struct stream *stream, const struct frame *frame) {
  struct input *input = &stream->input;
  if (frame->length > input->credit)
    return stream_refuse(stream, "bad_request", "more data than the window allows");
  input->credit -= frame->length;
  uint32_t consumed = frame->length;
  if (input->fd >= 0 && !input->ended) {
    ssize_t written = input->bytes > 0 ? 0 : write(input->fd, frame->payload, frame->length);
    if (written < 0 && errno != EAGAIN && errno != EINTR) {
      input_refuse(input);
    } else {
      consumed = written > 0 ? (uint32_t)written : 0;
      if (consumed < frame->length && !keep(input, frame->payload + consumed, frame->length - consumed)) {
        return stream_refuse(stream, "out_of_memory", "no memory for the input");
      }
    }
  }
  input_grant(stream, consumed);
}
