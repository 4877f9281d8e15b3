#include "channel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READS_MAX = 32, WRITES_MAX = 32, DATA_MIN_BYTES = 4 * 1024 };

static int port = -1;
static struct frame_reader reader;
static uint8_t out[OUT_BYTES];
static size_t out_head, out_tail;

void channel_open(int fd) {
  port = fd;
}

struct pollfd channel_poll(void) {
  size_t held = out_tail - out_head;
  short events = held > 0 ? POLLOUT : 0;
  if (OUT_BYTES - held >= CONTROL_BYTES) events |= POLLIN;
  return (struct pollfd){.fd = port, .events = events};
}

// A virtio port gives at most one page per read, so one wake-up takes several.
enum channel_input channel_fill(void) {
  enum channel_input input = INPUT_NOTHING;
  for (int i = 0; i < READS_MAX; i++) {
    size_t room;
    uint8_t *to = frame_room(&reader, &room);
    if (room == 0) { // frames wait here for room in the queue, which never comes if the host has gone
      struct pollfd state = {.fd = port};
      return poll(&state, 1, 0) == 1 && (state.revents & POLLHUP) ? INPUT_DISCONNECTED : input;
    }
    ssize_t got = read(port, to, room);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? input : INPUT_DISCONNECTED;
    if (got == 0) return input == INPUT_SOME ? input : INPUT_DISCONNECTED;
    reader.tail += (uint32_t)got;
    input = INPUT_SOME;
    // Less than a page: the port is most likely empty, and another call would cost more than a wake-up does.
    if (got < 4096 && (size_t)got < room) return input;
  }
  return input;
}

bool channel_take(struct frame *frame) {
  return OUT_BYTES - (out_tail - out_head) >= CONTROL_BYTES && frame_take(&reader, frame);
}

static bool make_room(size_t wanted) {
  if (OUT_BYTES - out_tail >= wanted) return true;
  if (OUT_BYTES - (out_tail - out_head) < wanted) return false;
  memmove(out, out + out_head, out_tail - out_head);
  out_tail -= out_head;
  out_head = 0;
  return true;
}

bool channel_send(enum frame_type type, uint32_t stream, const void *payload, size_t length) {
  if (!make_room(HEADER_BYTES + length)) return false;
  frame_header(out + out_tail, type, stream, (uint32_t)length);
  if (length > 0) memcpy(out + out_tail + HEADER_BYTES, payload, length);
  out_tail += HEADER_BYTES + length;
  return true;
}

bool channel_send_json(enum frame_type type, uint32_t stream, const char *json) {
  return channel_send(type, stream, json, strlen(json));
}

uint8_t *channel_reserve(size_t *room) {
  *room = 0;
  if (!make_room(HEADER_BYTES + PAYLOAD_MAX_BYTES + CONTROL_BYTES) && !channel_has_data_room()) return NULL;
  if (!make_room(HEADER_BYTES + DATA_MIN_BYTES + CONTROL_BYTES)) return NULL;
  *room = OUT_BYTES - out_tail - HEADER_BYTES - CONTROL_BYTES;
  if (*room > PAYLOAD_MAX_BYTES) *room = PAYLOAD_MAX_BYTES;
  return out + out_tail + HEADER_BYTES;
}

void channel_commit(enum frame_type type, uint32_t stream, size_t length) {
  frame_header(out + out_tail, type, stream, (uint32_t)length);
  out_tail += HEADER_BYTES + length;
}

bool channel_has_data_room(void) {
  return OUT_BYTES - (out_tail - out_head) >= HEADER_BYTES + DATA_MIN_BYTES + CONTROL_BYTES;
}

void channel_flush(void) {
  for (int i = 0; i < WRITES_MAX && out_head < out_tail; i++) {
    ssize_t sent = write(port, out + out_head, out_tail - out_head);
    if (sent <= 0) break; // full, or the host is away: the next hello clears what is left
    out_head += (size_t)sent;
  }
  if (out_head == out_tail) out_head = out_tail = 0;
}

bool channel_is_flushed(void) {
  return out_head == out_tail;
}

// The last frame of the old conversation may have been cut anywhere: by clearing the queue here, or by a host
// that closed its side. So the answer too begins with the run of zeros that ends any frame.
bool channel_greet(const struct frame *frame) {
  if (frame->type != FRAME_HELLO || frame->length != HELLO_BYTES) return false;
  if (memcmp(frame->payload, "SKRY", 4) != 0) return false;
  uint8_t answer[HELLO_BYTES];
  memcpy(answer, frame->payload, HELLO_BYTES);
  write_u32(answer + 4, PROTOCOL_VERSION);
  memset(out, 0, MAX_FRAME_BYTES);
  out_head = 0;
  out_tail = MAX_FRAME_BYTES;
  return channel_send(FRAME_HELLO, 0, answer, sizeof answer);
}
